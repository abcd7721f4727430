// The explorer in Chromium, opened from a folder: every view and every interaction.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkAccess, launch, root, watch } from './browser.mjs';

const url = pathToFileURL(`${root}target/web/explorer/index.html`).href;
const shots = process.env.SCREENS ?? `${root}target/web/screens/`;
mkdirSync(shots, { recursive: true });

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** Opens the page with a state in its URL; `use` has it until it ends, without errors. */
async function open(state, use, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, ...options });
  const page = await context.newPage();
  const check = watch(page);
  await page.goto(url + state);
  await page.waitForSelector('html[data-ready]');
  await use(page);
  check();
  await context.close();
}

const rows = (page) => page.$$eval('#kinds tbody tr', (all) =>
  all.map((row) => [...row.cells].map((cell) => cell.textContent)));

test('the answer for 10 M keys at 0.1 % is that of the library', () => open('', async (page) => {
  const [best, second] = await rows(page);
  assert.deepEqual(best.slice(0, 6), ['blocked', '18.75 MiB', '15.72', '8', '0.1 %', '0.0639 %']);
  assert.deepEqual(second.slice(0, 4), ['standard', '17.14 MiB', '14.38', '10']);
  assert.match(best[6], /^3\.16 %$/);
  assert.match(await page.textContent('#answer'), /18\.75 MiB are needed/);
  await page.screenshot({ path: `${shots}explorer.png`, fullPage: true });
  await checkAccess(page);
}));

test('it says what a Bloom filter is, and its formulas have the numbers of the page', async () => {
  await open('#n=1M&p=1%25', async (page) => {
    assert.match(await page.textContent('#what'), /array of m bits/);
    const text = await page.textContent('#formulas');
    assert.match(text, /m = −n ln p \/ \(ln 2\)2 = −1,000,000 · ln 0\.01 \/ 0\.4805 = 9,585,059 bits/);
    assert.match(text, /k = \(m \/ n\) ln 2 = 9\.59 · 0\.6931 = 6\.64, so 7/);
    assert.match(text, /p = \(1 − e−kn\/m\)k = .* = 1 %/);
    assert.match(text, /in blocked, all bits of a key are in one block/);
  });
  // The textbook of the library says the same.
  await open('#n=1M&m=1MiB', async (page) => {
    const shown = /\)k = .*?\)\^\d+ = ([\d.]+) %/.exec(await page.textContent('#formulas'))[1];
    const [m, k] = await page.evaluate(() => [page.plan.candidates[0].numBits, 6]);
    const fpp = await page.evaluate(([bits, hashes]) => page.library.textbookFpp(bits, hashes, 1e6), [m, k]);
    assert.ok(Math.abs(Number(shown) - 100 * fpp) < 0.01, `${shown} % is not ${100 * fpp} %`);
  });
});

test('no page is wider than a telephone', () => open('', async (page) => {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} px too wide`);
  await page.screenshot({ path: `${shots}explorer-narrow.png`, fullPage: true });
  await checkAccess(page);
}, { viewport: { width: 360, height: 780 } }));

test('any two of n, p and m solve the third', async () => {
  await open('#n=1G&m=2GiB', async (page) => {
    assert.match(await page.textContent('#answer'), /A rate of 0\.\d+ % is kept/);
  });
  // Of a kind that grows the promise is kept, not the rate at n, which more keys raise.
  await open('#n=100M&m=93.73MiB&grow=1', async (page) => {
    assert.match(await page.textContent('#answer'), /A rate of 16\.\d+ % is kept/);
    assert.match(await page.textContent('#verdict'), /2\.\d+ % of absent keys .* promises 16\.\d+ % however many come/);
  });
  await open('#p=1 in 1M&m=64MiB', async (page) => {
    assert.match(await page.textContent('#answer'), /[\d,]+ keys fit/);
    assert.equal((await rows(page))[0][0], 'standard');
  });
});

test('what is typed changes the table and the URL, which shows the same again', () =>
  open('', async (page) => {
    await page.fill('[name=n]', '1.5M');
    await page.fill('[name=p]', '1 in 1M');
    await page.check('[name=delete]');
    assert.equal((await rows(page))[0][0], 'compact');
    assert.match(await page.textContent('#unfit'), /blocked cannot delete/);
    const before = await rows(page);
    const link = page.url();
    assert.match(link, /n=1\.5M/);
    await page.goto('about:blank');
    await page.goto(link);
    await page.waitForSelector('html[data-ready]');
    assert.deepEqual(await rows(page), before);
    assert.equal(await page.isChecked('[name=delete]'), true);
    await page.goto(`${url}#n=5&p=1%25`);
    await page.waitForFunction(() => document.querySelector('[name=n]').value === '5');
    assert.equal(await page.isChecked('[name=delete]'), false);
  }));

