// The dashboard of a Redis server in Chromium: filters of mayhap and of Redisson among other keys,
// live, with a name that is markup, by `mayhap ui`.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { checkAccess, checkEverywhere, launch, root, visit } from './browser.mjs';
import { serveFilters } from './server.mjs';

const binary = process.env.MAYHAP ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;
const shots = process.env.SCREENS ?? `${root}target/web/screens/`;
mkdirSync(shots, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'mayhap-ui-'));
const HOSTILE = '<img src=x onerror=alert(1)>';

const mayhap = (words, input = '') => execFileSync(binary, words, { input, stdio: ['pipe', 'pipe', 'inherit'] });
const keys = (from, to) => Array.from({ length: to - from }, (_, i) => `key-${from + i}\n`).join('');

/** Starts a program and waits for a line of one of its streams. */
async function start(program, words, stream, pattern) {
  const child = spawn(program, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.once('exit', done));
  const lines = [];
  let found;
  for await (const line of createInterface({ input: child[stream] })) {
    lines.push(line);
    found = pattern.exec(line);
    if (found) break;
  }
  assert.ok(found, lines.join('\n'));
  child.stdout.resume();
  child.stderr.resume();
  return { found, stop: async () => { child.kill('SIGTERM'); await ended; } };
}

/** A port that was free a moment ago. */
async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

const startRedis = (port) => start('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '',
  '--maxmemory', '200mb', '--maxmemory-policy', 'allkeys-lru',
  // Some are slow on any machine.
  '--slowlog-log-slower-than', '0', '--slowlog-max-len', '3'], 'stdout', /Ready to accept/);

