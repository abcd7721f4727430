// The dashboard of a shop at four widths, in light and in the dark: no view is wider than its
// window, axe-core finds nothing, and the pictures of the documentation are made.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkAccess, launch } from './browser.mjs';
import { binary, commands, serveFilters, shots } from './server.mjs';

const folder = mkdtempSync(join(tmpdir(), 'mayhap-screens-'));
const WIDTHS = [360, 768, 1280, 1920];

/** Filters of a shop: name, options after the name, and the number of keys in them. */
const SHOP = [
  ['orders:seen-ids', '0.0001 2000000', 1_310_000],
  ['mail:confirmations-sent', '0.001 1000000', 412_000],
  ['checkout:payment-tokens', '0.00001 200000 NONSCALING', 171_500],
  ['vouchers:redeemed', '0.001 50000 NONSCALING', 50_100],
  ['search:queries-today', '0.01 300000 WINDOW 300000', 300_000],
  ['cache:missing-products', '0.01 500000', 38_400],
  ['crawler:urls', '0.01 250000', 690_000],
  ['carts:events-last-hour', '0.001 100000', 61_200],
  ['sessions:revoked', '0.0001 100000 COUNTING', 8_310],
  ['newsletter:unsubscribed', '0.001 400000', 96_700],
  ['reviews:hashes', '0.01 80000', 22_050],
  ['sale:black-friday', '0.001 600000 NONSCALING', 204_000],
];
const OVER = 'clicks:campaign-42';
const WATCHED = 'checkout:payment-tokens';

const keysOf = (name, count) => {
  const words = [];
  for (let i = 0; i < count; i += 5000) {
    const part = Array.from({ length: Math.min(5000, count - i) }, (_, j) => `${name}/${i + j}`);
    words.push(['BF.MADD', name, ...part]);
  }
  return words;
};

