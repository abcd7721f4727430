// What the explorer explains: presets, languages, decimal commas, bars and plots; and that every
// state of it is accessible at every width, in light and dark.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkAccess, checkEverywhere, launch, root, serve, visit } from './browser.mjs';

const url = pathToFileURL(`${root}target/web/explorer/index.html`).href;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const open = (state, use, options = {}) => visit(browser, url + state, async (page) => {
  await page.waitForSelector('html[data-ready]');
  await use(page);
}, options);

const needs = (page) => page.evaluate('page.needs(page.library)');

test('presets fill the page, and the step back empties it again', () => open('', async (page) => {
  const wanted = {
    crawler: [1e9, 0.01, 'blocked'],
    passwords: [1e9, 0.001, 'ribbon'],
    guard: [1e7, 0.01, 'counting|compact'],
    phishing: [1e6, 1e-4, 'ribbon'],
  };
  for (const [name, [items, fpp, kind]] of Object.entries(wanted)) {
    await page.click(`[data-preset=${name}]`);
    await page.waitForFunction((n) => page.plan?.candidates[0]?.items === n, items);
    const given = await needs(page);
    assert.deepEqual([given.items, given.fpp, given.maxBytes], [items, fpp, null], name);
    assert.match(await page.evaluate('page.plan.candidates[0].kind'), new RegExp(`^(${kind})$`), name);
    assert.match(page.url(), /#n=/);
  }
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('[name=n]').value === '10M');
}));

