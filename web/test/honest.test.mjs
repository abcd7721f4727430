// The dashboard of a server that dies, and of filters that come and go while one looks.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkAccess, launch } from './browser.mjs';
import { commands, serveFilters } from './server.mjs';

/** Sends lines of commands to a server. */
const lines = (port, list) => commands(port, list.map((line) => line.split(' ')));

let server;
let browser;
before(async () => {
  server = await serveFilters();
  await lines(server.redis, ['BF.RESERVE hot:sale 0.01 1000 NONSCALING', 'BF.RESERVE quiet 0.01 1000']);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function open(hash, use) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/ui${hash}`);
  await use(page);
  await context.close();
}

test('filters appear and vanish in the table, and a deleted filter’s page says so', () =>
  open('', async (page) => {
    const link = (name) => page.getByRole('link', { name, exact: true });
    await link('quiet').waitFor();
    await lines(server.redis, ['BF.RESERVE late 0.01 1000', 'BF.RESERVE short 0.01 1000']);
    await link('late').waitFor();
    await link('short').waitFor();
    await lines(server.redis, ['PEXPIRE short 100']);
    await link('short').waitFor({ state: 'detached' });
    const other = await page.context().newPage();
    await other.goto(`${server.url}/ui#filter=late`);
    await other.getByText('0 of 1,000').waitFor();
    await lines(server.redis, ['DEL late']);
    await link('late').waitFor({ state: 'detached' });
    await other.getByText('There is no filter late').waitFor();
    assert.equal(await other.isVisible('dl.column'), false);
    await checkAccess(other);
    assert.equal(await link('quiet').count(), 1);
  }));

test('a filter’s page opens under any spelling of its name, and tells of one that is not there', async () => {
  for (const hash of ['#filter=hot%3Asale', '#filter=hot:sale', '#filter=h%6ft:sale']) {
    await open(hash, async (page) => {
      await page.getByRole('heading', { name: 'hot:sale', exact: true, level: 2 }).waitFor();
      await page.getByText('0 of 1,000').waitFor();
    });
  }
  await open('#filter=no%20such', (page) => page.getByText('There is no filter no such').waitFor());
});

test('a fixed filter that is full says so, and its forecast is of the last minute', () =>
  open('#filter=hot%3Asale', async (page) => {
    const [state, forecast] = [page.locator('.state'), page.locator('.forecast')];
    const add = (from, to) => lines(server.redis,
      Array.from({ length: to - from }, (_, i) => `BF.ADD hot:sale key-${from + i}`));
    await state.getByText('good').waitFor();
    await forecast.getByText('No new keys in the last minute').waitFor();
    await add(0, 850);
    await state.getByText('nearly full').waitFor();
    await forecast.getByText(/^Full in .*keys\/s$/).waitFor();
    await add(850, 1100);
    await state.getByText('full: adds are refused').waitFor();
    assert.equal(await forecast.textContent(), 'New keys are refused');
    assert.match(await page.title(), /hot:sale: full/);
  }));

test('the forecast is of the last minute, whatever was added before it', async () => {
  await lines(server.redis, ['BF.RESERVE hour 0.01 100000 NONSCALING',
    `BF.MADD hour ${Array.from({ length: 600 }, (_, i) => `key-${i}`).join(' ')}`]);
  /** The page of the filter, 600 keys of which were added between two times, as the server has seen it. */
  const openAfter = async (before, after, use) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.route('**/ui/history?*', (route) => route.fulfill({ contentType: 'application/json',
      body: JSON.stringify({ samples: [[3_600_000, 0], [before, 0], [after, 600]]
        .map(([ago, items]) => [Date.now() - ago, 1e-9, items]) }) }));
    await page.goto(`${server.url}/ui#filter=hour`);
    await use(page.locator('.forecast'));
    await context.close();
  };
  // Ten a second for a minute, in an hour of which the mean is a sixth of a key a second.
  await openAfter(58_000, 1000, async (forecast) => {
    await forecast.getByText(/keys\/s$/).waitFor();
    const text = await forecast.textContent();
    const [, perSecond] = /^Full in .*, at ([\d.]+) keys\/s$/.exec(text);
    assert.ok(perSecond > 3 && perSecond < 11, text);
  });
  await openAfter(3_500_000, 61_000, async (forecast) => {
    await forecast.getByText('No new keys in the last minute').waitFor();
    // The history is read by then, and says the same.
    await forecast.page().waitForFunction(() => document.querySelectorAll('figure text').length > 6);
    assert.equal(await forecast.textContent(), 'No new keys in the last minute');
  });
  await lines(server.redis, ['DEL hour']);
});

test('the words of a filter and the counts of all are of the same rules', () => open('', async (page) => {
  const rows = await page.evaluate(async () => {
    const { isFull, isOver, stateOf } = await import('/ui/text.js');
    const kinds = ['blocked', 'standard', 'compact', 'counting', 'window'];
    const filters = kinds.flatMap((kind) => [99, 100, 130].flatMap((items) => [0.01, 0.03].map((fpp) =>
      ({ kind, items, capacity: 100, num_bytes: 1, expected_fpp: fpp, target_fpp: 0.01 }))));
    return filters.map((filter) => [stateOf(filter)[0], isOver(filter), isFull(filter)]);
  });
  for (const [words, over, full] of rows) {
    assert.equal(words.includes('over its promise'), over, words);
    assert.equal(words.includes('full: adds are refused'), full, words);
  }
  assert.ok(rows.some(([, over, full]) => over && full));
}));