test('an invalid number is reported, and the page keeps working', () => open('', async (page) => {
  for (const [n, p, said] of [
    ['ten', '1%', /n is not understood: ten/],
    ['10', '', /Two of keys, rate and memory/],
    ['10', '150%', /p is not understood|above 0 and below 1/],
    ['1', '1e-300', /lowest/],
  ]) {
    await page.fill('[name=n]', n);
    await page.fill('[name=p]', p);
    const text = (await page.textContent('#problem')) + (await page.textContent('#verdict'))
      + (await page.textContent('#unfit'));
    assert.match(text, n === '1' ? /No kind of filter serves|reaches no rate/ : said);
  }
  await page.fill('[name=n]', '10');
  await page.fill('[name=p]', '1%');
  assert.equal(await page.textContent('#problem'), '');
  assert.equal((await rows(page)).length > 1, true);
}));

test('a k of one’s own is compared with the best', () => open('#n=1M&p=1%25&k=3', async (page) => {
  assert.match(await page.textContent('#own-k'), /With k = 3 .*: 1\.\d+ %; the best k there is 7, in the kinds above/);
}));

test('curves and their table show overfilling', () => open('', async (page) => {
  assert.equal(await page.locator('#curve path.curve').count(), 2);
  await page.click('summary');
  const table = await page.textContent('#curve-table');
  assert.match(table, /10,000,000/);
  assert.match(table, /95\.2 %/);
  assert.equal(await page.locator('#by-k path.curve').count(), 1);
}));

test('the cost model is that of the planner', () => open('#n=1M&p=1%25&c1=1&c2=1000', async (page) => {
  const cells = await page.$$eval('#cost-table td', (all) => all.map((cell) => cell.textContent));
  assert.equal(cells[0], '110'); // 1 + (0.1 + 0.9 · 0.01) · 1000
  assert.equal(cells[10], '1000');
}));

test('the lines to copy are those of the best kind', async () => {
  const lines = (page) => page.$$eval('#lines code', (all) => all.map((line) => line.textContent));
  await open('#n=1000&p=1%25', async (page) => {
    const [shell, plan, rust, python, redis] = await lines(page);
    const kind = (await rows(page))[0][0];
    assert.equal(shell, `mayhap create seen.mayhap -n 1000 -p 0.01 --layout ${kind}`);
    assert.equal(plan, 'mayhap plan -n 1000 -p 0.01');
    assert.match(rust, /BloomFilter::builder\(\)\.expected_items\(1000\)\.target_fpp\(0\.01\)/);
    assert.equal(python, `seen = mayhap_bloom.Bloom(1000, 0.01, layout="${kind}")`);
    assert.equal(redis, `BF.RESERVE seen 0.01 1000 NONSCALING LAYOUT ${kind}`);
  });
  await open('#n=1000&p=1%25&delete=1', async (page) => {
    const copied = await lines(page);
    assert.ok(copied.includes('seen = mayhap_bloom.Compact(1000, 0.01)'));
    assert.ok(copied.includes('BF.RESERVE seen 0.01 1000 LAYOUT compact'));
  });
});

// The output of `mayhap plan --url`; the command's tests have the same text.
test('a link of the command is solved as it was there', () =>
  open('#n=10000000&p=3.333333333333333e-1&delete=1', async (page) => {
    const needs = await page.evaluate('page.needs(page.library)');
    assert.deepEqual([needs.items, needs.fpp, needs.delete], [1e7, 3.333333333333333e-1, true]);
    assert.equal((await rows(page))[0][0], 'compact');
  }));