let server;
let empty;
let dying;
let browser;
before(async () => {
  server = await serveFilters(['--data', join(folder, 'data')]);
  [empty, dying] = [await serveFilters(), await serveFilters()];
  for (const [name, options, count] of SHOP) {
    await commands(server.redis, [['BF.RESERVE', name, ...options.split(' ')], ...keysOf(name, count)]);
  }
  await commands(server.redis, [['EXPIRE', 'carts:events-last-hour', '1260'], ['CLIENT', 'SETNAME', 'checkout']]);
  // A file that was filled beyond what it was made for.
  const file = join(folder, 'over.mayhap');
  execFileSync(binary, ['create', '-q', file, '-n', '100000', '-p', '0.5%']);
  const keys = Array.from({ length: 163_000 }, (_, i) => `click-${i}\n`).join('');
  execFileSync(binary, ['add', '-q', '--overfill', file], { input: keys, stdio: ['pipe', 'pipe', 'ignore'] });
  const sent = await fetch(`${server.url}/v1/filters/${OVER}/file`,
    { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body: readFileSync(file) });
  assert.ok(sent.ok, await sent.text());
  await commands(dying.redis, [['BF.RESERVE', 'orders:seen-ids', '0.001', '100000']]);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await Promise.all([server, empty, dying].map((one) => one?.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** An hour in which a filter was filled as on a day of sales. */
function hour(now, { items, expected_fpp: rate }) {
  const samples = Array.from({ length: 61 }, (_, i) => {
    const share = 0.42 + 0.58 * (i / 60) ** 1.6 - 0.01 * Math.sin(i / 4) * (1 - i / 60);
    return [now - (60 - i) * 60_000, rate * share ** 7.5, Math.round(items * share)];
  });
  return JSON.stringify({ samples });
}

/** Opens a view in a window of its own. */
async function open(url, colorScheme, width = 1280) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, deviceScaleFactor: 1 });
  const page = await context.newPage();
  await page.route('**/ui/history?*', async (route) => {
    const path = new URL(route.request().url()).searchParams.get('filter');
    const filter = await (await fetch(`${server.url}/v1/filters/${path}`)).json();
    await route.fulfill({ contentType: 'application/json', body: hour(Date.now(), filter) });
  });
  await page.goto(url);
  return page;
}

/** Views by name: the address, and what is on the screen when it is complete. */
const VIEWS = {
  dashboard: () => [`${server.url}/ui`, (page) => page.getByRole('link', { name: OVER }).waitFor()],
  'dashboard-filter': () => [`${server.url}/ui#filter=${WATCHED}`, (page) => page.locator('text.limit').nth(1).waitFor()],
  'dashboard-over': () => [`${server.url}/ui#filter=${OVER}`, (page) => page.getByText('over its promise').waitFor()],
  'dashboard-durability': () => [`${server.url}/ui#durability`, (page) => page.locator('circle').waitFor()],
  'dashboard-clients': () => [`${server.url}/ui#clients`, (page) => page.getByText('No client is connected.').waitFor()],
  'dashboard-slow': () => [`${server.url}/ui#slow`, (page) => page.locator('.empty:visible, tbody tr:visible').first().waitFor()],
  'dashboard-slow-rows': () => [`${server.url}/ui#slow`, (page) => rows(page, 'slow', {
    at_ms: Date.now(), took_ms: 1234, request: `BF.MADD carts:seen-last-hour ${'item '.repeat(40)}`,
    address: '[2001:db8:0:1:2:3:4:5]:65535', client: 'checkout-worker-17',
  })],
  'dashboard-clients-rows': () => [`${server.url}/ui#clients`, (page) => rows(page, 'clients', {
    id: 4711, address: '[2001:db8:0:1:2:3:4:5]:65535', name: 'checkout-worker-17', user: 'checkout',
    connected_ms: 8.64e7, idle_ms: 12, requests: 123_456_789, num_bytes: 65_536,
  })],
  'dashboard-empty': () => [`${empty.url}/ui`, (page) => page.getByText('There are no filters yet').waitFor()],
  'dashboard-gone': () => [`${empty.url}/ui#filter=carts`, (page) => page.getByText('There is no filter carts').waitFor()],
};

/** A list with rows, which a server without clients or slow requests does not have. */
async function rows(page, list, row) {
  await page.route(`**/ui/${list}`, (route) => route.fulfill({ json: Array(30).fill(row) }));
  await page.locator('tbody tr:visible').nth(29).waitFor();
}

async function checkWidths(page, name, colorScheme) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    const cut = await page.evaluate(() => [...document.querySelectorAll('svg text')]
      .filter((text) => text.getBBox().x < 0).map((text) => text.textContent));
    assert.deepEqual(cut, [], `${name}: labels cut at ${width} px`);
    await checkAccess(page, []);
    const suffix = `${width === 360 ? '-phone' : ''}${colorScheme === 'dark' ? '-dark' : ''}`;
    if (width === 360 || width === 1280) await page.screenshot({ path: `${shots}${name}${suffix}.png` });
  }
}

for (const colorScheme of ['light', 'dark']) {
  for (const [name, view] of Object.entries(VIEWS)) {
    test(`${name} fits every window, in ${colorScheme}, and is accessible`, async () => {
      const [url, complete] = view();
      const page = await open(url, colorScheme);
      await complete(page);
      await checkWidths(page, name, colorScheme);
      await page.context().close();
    });
  }
}

test('a dead server’s table, and the page of a filter, fit every window and are accessible', async () => {
  const pages = [];
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(`${dying.url}/ui`, colorScheme);
    await page.getByRole('link', { name: 'orders:seen-ids' }).waitFor();
    // An answer of the stream, too.
    await page.locator('#server dd').last().waitFor();
    const filter = await open(`${dying.url}/ui#filter=orders:seen-ids`, colorScheme);
    await filter.locator('.figure').nth(1).waitFor();
    pages.push([colorScheme, 'dashboard-dead', page], [colorScheme, 'dashboard-dead-filter', filter]);
  }
  await dying.stop('SIGKILL');
  for (const [colorScheme, name, page] of pages) {
    await page.locator('#stale', { hasText: 'No answer since' }).waitFor();
    await checkWidths(page, name, colorScheme);
    await page.context().close();
  }
});