let redis;
let ui;
let url;
let at;
let browser;
before(async () => {
  const port = await freePort();
  redis = await startRedis(port);
  at = `redis://127.0.0.1:${port}`;
  const hostile = `${at}/0/${encodeURIComponent(HOSTILE)}`;
  mayhap(['create', '-q', hostile, '-n', '1000', '-p', '1%']);
  mayhap(['add', '-q', '--overfill', hostile], keys(0, 1500));
  mayhap(['create', '-q', `${at}/0/users`, '--format', 'redisson', '-n', '10000', '-p', '0.1%']);
  mayhap(['add', '-q', `${at}/0/users`], keys(0, 2000));
  for (let i = 0; i < 12; i += 1) {
    mayhap(['create', '-q', `${at}/0/shop:${i}`, '-n', String(1000 << i), '-p', '0.1%', '--ttl', `${i + 1}h`]);
  }
  ui = await start(binary, ['ui', '--http', '0', '--allow-add', at], 'stderr', /http:\S+\/ui/);
  [url] = ui.found;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await ui?.stop();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const open = (hash, use, options) => visit(browser, url + hash, use, options);

test('the filters of a Redis server are listed with their numbers', () => open('', async (page) => {
  await page.getByRole('link', { name: 'users' }).waitFor();
  await page.locator('table[aria-rowcount="15"]').waitFor();
  const cells = (name) => page.locator('tr', { has: page.getByRole('link', { name, exact: true }) })
    .locator('td').allTextContents();
  await page.locator('td', { hasText: 'mayhap blocked' }).first().waitFor();
  const [, state, kind, count, full, , promised] = await cells('users');
  assert.deepEqual([state, kind, full, promised], ['good', 'redisson', '20 %', '0.1 %']);
  assert.ok(Math.abs(Number(count.replace(',', '')) - 2000) < 60, count);
  // Beyond its capacity, and beyond its rate.
  const over = page.locator('tr', { has: page.getByRole('link', { name: HOSTILE, exact: true }) });
  // That it is full is no harm by itself, as it takes more keys.
  assert.deepEqual(await over.locator('td.bad').allTextContents().then(([word]) => word), 'over its promise');
  assert.equal(await over.locator('td.bad, td.warn').count(), 2);
  assert.equal(await page.locator('main img').count(), 0);
  await page.locator('#server', { hasText: 'redis' }).waitFor();
  await checkAccess(page);
}));

test('it is queried and filled as on the command line', () =>
  open(`#filter=${encodeURIComponent(HOSTILE).replace(/[!'()*~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`, async (page) => {
    await page.getByRole('heading', { name: HOSTILE, exact: true, level: 2 }).waitFor();
    await page.getByLabel('Keys, a line each').fill('key-1\nnever <b>seen</b>');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('key-1: already there; never <b>seen</b>: new').waitFor();
    await page.getByRole('button', { name: 'Query' }).click();
    await page.getByText('never <b>seen</b>: maybe in it').waitFor();
    await page.getByRole('button', { name: 'Measure from the bits' }).click();
    await page.locator('dt:text-is("Fill") + dd', { hasText: '%' }).waitFor();
    // The command that it offers for a copy makes one.
    const command = await page.locator('code').textContent();
    const address = command.replace(/^mayhap pull '?/, '').replace(/'$/, '');
    mayhap(['pull', '-q', address, join(folder, 'copy.mayhap')]);
    await checkAccess(page);
  }));

test('what Redis keeps and removes, its clients and slow requests are shown', async () => {
  await open('#durability', async (page) => {
    await page.getByText('keys are removed (allkeys-lru), filters too').waitFor();
    await page.getByText('off: what was added since the snapshot ends with the server').waitFor();
    await page.getByText('none yet, since the server was started').waitFor();
    assert.equal(await page.locator('dt:text-is("Last writes") + dd').textContent(), 'none yet');
    await checkAccess(page);
  });
  await open('#clients', (page) => page.getByRole('cell', { name: 'default', exact: true }).first().waitFor());
  await open('#slow', (page) => page.getByRole('columnheader', { name: 'Took' }).waitFor());
});

test('it fits a narrow screen and a dark one', () => open('', async (page) => {
  await page.getByRole('link', { name: 'users' }).waitFor();
  await page.locator('td', { hasText: '20 %' }).first().waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} px too wide`);
  await checkAccess(page);
}, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' }));

/** Views, and what is on the screen when they are complete. */
const VIEWS = {
  '': (page) => page.locator('td', { hasText: '20 %' }).first().waitFor(),
  '#filter=users': (page) => page.getByText('keys', { exact: false }).first().waitFor(),
  '#filter=nope': (page) => page.getByText('There is no filter nope').waitFor(),
  '#durability': (page) => page.getByText('none yet, since the server was started').waitFor(),
  '#clients': (page) => page.getByRole('cell', { name: 'default', exact: true }).first().waitFor(),
  '#slow': (page) => page.locator('.empty:visible, tbody tr:visible').first().waitFor(),
};

for (const [view, complete] of Object.entries(VIEWS)) {
  test(`the view ${view || '#filters'} of a Redis fits every window and is accessible`, () => open(view, async (page) => {
    await complete(page);
    await checkEverywhere(page, view);
  }));
}

test('what a user without INFO cannot know is not known', async () => {
  const [, port] = /:(\d+)$/.exec(at);
  execFileSync('redis-cli', ['-p', port, 'ACL', 'SETUSER', 'eye', 'on', '>eye', '~*', '+@read', '+@connection']);
  const own = await start(binary, ['ui', '--http', '0', at.replace('redis://', 'redis://eye:eye@')],
    'stderr', /http:\S+\/ui/);
  try {
    await visit(browser, `${own.found[0]}#durability`, async (page) => {
      await page.getByText('not known: the server does not tell').waitFor();
      assert.equal(await page.getByText('ends with the server').count(), 0);
      assert.match(await page.textContent('#problem'), /INFO/i);
      assert.equal(await page.isHidden('#stale'), true);
      await checkEverywhere(page, 'durability without INFO');
    });
    await visit(browser, own.found[0], (page) => page.getByRole('link', { name: 'users' }).waitFor());
  } finally {
    await own.stop();
  }
});

/** Filters of a shop: name, options, and the number of keys in them. */
const SHOP = [
  ['orders:seen-ids', ['-n', '200000', '-p', '0.01%'], 131_000],
  ['mail:confirmations-sent', ['-n', '100000', '-p', '0.1%', '--ttl', '20h'], 41_200],
  ['clicks:campaign-42', ['-n', '20000', '-p', '0.5%'], 31_000],
  ['sessions:revoked', ['--format', 'redisson', '-n', '50000', '-p', '0.1%'], 8310],
  ['crawler:urls', ['-n', '250000', '-p', '1%'], 69_000],
  ['carts:events-last-hour', ['-n', '100000', '-p', '0.1%', '--ttl', '1260s'], 61_200],
];