test('red is for what breaks its promise, amber for what will refuse keys', async () => {
  await lines(server.redis, [
    'BF.RESERVE grows 0.01 100', 'BF.RESERVE last 0.01 100 WINDOW 100',
    ...Array.from({ length: 90 }, (_, i) => `BF.ADD grows ${i}`),
    ...Array.from({ length: 300 }, (_, i) => `BF.ADD last ${i}`)]);
  await open('', async (page) => {
    const cells = (name) => page.locator('tr', { has: page.getByRole('link', { name, exact: true }) })
      .locator('td.bad, td.warn');
    await page.getByRole('link', { name: 'grows', exact: true }).waitFor();
    assert.deepEqual(await cells('grows').count(), 0);
    assert.deepEqual(await cells('last').count(), 0);
    assert.equal(await page.locator('tr', { has: page.getByRole('link', { name: 'last', exact: true }) })
      .locator('td').nth(2).textContent(), 'window');
    assert.deepEqual(await cells('hot:sale').evaluateAll((all) => all.map((cell) => cell.className)),
      ['status bad', 'number full warn']);
    // The line above the table says it first, and each part of it leaves its filters alone.
    const part = (name) => page.locator('.summary').getByRole('button', { name });
    await part('0 of 4 break their promise').waitFor();
    await part('0 expire within the hour').waitFor();
    await part('1 full, which refuse keys').click();
    assert.deepEqual(await page.locator('tbody a').allTextContents(), ['hot:sale']);
    await lines(server.redis, ['EXPIRE grows 600']);
    await part('1 full, which refuse keys').click();
    await part('1 expires within the hour').click();
    assert.deepEqual(await page.locator('tbody a').allTextContents(), ['grows']);
    await part('1 expires within the hour').click();
    // A column sorts with the worst first, and a name is found.
    const names = () => page.locator('tbody a').allTextContents();
    await page.getByRole('button', { name: 'Full' , exact: true }).click();
    assert.deepEqual((await names()).slice(0, 2), ['last', 'hot:sale']);
    assert.equal(await page.locator('th[aria-sort=descending]').textContent(), 'Full');
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    assert.deepEqual(await names(), ['grows', 'hot:sale', 'last', 'quiet']);
    await page.getByRole('searchbox', { name: 'Find a name' }).fill('QUI');
    assert.deepEqual(await names(), ['quiet']);
    await checkAccess(page);
  });
});

test('a telephone shows how full a filter is, and its rate', async () => {
  const context = await browser.newContext({ viewport: { width: 360, height: 780 }, colorScheme: 'dark' });
  const page = await context.newPage();
  await page.goto(`${server.url}/ui`);
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
  const heads = await page.locator('th').evaluateAll((all) =>
    all.filter((head) => head.getBoundingClientRect().right <= innerWidth && head.checkVisibility())
      .map((head) => head.textContent));
  assert.deepEqual(heads, ['Name', 'Full', 'Rate now']);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await checkAccess(page);
  await context.close();
});

test('a hidden page has no stream, and is live again when it is shown', () => open('', async (page) => {
  const up = () => page.locator('#server dd').last().textContent();
  await page.locator('#server dd').last().waitFor();
  const hide = (hidden) => page.evaluate((is) => {
    Object.defineProperty(document, 'hidden', { value: is, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  // Other pages get their streams: nothing comes for this one.
  const before = await up();
  await open('', async (other) => {
    const first = other.locator('#server dd').last();
    await first.waitFor();
    const text = await first.textContent();
    await other.waitForFunction((old) => [...document.querySelectorAll('#server dd')].at(-1).textContent !== old, text);
  });
  assert.equal(await up(), before);
  assert.equal(await page.isHidden('#stale'), true);
  await hide(false);
  await page.waitForFunction((old) => [...document.querySelectorAll('#server dd')].at(-1).textContent !== old, before);
}));

test('a server that dies is told of, on every view, and one that comes back too', () => open('', async (page) => {
  const filter = await page.context().newPage();
  await filter.goto(`${server.url}/ui#filter=quiet`);
  await filter.getByText('0 of 1,000').waitFor();
  await page.locator('#server dd').last().waitFor();
  assert.equal(await page.isHidden('#stale'), true);
  const { redis, http } = server;
  await server.stop('SIGKILL');
  const dead = Date.now();
  for (const view of [page, filter]) {
    await view.locator('#stale', { hasText: /^No answer since \d\d:\d\d:\d\d/ }).waitFor();
    assert.equal(await view.evaluate(() => getComputedStyle(document.querySelector('main dd, main td a')).fontStyle), 'italic');
    await checkAccess(view);
  }
  console.log(`told ${Date.now() - dead} ms after the end, with two runs of axe`);
  server = await serveFilters([], { redis, http });
  await page.locator('#stale').waitFor({ state: 'hidden' });
  // It keeps nothing, and so has no filters.
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor({ state: 'detached' });
  await filter.getByText('There is no filter quiet').waitFor();
}));