test('what is in trouble comes first, and its page says what and since when', async () => {
  const page = await open(`${server.url}/ui`, 'light');
  await page.getByRole('link', { name: OVER }).waitFor();
  const names = () => page.locator('tbody a').allTextContents();
  assert.deepEqual((await names()).slice(0, 4), [OVER, 'vouchers:redeemed', WATCHED, 'carts:events-last-hour']);
  assert.equal(await page.title(), 'Filters – mayhap');
  await page.getByRole('link', { name: OVER }).click();
  await page.getByRole('heading', { name: OVER, exact: true }).waitFor();
  assert.equal(await page.locator('.state').textContent(), 'over its promise; full: adds are refused');
  assert.match(await page.locator('.advice').textContent(), /^More keys are in it .* Create a larger one/);
  assert.equal(await page.locator('.figure').count(), 2);
  assert.match(await page.locator('.figure').first().textContent(), /^\d.*% ?false positives now, of 0.5 % promised$/);
  assert.match(await page.locator('.figure').nth(1).textContent(), /^16\d % ?full: 16\d,\d{3} of 100,000 keys/);
  assert.match(await page.title(), /^clicks:campaign-42: over its promise/);
  // The axes: powers of ten, clock times, and the promise as a dashed line.
  const [rate, keys] = [page.locator('figure').first(), page.locator('figure').nth(1)];
  await rate.locator('text.limit').waitFor();
  assert.equal(await rate.locator('text.limit').textContent(), 'promised 0.5 %');
  assert.equal(await keys.locator('text.limit').textContent(), 'capacity 100,000');
  const texts = await rate.locator('text').allTextContents();
  assert.ok(texts.filter((text) => /^\d\d:\d\d$/.test(text)).length >= 4, texts.join());
  assert.ok(['10 %', '0.1 %'].every((tick) => texts.includes(tick)), texts.join());
  assert.match(await rate.locator('svg').getAttribute('aria-label'), /^Rate of false positives, now .*; promised 0.5 %; from/);
  await page.context().close();
});

test('a key that a full filter refuses is said to be, where the button is', async () => {
  const page = await open(`${server.url}/ui`, 'light', 360);
  await page.getByRole('link', { name: 'vouchers:redeemed' }).click();
  await page.getByLabel('Keys, a line each').fill('a new voucher');
  await page.getByRole('button', { name: 'Add' }).click();
  const said = page.locator('p.bad[role=status]');
  await said.waitFor();
  assert.match(await said.textContent(), /full; no item was added$/);
  const [button, box] = [await page.getByRole('button', { name: 'Add' }).boundingBox(), await said.boundingBox()];
  assert.ok(box.y - button.y < 120, `${box.y - button.y} px below the button`);
  await page.context().close();
});

test('each command of an empty list runs as it stands', async () => {
  const page = await open(`${empty.url}/ui#slow`, 'light');
  const command = page.locator('.empty code');
  await command.filter({ hasText: '/ui/slow' }).waitFor();
  const slow = await new Promise((done) => {
    command.textContent().then((text) => execFile('sh', ['-c', text], (error, out) => done({ error, out })));
  });
  assert.deepEqual([slow.error, JSON.parse(slow.out)], [null, []]);
  await page.context().close();
});

test('the command of an empty table creates a filter, and that of a missing one lists them', async () => {
  const run = (command) => new Promise((done) => {
    execFile('sh', ['-c', command], (error, text) => done({ error, text }));
  });
  const page = await open(`${empty.url}/ui`, 'light');
  const create = await page.locator('.empty code').textContent();
  assert.equal((await run(create)).error, null, create);
  await page.getByRole('link', { name: 'seen', exact: true }).waitFor();
  assert.equal(await page.getByText('There are no filters yet').count(), 0);
  await page.goto(`${empty.url}/ui#filter=carts`);
  const list = await page.locator('.empty code').textContent();
  const [filter] = JSON.parse((await run(list)).text).filters;
  assert.deepEqual([filter.name, filter.capacity, filter.target_fpp], ['seen', 1_000_000, 0.001]);
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByRole('button', { name: /Copied|Selected/ }).waitFor();
  assert.equal(await page.evaluate(() => String(getSelection())), list);
  await page.context().close();
});
