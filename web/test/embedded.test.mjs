// The explorer in the program: `mayhap serve` and `mayhap ui` show it, and it runs under their policy;
// `mayhap plan --url` and `mayhap explain --web` put it into a file and print its address.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkEverywhere, launch, root, visit } from './browser.mjs';

const binary = process.env.MAYHAP ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;

const folder = mkdtempSync(join(tmpdir(), 'mayhap a%b-'));
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
  rmSync(folder, { recursive: true, force: true });
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
      await checkEverywhere(tab, 'the page of the program');
    });
  }
});

/** The command with a cache folder of this test. */
const run = (words, more = {}) => execFileSync(binary, words, { encoding: 'utf8',
  env: { ...process.env, XDG_CACHE_HOME: folder, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
const page = join(folder, 'mayhap', 'explorer.html');

/** Options of `mayhap plan`. */
const PLANS = ['-n 10M -p 1%', '-n 3 -p 1/3', '-n 1G --budget 1GiB', '-p 1e-6 --budget 100MB', '-n 2M -p 2% --delete',
  '--window 10M -p 0.1%', '-n 5M -p 1e-4 --frozen', '-n 1M -p 1% --unknown-n', '-n 20k -p 0.1% --sets 12',
  '-n 10M -p 1% --delete --frozen', '-n 1M -p 1% --key-bytes 50 --disk-cost 10ms --filter-cost 1us --misses 90%'];
/** Names of the numbers: the command's, and the module's. */
const NUMBERS = [['kind', 'kind'], ['items', 'items'], ['target_fpp', 'targetFpp'], ['num_bits', 'numBits'],
  ['num_bytes', 'numBytes'], ['num_hashes', 'numHashes'], ['expected_fpp', 'expectedFpp'], ['fpp_at_2x', 'fppAt2x'],
  ['fpp_at_10x', 'fppAt10x'], ['cache_lines_hit', 'cacheLinesHit'], ['cache_lines_miss', 'cacheLinesMiss']];

test('the address that a plan prints shows the numbers of the plan, from a disk', async () => {
  for (const options of PLANS) {
    const words = options.split(' ');
    const [address, ...rest] = run(['plan', '--url', ...words]).split('\n');
    assert.deepEqual(rest, [''], options);
    assert.ok(address.startsWith(`${pathToFileURL(page).href}#`), address);
    const { best, rejected } = JSON.parse(run(['plan', '--json', ...words]));
    await visit(browser, address, async (tab) => {
      await tab.waitForSelector('html[data-ready]');
      const shown = await tab.evaluate('page.plan.candidates');
      assert.deepEqual(shown.map((kind) => NUMBERS.map(([, name]) => kind[name])),
        [best, ...rejected].map((kind) => NUMBERS.map(([name]) => kind[name])), options);
      if (options.includes('--misses')) {
        const costs = await tab.locator('#cost input').evaluateAll((all) => all.map(({ name, value }) => [name, value]));
        assert.deepEqual(costs, [['c1', '0.000001'], ['c2', '0.01'], ['absent', '0.9'], ['key', '50']]);
      }
    });
  }
  assert.equal(readFileSync(page, 'utf8'), readFileSync(`${root}target/web/explorer.html`, 'utf8'));
  assert.deepEqual(readdirSync(join(folder, 'mayhap')), ['explorer.html']);
});

test('the explorer is opened by its name, where there is a screen', async () => {
  const address = pathToFileURL(page).href;
  assert.equal(run(['explain', '--web']), `${address}\n`);
  assert.equal(statSync(page).mode & 0o777, 0o600);
  // In place of a desktop: a program that notes its argument.
  const noted = join(folder, 'noted');
  writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\nprintf %s "$*" >'${noted}.new'; mv '${noted}.new' '${noted}'\n`,
    { mode: 0o755 });
  const path = `${folder}:${process.env.PATH}`;
  const isNoted = () => readdirSync(folder).includes('noted');
  // On a terminal, which `script` is.
  const typed = (screen) => execFileSync('script', ['-qec', `'${binary}' explain --web`, '/dev/null'], {
    encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DISPLAY: '', WAYLAND_DISPLAY: '', XDG_CACHE_HOME: folder, PATH: path, ...screen } });
  run(['explain', '--web'], { DISPLAY: ':0', PATH: path });
  assert.equal(typed({}).trim(), address);
  assert.equal(isNoted(), false, 'opened without a terminal, or without a screen');
  assert.equal(typed({ DISPLAY: ':0' }).trim(), address);
  while (!isNoted()) await new Promise((done) => setTimeout(done, 10));
  assert.equal(readFileSync(noted, 'utf8'), address);
  await visit(browser, address, (tab) => tab.waitForSelector('html[data-ready]'));
});