test('the filters of a shop come with the worst first', async () => {
  for (const [name, options, count] of SHOP) {
    mayhap(['create', '-q', `${at}/2/${name}`, ...options]);
    execFileSync(binary, ['add', '-q', '--overfill', `${at}/2/${name}`],
      { input: keys(0, count), stdio: ['pipe', 'pipe', 'ignore'] });
  }
  const own = await start(binary, ['ui', '--http', '0', `${at}/2`], 'stderr', /http:\S+\/ui/);
  try {
    await visit(browser, own.found[0], async (page) => {
      await page.getByText('over its promise').waitFor();
      const names = await page.locator('tbody a').allTextContents();
      assert.deepEqual(names.slice(0, 2), ['clicks:campaign-42', 'carts:events-last-hour']);
      assert.deepEqual(names.length, SHOP.length);
      await page.locator('#server', { hasText: 'redis' }).waitFor();
      await page.screenshot({ path: `${shots}dashboard-redis.png` });
      await checkAccess(page, []);
    });
  } finally {
    await own.stop();
  }
});

test('a database without filters has a command that creates one', async () => {
  const own = await start(binary, ['ui', '--http', '0', `${at}/1`], 'stderr', /http:\S+\/ui/);
  try {
    await visit(browser, own.found[0], async (page) => {
      const command = await page.locator('.empty code').textContent();
      assert.equal(command, `mayhap create ${at}/1/seen -n 1M -p 0.1%`);
      mayhap(command.split(' ').slice(1));
      await page.getByRole('link', { name: 'seen', exact: true }).waitFor();
    });
  } finally {
    await own.stop();
  }
});

test('filters that vanish from a Redis do so in the table, and a deleted filter’s page says so', () =>
  open('', async (page) => {
    const link = page.getByRole('link', { name: 'shop:11', exact: true });
    await link.waitFor();
    const other = await page.context().newPage();
    await other.goto(`${url}#filter=shop:11`);
    await other.getByText('0 of 2,048,000 keys').waitFor();
    mayhap(['delete', '-q', '--force', `${at}/0/shop:11`]);
    await link.waitFor({ state: 'detached' });
    await other.getByText('There is no filter shop:11').waitFor();
    assert.equal(await page.getByRole('link', { name: 'shop:10', exact: true }).count(), 1);
  }));

test('a server in front of this Redis shows the filters, and names the store', async () => {
  mayhap(['create', '-q', `${at}/2/seen`, '-n', '1000', '-p', '1e-6']);
  const front = await serveFilters(['--store', `${at}/2`]);
  try {
    await visit(browser, `${front.url}/ui`, async (page) => {
      await page.getByRole('link', { name: 'seen', exact: true }).waitFor();
      await page.locator('dt:text-is("Store") + dd', { hasText: /^redis:/ }).waitFor();
      await page.locator('dt:text-is("Memory of the store") + dd', { hasText: 'MiB of 200 MiB' }).waitFor();
      await checkAccess(page);
    });
    await visit(browser, `${front.url}/ui#filter=seen`, async (page) => {
      await page.getByText('0 of 1,000 keys').waitFor();
      await page.getByRole('textbox').first().fill('key-1');
      await page.getByRole('button', { name: 'Add' }).click();
      await page.getByText('key-1: new').waitFor();
      await page.getByText('1 of 1,000 keys').waitFor();
      assert.equal(mayhap(['check', '--count', `${at}/2/seen`], 'key-1\n').toString(), '1\n');
      await checkEverywhere(page, 'a filter in a store');
    });
    await visit(browser, `${front.url}/ui#durability`, async (page) => {
      await page.getByText('keys are removed (allkeys-lru), filters too').waitFor();
      await checkAccess(page);
    });
  } finally {
    await front.stop();
  }
});

test('a Redis that dies is told of, on pages that are open and on new ones', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.locator('td', { hasText: 'mayhap blocked' }).first().waitFor();
  assert.equal(await page.isHidden('#stale'), true);
  await redis.stop();
  await page.locator('#stale', { hasText: /^No answer since \d\d:\d\d:\d\d/ }).waitFor();
  const late = await context.newPage();
  await late.goto(url);
  await late.locator('#stale', { hasText: /^No answer from the server/ }).waitFor();
  await checkEverywhere(page, 'a dead Redis');
  await checkEverywhere(late, 'a dead Redis, opened late');
  redis = await startRedis(/:(\d+)$/.exec(at)[1]);
  for (const one of [page, late]) {
    await one.locator('#stale').waitFor({ state: 'hidden' });
    // It has kept nothing.
    await one.getByRole('link', { name: 'users', exact: true }).waitFor({ state: 'detached' });
    await one.getByText('There are no filters yet').waitFor();
  }
  await context.close();
});
