// The lines that the explorer offers to copy, of 200 random states: each is run, and creates the
// filter that the page shows, or plans it.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, root, visit } from './browser.mjs';

const url = pathToFileURL(`${root}target/web/explorer/index.html`).href;
const binary = process.env.MAYHAP ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;
const folder = mkdtempSync(join(tmpdir(), 'mayhap-copied-'));
const STATES = 200;

let browser;
let server;
let ports;
before(async () => {
  for (const set of ['a', 'b']) writeFileSync(join(folder, `set-${set}.txt`), `${set}\n`);
  writeFileSync(join(folder, 'keys.txt'), Array.from({ length: 1000 }, (_, i) => `key-${i}\n`).join(''));
  server = spawn(binary, ['serve', '--port', '0', '--http', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  ports = {};
  for await (const line of createInterface({ input: server.stderr })) {
    const [, what, port] = /(Redis clients|HTTP): \S*?:(\d+)\b/.exec(line) ?? [];
    if (what) ports[what] = Number(port);
    if (ports.HTTP && ports['Redis clients']) break;
  }
  server.stderr.resume();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a line as a shell does, with our command under its name. */
const run = (line) => execFileSync('sh', ['-c', `mayhap() { "$MAYHAP_BINARY" "$@"; }; ${line}`],
  { cwd: folder, encoding: 'utf8', env: { ...process.env, MAYHAP_BINARY: binary },
    stdio: ['ignore', 'pipe', 'pipe'] });

/** One command, and its reply. */
async function reply(line) {
  const socket = connect(ports['Redis clients'], '127.0.0.1');
  socket.write(`${line}\r\n`);
  const [data] = await new Promise((done) => socket.once('data', (...all) => done(all)));
  socket.destroy();
  return data.toString();
}

/** Numbers from a seed. */
function* random(seed) {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** The states: two of n, p and memory, and needs that are set now and then. */
function* states() {
  const numbers = random(40);
  const next = () => numbers.next().value;
  for (;;) {
    const n = Math.round(10 ** (1 + 4.5 * next()));
    const p = (10 ** (-5 * next() - 0.5)).toPrecision(3);
    const m = Math.round(10 ** (3 + 3 * next()));
    const given = [{ n, p }, { n, p }, { n, m }, { p, m }][Math.floor(4 * next())];
    for (const need of ['delete', 'forget', 'frozen', 'grow']) if (next() < 0.22) given[need] = 1;
    if (next() < 0.2) given.sets = Math.ceil(12 * next());
    yield given;
  }
}

async function checkLine(name, line, best) {
  if (name === 'plan') {
    const plan = JSON.parse(run(`${line} --json`)).best;
    assert.deepEqual([plan.kind, plan.num_bits, plan.items], [best.kind, best.numBits, best.items], line);
  } else if (name === 'shell') {
    run(line.replace(/^mayhap (create|build)/, 'mayhap $1 --force -q'));
    const file = best.kind === 'matrix' ? 'sets.mayhap' : 'seen.mayhap';
    const info = JSON.parse(run(`mayhap info --json ${file}`));
    assert.equal(info.layout, best.kind, line);
    // A filter that is built once is as large as its keys.
    if (!['fuse', 'ribbon', 'matrix'].includes(best.kind)) {
      assert.equal(info.num_bits, best.numBits, line);
      // Of one that grows n is a guess, and not recorded.
      assert.equal(info.expected_items ?? best.items, best.items, line);
    }
  } else if (name === 'mayhap serve') {
    assert.equal(await reply(line), '+OK\r\n', line);
    const found = await (await fetch(`http://127.0.0.1:${ports.HTTP}/v1/filters/seen`)).json();
    // Its bytes are those of the whole entry.
    assert.deepEqual([found.kind, found.capacity, found.target_fpp],
      [best.kind, best.items, best.targetFpp], line);
    assert.equal(await reply('DEL seen'), ':1\r\n');
  } else if (name === 'RedisBloom') {
    // What RedisBloom takes, we do: a rate, a capacity, and whether it grows.
    assert.match(line, /^BF\.RESERVE seen \S+ \d+( NONSCALING)?$/);
    assert.equal(await reply(line), '+OK\r\n', line);
    assert.equal(await reply('DEL seen'), ':1\r\n');
  } else {
    assert.ok(['Rust', 'Python'].includes(name), name);
    assert.ok(line.includes(String(best.items)), line);
  }
}

test('every line creates the filter that the page shows', { timeout: 600_000 }, () =>
  visit(browser, url, async (page) => {
    await page.waitForSelector('html[data-ready]');
    const seen = new Map();
    const all = states();
    for (let i = 0; i < STATES; i += 1) {
      const hash = String(new URLSearchParams(all.next().value));
      const { lines, best } = await page.evaluate(async (state) => {
        location.hash = state;
        await new Promise((done) => addEventListener('hashchange', done, { once: true }));
        return {
          lines: [...document.querySelectorAll('#lines .line')].map((line) =>
            [line.querySelector('b').textContent, line.querySelector('code').textContent]),
          best: page.plan.candidates[0],
        };
      }, hash);
      if (!best) {
        assert.deepEqual(lines, [], hash);
        continue;
      }
      for (const [name, line] of lines) {
        await checkLine(name, line, best).catch((error) => {
          error.message = `${hash}: ${error.message}`;
          throw error;
        });
        seen.set(`${name} ${best.kind}`, (seen.get(`${name} ${best.kind}`) ?? 0) + 1);
      }
      assert.ok(lines.some(([name]) => name === 'shell'), hash);
    }
    console.log([...seen].map(([what, count]) => `${count} ${what}`).join(', '));
    for (const kind of ['blocked', 'standard', 'compact', 'window', 'scalable']) {
      assert.ok(seen.has(`shell ${kind}`) && seen.has(`mayhap serve ${kind}`), kind);
    }
  }));

test('where nothing fits there is no curve and no complaint', () =>
  visit(browser, `${url}#n=1M&p=1%25`, async (page) => {
    await page.waitForSelector('html[data-ready]');
    await page.locator('#curve path').first().waitFor();
    for (const need of ['delete', 'forget', 'frozen', 'grow']) await page.check(`[name=${need}]`);
    assert.match(await page.textContent('#verdict'), /No kind of filter serves/);
    assert.equal(await page.locator('#curve path, #by-k path, #curve-table td, #lines code').count(), 0);
    assert.equal(await page.textContent('#cost-table'), '');
  }));

test('a field that is not understood is marked, with what was perhaps meant', () =>
  visit(browser, `${url}#n=1M&p=1%25`, async (page) => {
    await page.waitForSelector('html[data-ready]');
    for (const [field, text, said] of [
      ['p', '1:1000', /did you mean 1\/1000\?/], ['p', '5,5', /did you mean 5,5%\?/],
      ['p', '5', /not below 1; did you mean 5%\?/], ['n', 'ten', /n is not understood: ten/],
    ]) {
      const before = await page.inputValue(`[name=${field}]`);
      await page.fill(`[name=${field}]`, text);
      assert.match(await page.textContent('#problem'), said);
      assert.equal(await page.getAttribute(`[name=${field}]`, 'aria-invalid'), 'true');
      assert.equal(await page.locator('[aria-invalid]').count(), 1);
      await page.fill(`[name=${field}]`, before);
      assert.equal(await page.locator('[aria-invalid]').count(), 0);
    }
    // The plan stands; only the comparison with this k has no answer.
    for (const text of ['0', '33']) {
      await page.fill('[name=k]', text);
      assert.match(await page.textContent('#own-k'), /num_hashes/);
      assert.equal(await page.getAttribute('[name=k]', 'aria-invalid'), 'true', text);
    }
    await page.fill('[name=k]', '3');
    assert.equal(await page.locator('[aria-invalid]').count(), 0);
  }));

test('the answer says what twice as many keys do to the rate, where they raise it', async () => {
  for (const [state, said] of [
    ['n=50M&p=0.1%25', /1 in 1,000\. With 100,000,000 keys in it, 3\.16 %, 1 in 32\.$/],
    ['n=50M&p=0.1%25&grow=1', /1 in [\d,]+\. It grows .* promises 0\.1 % however many come: .*\.$/],
  ]) {
    await visit(browser, `${url}#${state}`, async (page) => {
      await page.waitForSelector('html[data-ready]');
      const text = await page.textContent('#verdict');
      assert.match(text, said);
      assert.equal(text.includes('With '), !state.includes('grow'), text);
    });
  }
});

test('with several sets each number says of how many', () =>
  visit(browser, `${url}#n=10M&p=1%25&sets=20&frozen=1`, async (page) => {
    await page.waitForSelector('html[data-ready]');
    const said = await page.textContent('#verdict');
    assert.match(said, /160\.\d MiB are needed with ribbon: [\d,]+ bits for each of 20 sets/);
  }));