test('memory of the same keys otherwise is that of the worked example', () =>
  // A hundred million URLs of fifty characters: one hash takes 100 n bits at 1 %, MD5 16 bytes each.
  open('#n=100M&p=1%25&key=50', async (page) => {
    const cells = await page.$$eval('#cost-table tr', (rows) =>
      rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const memory = Object.fromEntries(cells.map(([name, , bytes]) => [name, bytes]));
    assert.equal(memory['with a bitmap of one hash, at this p'], '1.164 GiB'); // 1e10 / 8 bytes
    assert.equal(memory['with the MD5 of each, 16 bytes'], '1.490 GiB');
    assert.match(memory['with all keys in a hash set'], /^[5-9]\.\d+ GiB$/); // 5 GB, and the table
    assert.match(memory['with this filter'], /^1[12]\d\.\d MiB$/);
  }));

const COMMAS = {
  '#n=1,5M&p=0,1%25': [1.5e6, 0.001, null],
  '#n=10,000,000&p=0,01': [1e7, 0.01, null],
  '#n=1,500&p=1 in 1,5M': [1500, 1 / 1.5e6, null],
  '#n=1M&m=0,125G': [1e6, null, 125e6],
  '#n=1M&m=1,5MiB': [1e6, null, 1.5 * 2 ** 20],
};

test('a decimal comma is taken, and thousands stay grouped', async () => {
  for (const [state, [items, fpp, maxBytes]] of Object.entries(COMMAS)) {
    await open(state, async (page) => {
      assert.equal(await page.textContent('#problem'), '', state);
      const given = await needs(page);
      assert.deepEqual([given.items, given.fpp, given.maxBytes], [items, fpp, maxBytes], state);
    });
  }
  await open('#n=1M&p=1%25&c1=0,5&c2=1,5&absent=99,9%25', async (page) => {
    const first = await page.$$eval('#cost-table tbody tr', ([row]) => row.cells[1].textContent);
    // 0.5 + (0.001 + 0.999 · 0.01) · 1.5, with the rate that the filter has.
    const fpp = await page.evaluate('page.plan.candidates[0].expectedFpp');
    assert.equal(first, String(Number((0.5 + (0.001 + 0.999 * fpp) * 1.5).toPrecision(4))));
  });
});

const SPOKEN = {
  zh: [/布隆过滤器是一个 m 位的数组/, /需要 18\.75 MiB/, /不能增长|一次建成/, '10,000,000'],
  ru: [/массив из m битов/, /Нужно 18,75 MiB/, /строится один раз/, '10 000 000'],
};

test('the page speaks the language of the browser, or the one that is chosen', async () => {
  for (const [language, [what, answer, unfit, n]] of Object.entries(SPOKEN)) {
    await open('', async (page) => {
      const has = async () => {
        assert.equal(await page.getAttribute('html', 'lang'), language);
        assert.match(await page.textContent('#what'), what);
        assert.match(await page.textContent('#answer'), answer);
        assert.match(await page.textContent('#unfit'), unfit);
        const text = (await page.textContent('#formulas')).replaceAll('\u00a0', ' ');
        assert.ok(text.includes(n), text);
        // No text is left in English: neither fixed nor computed.
        assert.doesNotMatch(await page.evaluate(() => document.body.innerText),
          /\b(keys|the|rate|with|memory|not|bytes|Copy|yours)\b/);
      };
      await has();
      assert.doesNotMatch(page.url(), /lang=/);
      await page.selectOption('#language', 'en');
      assert.match(await page.textContent('#answer'), /are needed/);
      assert.match(page.url(), /lang=en/);
      await page.selectOption('#language', language);
      await has();
    }, { locale: { zh: 'zh-CN', ru: 'ru-RU' }[language] });
    await open(`#lang=${language}`, async (page) => {
      assert.match(await page.textContent('#what'), what);
      await page.click('[data-preset=guard]');
      await page.waitForFunction(() => document.querySelector('[name=delete]').checked);
      assert.match(page.url(), new RegExp(`lang=${language}`));
    });
  }
  await open('#lang=xx', async (page) => assert.equal(await page.getAttribute('html', 'lang'), 'en'),
    { locale: 'sv-SE' });
});

test('every text has three languages with the same values', () => open('', async (page) => {
  const wrong = await page.evaluate(() => Object.entries(page.TEXTS)
    .filter(([, texts]) => texts.length !== 3 || texts.some((text) => text.trim() === '' && texts[0].trim() !== '')
      || new Set(texts.map((text) => (text.match(/\{\d\}/g) ?? []).sort().join(''))).size > 1)
    .map(([name]) => name));
  assert.deepEqual(wrong, []);
}));

test('numbers that differ beside each other say why, and cache lines are one number', () =>
  open('#n=1M&p=0.1%25', async (page) => {
    const k = await page.textContent('#kinds tr.best td:nth-of-type(3)');
    const formulas = await page.textContent('#formulas');
    const [, theirs] = /so (\d+)/.exec(formulas);
    assert.notEqual(k, theirs);
    assert.ok(formulas.includes(`Its k is ${k}, not ${theirs}: the formulas’ k is best for`), formulas);
    assert.match(await page.textContent('#sizes'), /The textbook’s rate is the formula .*, as if each block/);
    const columns = await page.locator('#kinds td:nth-of-type(8)').allTextContents();
    const bars = await page.$$eval('#bars text.name', (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(bars.slice(-columns.length), columns);
    const reasons = await page.locator('#kinds td.why').allTextContents();
    const touched = reasons.map((why) => /touches (\S+) cache lines/.exec(why)?.[1]);
    assert.ok(touched.some(Boolean), reasons.join());
    touched.forEach((lines, i) => assert.equal(lines ?? columns[i], columns[i], reasons[i]));
  }));

test('bars are as long as what they show, and the best one stands out', () => open('#n=1M&p=1e-6&frozen=1',
  async (page) => {
    const kinds = await page.evaluate('page.plan.candidates');
    const bars = await page.$$eval('#bars rect', (all) =>
      all.map((bar) => [Number(bar.getAttribute('width')), bar.classList.contains('best')]));
    assert.equal(bars.length, 2 * kinds.length);
    const most = Math.max(...kinds.map(({ numBytes }) => numBytes));
    const longest = Math.max(...bars.slice(0, kinds.length).map(([width]) => width));
    kinds.forEach(({ numBytes, kind }, i) => {
      assert.ok(Math.abs(bars[i][0] / longest - numBytes / most) < 0.01, kind);
      assert.equal(bars[i][1], i === 0, kind);
    });
  }));

test('the filter of the page is a point in each plot, on its curve', () => open('#n=1M&p=1%25&m=', async (page) => {
  for (const id of ['curve', 'by-k', 'by-n', 'by-m']) {
    const plot = page.locator(`#${id} svg`);
    assert.equal(await plot.getAttribute('role'), 'img', id);
    assert.ok((await plot.locator('title').textContent()).length > 5, id);
    assert.equal(await plot.locator('circle.point').count(), 1, id);
    assert.match(await plot.locator('text.own').textContent(), /^yours: (1M|[\d.]+ %)$/, id);
  }
  // In the plot of n the first curve is that of the best kind, and its point is in the middle.
  const [point, path] = await page.evaluate(() => [
    ['cx', 'cy'].map((name) => Number(document.querySelector('#curve circle').getAttribute(name))),
    document.querySelector('#curve path.c0').getAttribute('d')]);
  const places = path.match(/[\d.]+ [\d.]+/g).map((pair) => pair.split(' ').map(Number));
  const nearest = Math.min(...places.map(([x, y]) => Math.hypot(x - point[0], y - point[1])));
  assert.ok(nearest < 2, `${nearest} px from its curve`);
}));

test('the page in one file is the same, from a disk and from a server', async () => {
  const server = await serve(`${root}target/web`);
  try {
    for (const place of [pathToFileURL(`${root}target/web/explorer.html`).href, `${server.url}/explorer.html`]) {
      await visit(browser, `${place}#n=1G&p=1%25`, async (page) => {
        const asked = [];
        page.on('request', (request) => asked.push(request.url()));
        await page.waitForSelector('html[data-ready]');
        assert.equal(await page.textContent('#answer'), '1.176 GiB are needed');
        assert.equal(await page.$eval('h1', (head) => getComputedStyle(head).fontSize), '25.6px');
        await page.setInputFiles('[name=list]', { name: 'l', mimeType: '', buffer: Buffer.from('a\nb\n') });
        await page.locator('#list-result a').waitFor();
        assert.match(await page.textContent('#list-result'), /Lines2.*all of them/);
        assert.deepEqual(asked.filter((url) => !/^(blob|data):/.test(url)), []);
      });
    }
  } finally {
    server.close();
  }
});

const STATES = {
  '': async () => {},
  '#n=1G&p=1e-6&frozen=1&sets=20&lang=ru': async () => {},
  '#n=1M&m=1MiB&delete=1&lang=zh': async () => {},
  '#n=10M&p=1%25&delete=1&forget=1&frozen=1&grow=1': async () => {},
  '#n=abc': async () => {},
  '#n=1000&p=1%25': async (page) => {
    await page.selectOption('[name=preset]', '5');
    await page.click('[name=more]');
    await page.click('summary');
    await page.setInputFiles('[name=list]', { name: 'a-list-with-a-long-name.txt', mimeType: '',
      buffer: Buffer.from('https://example.org/a/very/long/path\nb\n') });
    await page.locator('#list-result a').waitFor();
    await page.setInputFiles('[name=file]', { name: 'x', mimeType: '', buffer: Buffer.from('no') });
    await page.waitForSelector('#file-result .problem');
  },
};

for (const lang of ['en', 'zh', 'ru']) {
  test(`in the language ${lang} no state scrolls sideways, and axe finds nothing`, async () => {
    for (const state of ['#n=10M&p=1%25&delete=1&forget=1&frozen=1&grow=1', '#n=1000&p=1%25']) {
      await open(`${state}&lang=${lang}`, async (page) => {
        assert.equal(await page.getAttribute('html', 'lang'), lang);
        await STATES[state](page);
        await checkEverywhere(page, `${state} in ${lang}`);
      });
    }
  });
}

for (const width of [360, 768, 1280, 1920]) {
  test(`at ${width} px no state scrolls sideways, and axe finds nothing, in light and dark`, async () => {
    for (const [state, act] of Object.entries(STATES)) {
      await open(state, async (page) => {
        await act(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${state} is ${wide} px too wide`);
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          await checkAccess(page, []);
        }
      }, { viewport: { width, height: 800 } });
    }
  });
}