test('a list becomes a filter with its real fill and a measured rate', () => open('#n=5000&p=1%25',
  async (page) => {
    const lines = Array.from({ length: 5000 }, (_, i) => `https://example.org/${i}`).join('\n');
    await page.setInputFiles('[name=list]', { name: 'urls.txt', mimeType: 'text/plain',
      buffer: Buffer.from(`${lines}\nhttps://example.org/7\n`) });
    await page.waitForSelector('#list-result a');
    const text = await page.textContent('#list-result');
    assert.match(text, /Lines5,001Distinct5,000Found againall of them/);
    const measured = Number(text.match(/\((\d+) of 200,000/)[1]);
    assert.ok(Math.abs(measured - 2000) < 300, `${measured} false positives, 2000 promised`);
    const [download] = await Promise.all([
      page.waitForEvent('download'), page.click('#list-result a')]);
    const bytes = readFileSync(await download.path());
    assert.equal(download.suggestedFilename(), 'urls.txt.mayhap');
    // And the page opens the file that it wrote.
    await page.setInputFiles('[name=file]', { name: 'urls.mayhap', mimeType: '', buffer: bytes });
    await page.fill('[name=keys]', 'https://example.org/4999\nhttps://example.org/5000x');
    await page.click('#ask button');
    assert.match(await page.textContent('#ask-result'),
      /4999maybe.*5000xsurely not/);
    await page.screenshot({ path: `${shots}explorer-file.png`, fullPage: true });
    await checkAccess(page);
  }));

test('filters of other systems are opened, and hostile names stay text', () => open('',
  async (page) => {
    const golden = `${root}crates/mayhap-formats/tests/golden/`;
    await page.setInputFiles('[name=file]', {
      name: '<img src=x onerror=alert(1)>.bin', mimeType: '',
      buffer: readFileSync(`${golden}guava/string_utf8_mitz64.bin`) });
    await page.waitForSelector('#ask:not([hidden])');
    assert.match(await page.textContent('#file-result'),
      /<img src=x onerror=alert\(1\)>\.bin.*guava.*1,013 keys.*1\.06 %/);
    assert.equal(await page.locator('#file-result img').count(), 0);
    await page.setInputFiles('[name=file]', { name: 'dcso.gz', mimeType: '',
      buffer: readFileSync(`${golden}dcso/dcso_c_gz.bloom.gz`) });
    await page.waitForFunction(() => document.body.textContent.includes('dcso.gz'));
    await page.setInputFiles('[name=file]', { name: 'x', mimeType: '', buffer: Buffer.from('no') });
    await page.waitForSelector('#file-result .problem');
    assert.equal(await page.isHidden('#ask'), true);
  }));

test('the worked examples show bits and verdicts', () => open('', async (page) => {
  assert.match(await page.textContent('#bits-words'), /C → bits 0, 4, 7: surely not: bit 4 is 0/);
  await page.fill('[name=query]', 'A');
  await page.press('[name=query]', 'Enter');
  assert.match(await page.textContent('#bits-words'), /maybe, and it is inside/);
  await page.selectOption('[name=preset]', '1');
  assert.match(await page.textContent('#bits-words'), /dianping → bits 1, 5, 8: surely not: bit 5/);
  await page.selectOption('[name=preset]', '2');
  assert.match(await page.textContent('#bits-words'),
    /taobao → bits 1, 3, 8: maybe, and it is not inside: a false positive/);
  await page.selectOption('[name=preset]', '3');
  assert.match(await page.textContent('#bits-words'), /Inside: 1, 10. 3 → bits 2, 6, 9: surely not/);
  await page.selectOption('[name=preset]', '4');
  await page.fill('[name=insert]', 'é');
  await page.fill('[name=query]', 'é');
  await page.click('#bits button');
  assert.match(await page.textContent('#bits-words'), /é → bits .*maybe, and it is inside/);
}));

test('a living bit array fills, and its rate climbs along the curve', () => open('', async (page) => {
  assert.equal(await page.isVisible('[name=more]'), false);
  await page.selectOption('[name=preset]', '5');
  const now = async () => {
    const text = await page.textContent('#bits-curve p');
    const [, keys, rate] = /^([\d,]+) keys .* by its bits, ([\d.e-]+)( %)? of/.exec(text);
    const on = await page.locator('.bit.on').count();
    return [Number(keys.replace(',', '')), Number(rate) * (text.includes(' %') ? 1 : 100), on];
  };
  const steps = [await now()];
  for (let i = 0; i < 3; i += 1) {
    await page.click('[name=more]');
    steps.push(await now());
  }
  assert.deepEqual(steps.map(([keys]) => keys), [3, 103, 203, 303]);
  assert.ok(steps[1][1] > 0.6 && steps[1][1] < 1.6, `${steps[1]} % at 103 of 100 keys`);
  for (let i = 1; i < 4; i += 1) {
    assert.ok(steps[i][1] > steps[i - 1][1] && steps[i][2] > steps[i - 1][2], steps.join(' '));
  }
  await page.fill('[name=query]', 'more-50');
  await page.click('#bits button:not([name])');
  assert.match(await page.textContent('#bits-words'), /303 keys. more-50 → bits .*maybe, and it is inside/);
  assert.equal(await page.locator('.bit.probe').count() > 3, true);
  await page.locator('#bits-view').scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${shots}explorer-bits.png` });
  await checkAccess(page);
}));

test('all is reached by keyboard, in the dark and on paper', () => open('', async (page) => {
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  const seen = new Set();
  for (let i = 0; i < 40; i += 1) {
    seen.add(await page.evaluate(() => document.activeElement.name ?? document.activeElement.tagName));
    await page.keyboard.press('Tab');
  }
  for (const name of ['c1', 'list', 'file', 'preset', 'query']) assert.ok(seen.has(name), name);
  await checkAccess(page);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${shots}explorer-dark.png` });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.isVisible('#drop-list'), false);
  assert.equal(await page.isVisible('#kinds'), true);
}, { colorScheme: 'dark' }));
