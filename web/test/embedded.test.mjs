// The explorer in the program: `mayhap serve` and `mayhap ui` show it, and it runs under their policy.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { launch, root, visit } from './browser.mjs';

const binary = process.env.MAYHAP ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;

const children = [];

/** Starts the command and waits for its ports, by what they are for; it ends with this test. */
async function start(...words) {
  const child = spawn(binary, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  const ports = {};
  const lines = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    const [, what, port] = /(Redis clients|HTTP): \S*?:(\d+)\b/.exec(line) ?? [];
    if (what) ports[what] = port;
    if (ports.HTTP && (ports['Redis clients'] || words[0] === 'ui')) break;
  }
  assert.ok(ports.HTTP, lines.join('\n'));
  child.stderr.resume();
  return ports;
}

let browser;
before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  for (const child of children) child.kill('SIGTERM');
});

test('the server and the dashboard of a Redis show the explorer of this build', async () => {
  const server = await start('serve', '--port', '0', '--http', '0');
  const ui = await start('ui', '--http', '0', `redis://127.0.0.1:${server['Redis clients']}`);
  const page = readFileSync(`${root}target/web/explorer.html`, 'utf8');
  for (const origin of [server, ui].map(({ HTTP }) => `http://127.0.0.1:${HTTP}`)) {
    const answer = await fetch(`${origin}/explorer`);
    assert.equal(await answer.text(), page);
    assert.equal(answer.headers.get('content-security-policy'), "frame-ancestors 'none'");
    assert.equal(answer.headers.get('x-frame-options'), 'DENY');
    await visit(browser, `${origin}/explorer#n=1G&p=1%25`, async (tab) => {
      await tab.waitForSelector('html[data-ready]');
      assert.equal(await tab.textContent('#answer'), '1.176 GiB are needed');
      await tab.setInputFiles('[name=list]', { name: 'l', mimeType: '', buffer: Buffer.from('a\nb\n') });
      await tab.locator('#list-result a').waitFor();
    });
  }
});
