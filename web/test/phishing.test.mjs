// The phishing check: its expressions, its two steps at full size, and the extension in Chromium.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkEverywhere, chromium, root, serve } from './browser.mjs';

const web = `${root}target/web/`;
const binary = process.env.MAYHAP ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;
const { expressions } = await import(`${web}extension/expressions.js`);
const { Checker, hashOf } = await import(`${web}extension/checker.js`);
const { load } = await import(`${web}package/node-full.js`);
const { Filter } = await load();

/** Numbers from a seed: the list is the same every time. */
function* random(seed) {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state;
  }
}

const LISTED = 1_000_000;
const numbers = random(20);
const listed = Array.from({ length: LISTED }, (_, i) =>
  `login-${numbers.next().value.toString(36)}.example/${i}/verify`);
const late = 'late.example/new/page';

const filterOf = async (kind, keys, fpp) => {
  const filter = await Filter.create({ kind, items: Math.max(1000, keys.length), fpp });
  filter.insertMany(keys);
  return filter;
};
const base = await filterOf('standard', listed, 1e-4);
const update = await filterOf('standard', [late], 1e-4);

/** The second step on this machine: full hashes by four bytes. */
async function secondStep(expressionsOnList) {
  const hashes = new Map();
  for (const expression of expressionsOnList) {
    const hash = await hashOf(expression);
    hashes.set(hash.slice(0, 8), [...(hashes.get(hash.slice(0, 8)) ?? []), hash]);
  }
  return hashes;
}
const some = listed.filter((_, i) => i % 1000 === 0);
const hashes = await secondStep([...some, late]);

/** Ways to write a listed URL that name the same page. */
const variants = (expression) => {
  const [host, ...path] = expression.split('/');
  return [
    `http://${expression}`,
    `https://${host.toUpperCase()}:8443/${path.join('/')}#top`,
    `http://user:secret@www.mail.${host}./x/../${path.join('/')}`,
    `http://${host}//${path.join('//')}?session=1`,
    `http://${host}/${path.join('/').replace('verify', '%2576erify')}`,
  ];
};

test('expressions are those of the rules', () => {
  assert.deepEqual(expressions('http://a.b.c/1/2.html?param=1'), [
    'a.b.c/1/2.html?param=1', 'a.b.c/1/2.html', 'a.b.c/', 'a.b.c/1/',
    'b.c/1/2.html?param=1', 'b.c/1/2.html', 'b.c/', 'b.c/1/',
  ]);
  const long = expressions('http://a.b.c.d.e.f.g/1.html').map((found) => found.split('/')[0]);
  assert.deepEqual([...new Set(long)], ['a.b.c.d.e.f.g', 'c.d.e.f.g', 'd.e.f.g', 'e.f.g', 'f.g']);
  assert.deepEqual(expressions('http://1.2.3.4/1/'), ['1.2.3.4/1/', '1.2.3.4/']);
  assert.deepEqual(expressions('http://0x7f.1/'), ['127.0.0.1/']);
  // Non-ASCII bytes are escaped once, however often they were escaped before.
  for (const path of ['é', '%C3%A9', '%c3%a9', '%25C3%25A9']) {
    assert.deepEqual(expressions(`http://a.b/${path}`), ['a.b/%C3%A9', 'a.b/'], path);
  }
  assert.deepEqual(expressions('http://a.b/%ff?%80'), ['a.b/%FF?%80', 'a.b/%FF', 'a.b/']);
  assert.deepEqual(expressions('http://host.com/%25%32%35').slice(0, 1), ['host.com/%25']);
  assert.deepEqual(expressions('http://host/a/%2e%2e/b')[0], 'host/b');
  for (const none of ['', 'about:blank', 'javascript:alert(1)', 'file:///etc/passwd', 'http://']) {
    assert.deepEqual(expressions(none), [], none);
  }
  assert.ok(expressions(`http://${'a.'.repeat(100)}b/${'c/'.repeat(100)}?q`).length <= 30);
});

/** The cases of the command: what its `--url-prefixes` lists, the check looks up. */
const cases = readFileSync(`${root}crates/mayhap-keys/src/expressions/cases.tsv`, 'utf8');

test('every URL has the form that the command gives it', async () => {
  const all = cases.trimEnd().split('\n').map((line) => line.split('\t'));
  for (const [url, expected] of all) assert.equal(expressions(url)[0] ?? '-', expected, url);
  // And is found in the filter that the command builds of it.
  const file = join(mkdtempSync(join(tmpdir(), 'mayhap-cases-')), 'listed.mayhap');
  for (const [url, expected] of all.filter(([, form]) => form !== '-')) {
    execFileSync(binary, ['build', '-q', '--force', '-o', file, '-n', '1', '-p', '1e-9', '--url-prefixes'],
      { input: `${url}\n` });
    const filter = await Filter.open(readFileSync(file));
    assert.equal(filter.containsMany(expressions(url))[0], 1, `${url} is not ${expected}`);
    filter.free();
  }
});

test('escapes are resolved in linear time, however many there are', () => {
  // Two million bytes, each escape of which becomes part of the next one.
  assert.deepEqual(expressions(`http://h/%${'25'.repeat(1_000_000)}`), ['h/%25', 'h/']);
  assert.deepEqual(expressions(`http://h/${'%25'.repeat(600_000)}`).length, 2);
  assert.deepEqual(expressions(`http://h/${'a'.repeat(3 << 20)}`), []);
});

test('a list of a million is at most 3 MB', () => {
  const bytes = base.encode().length;
  assert.ok(bytes <= 3_000_000, `${bytes} bytes`);
});

test('1,000 listed URLs and their variants are found, 10,000 others are not', async () => {
  const checker = new Checker([base, update], async (prefix) => hashes.get(prefix) ?? []);
  for (const expression of [...some, late]) {
    for (const url of variants(expression)) {
      assert.equal((await checker.check(url)).listed, true, url);
    }
  }
  const before = checker.log.maybe;
  const others = new Set();
  for (let i = 0; i < 10_000; i += 1) {
    const url = `https://news-${i}.example.org/a/${i}?x=1`;
    expressions(url).forEach((expression) => others.add(expression));
    assert.equal((await checker.check(url)).listed, false);
  }
  // Each expression is a false positive with the promised rate; within 3 sigma, and not none.
  const maybe = checker.log.maybe - before;
  const expected = others.size * 1e-4;
  assert.ok(maybe > 0 && Math.abs(maybe - expected) < 3 * Math.sqrt(expected),
    `${maybe} second steps, ${expected} expected`);
  const times = [...checker.log.milliseconds].sort((a, b) => a - b);
  console.log(`decision: median ${times[times.length >> 1].toFixed(3)} ms`);
});

test('answers of the server are kept, the newest 4,096 of them', async () => {
  const everything = { containsMany: (keys) => new Uint8Array(keys.length).fill(1) };
  const checker = new Checker([everything], async () => []);
  const requests = async (url) => {
    const before = checker.log.requests;
    await checker.check(url);
    return checker.log.requests - before;
  };
  const url = (i) => `http://h${i}.example/`;
  const each = await requests(url(0));
  assert.equal(each, expressions(url(0)).length);
  assert.equal(await requests(url(0)), 0, 'kept');
  for (let i = 1; i <= 4096; i += 1) await requests(url(i));
  assert.ok(await requests(url(0)) > 0, 'kept for ever');
});

test('a server that fails blocks nothing', async () => {
  const checker = new Checker([base], async () => { throw new Error('down'); });
  assert.deepEqual(await checker.check(`http://${some[0]}`), { listed: false, undecided: true });
});

/** Listed pages that the browser is sent to, and as many others; if these are more than 20, each in
 * all its variants, and ten times as many others. */
const NAVIGATED = Number(process.env.NAVIGATED ?? 20);

/** A parameter that distinguishes navigations. */
const mark = (number) => `n=${String(number).padStart(6, '0')}`;
const marked = (url, number) => {
  const [page, fragment] = url.split('#');
  return `${page}${page.includes('?') ? '&' : '?'}${mark(number)}${fragment ? `#${fragment}` : ''}`;
};

/** Waits until the page is the warning of this navigation. */
async function warned(page, number) {
  for (let i = 0; i < 2000; i += 1) {
    const { protocol, hash } = new URL(page.url());
    const url = new URLSearchParams(hash.slice(1)).get('url');
    if (protocol === 'chrome-extension:' && url?.includes(mark(number))) return;
    await new Promise((done) => setTimeout(done, 5));
  }
  assert.fail(`no warning: ${page.url()}`);
}

/** What the server of lists has at the moment. */
const served = { update: update.encode() };
/** Milliseconds that its full hashes take. */
let hashesTake = 0;
let context;
let server;
let folder;
before(async () => {
  const send = (bytes) => (_, response) => response.end(bytes);
  const routes = { '/base.mayhap': send(base.encode()),
    '/update.mayhap': (_, response) => response.end(served.update) };
  routes['/redirect'] = (request, response) => response
    .writeHead(302, { location: new URL(request.url, 'http://x').searchParams.get('to') }).end();
  routes['/frame'] = (request, response) => response.writeHead(200, { 'content-type': 'text/html' })
    .end(`<iframe src="${new URL(request.url, 'http://x').searchParams.get('to')}"></iframe>`);
  for (const [prefix, all] of hashes) {
    routes[`/hashes/${prefix}`] = (_, response) => setTimeout(() => response.end(all.join('\n')), hashesTake);
  }
  server = await serve(root, new Proxy(routes, {
    get: (known, path) => known[path]
      ?? (path.startsWith('/hashes/') ? send(served[path.slice('/hashes/'.length)] ?? '') : path.includes('/verify') || path.startsWith('/page')
        ? (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>page</h1>')
        : undefined),
  }));
  folder = mkdtempSync(join(tmpdir(), 'mayhap-extension-'));
  cpSync(`${web}extension`, `${folder}/extension`, { recursive: true });
  writeFileSync(`${folder}/extension/config.json`, JSON.stringify({ server: server.url }));
  context = await chromium.launchPersistentContext(`${folder}/profile`, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    ignoreDefaultArgs: ['--disable-extensions'],
    args: ['--no-sandbox', '--headless=new',
      '--disable-features=DisableLoadExtensionCommandLineSwitch',
      '--host-resolver-rules=MAP *.example 127.0.0.1,MAP *.test 127.0.0.1',
      `--disable-extensions-except=${folder}/extension`, `--load-extension=${folder}/extension`],
  });
});
after(async () => {
  await context?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the extension warns of a listed page, lets others be, and goes on if asked', async () => {
  const worker = context.serviceWorkers()[0] ?? await context.waitForEvent('serviceworker');
  for (let loaded = false; !loaded;) loaded = await worker.evaluate(() => Boolean(globalThis.checker));
  const port = new URL(server.url).port;
  const page = await context.newPage();
  await page.goto(`http://other.test:${port}/page/1`);
  assert.equal(await page.textContent('h1'), 'page');
  let marks = 0;
  for (const expression of some.slice(0, NAVIGATED)) {
    const [host, ...path] = expression.split('/');
    const target = `http://www.${host}:${port}/${path.join('/')}?x=<img src=x onerror=alert(1)>`;
    for (const url of NAVIGATED > 20 ? [target, ...variants(expression)] : [target]) {
      await page.goto(marked(url, ++marks)).catch(() => {}); // replaced by the warning while it loads
      await warned(page, marks);
      await page.locator('#expression', { hasText: expression }).waitFor();
      assert.equal(await page.locator('img').count(), 0);
    }
  }
  for (let i = 0; i < (NAVIGATED > 20 ? 10 : 1) * NAVIGATED; i += 1) {
    await page.goto(`http://shop-${i}.test:${port}/page/${i}`);
    assert.equal(page.url(), `http://shop-${i}.test:${port}/page/${i}`);
  }
  await page.goto(`http://${some[0].replace('/', `:${port}/`)}`).catch(() => {});
  await page.locator('#expression', { hasText: some[0] }).waitFor();
  await checkEverywhere(page, 'the warning');
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}warning.png` });
  await page.click('#on');
  // The warning has the address in its own.
  await page.waitForURL(({ protocol }) => protocol === 'http:');
  assert.equal(await page.textContent('h1'), 'page');
  // In the same worker all of them, and 10,000 others.
  const urls = [...some, late].flatMap(variants);
  const count = (all) => worker.evaluate(async (list) => {
    let found = 0;
    for (const url of list) found += (await checker.check(url)).listed;
    // The log keeps the newest.
    const times = checker.log.milliseconds.slice(-list.length).sort((a, b) => a - b);
    return { found, median: times[times.length >> 1] };
  }, all);
  const listedUrls = await count(urls);
  assert.equal(listedUrls.found, urls.length);
  const others = Array.from({ length: 10_000 }, (_, i) => `https://shop-${i}.test/a/${i}?b=${i}`);
  assert.equal((await count(others)).found, 0);
  console.log(`in the extension: ${urls.length} listed URLs, decision: median `
    + `${listedUrls.median.toFixed(3)} ms`);
  const { log, bytes } = await worker.evaluate(() => ({ log: checker.log, bytes }));
  assert.ok(log.listed >= NAVIGATED && log.requests >= NAVIGATED, JSON.stringify(log));
  assert.ok(bytes.base > 2_000_000 && bytes.update < 20_000 && bytes.prefixes > 0);
});

test('a redirect to a listed page is warned of, and a frame with one; "Go back" goes back once', async () => {
  const port = new URL(server.url).port;
  const page = await context.newPage();
  const listedAt = (number) => marked(`http://${some[number].replace('/', `:${port}/`)}`, 900_000 + number);
  const mail = `http://mail.test:${port}/page/mail`;
  // The page around a frame has loaded completely where the list takes its time.
  for (const [path, number, takes] of [['redirect', 1, 0], ['frame', 2, 0], ['redirect', 3, 0], ['frame', 4, 700]]) {
    hashesTake = takes;
    await page.goto(`http://first.test:${port}/page/first`);
    await page.goto(mail);
    // Until the extension knows the page as the one to go back to.
    const worker = context.serviceWorkers()[0];
    for (let known = false; !known;) {
      known = await worker.evaluate(async (url) =>
        Object.values(await chrome.storage.session.get(null)).includes(url), mail);
    }
    const target = `http://go.test:${port}/${path}?to=${encodeURIComponent(listedAt(number))}`;
    await page.goto(target).catch(() => {}); // replaced by the warning while it loads
    await warned(page, 900_000 + number);
    await page.click('#back');
    await page.waitForURL(mail);
  }
  hashesTake = 0;
});

test('an address within another one is the same page, and a page of escapes holds nothing up', async () => {
  const port = new URL(server.url).port;
  const worker = context.serviceWorkers()[0];
  const expression = '127.0.0.1/page/mapped';
  update.insertMany([expression]);
  served.update = update.encode();
  const hash = await hashOf(expression);
  served[hash.slice(0, 8)] = hash;
  await worker.evaluate(() => refresh());
  const page = await context.newPage();
  for (const [i, host] of ['127.0.0.1', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '0x7f.1'].entries()) {
    // 300 kB, each escape of which becomes a part of the next one; the server takes no such URL.
    await page.goto(`http://shop.test:${port}/%${'25'.repeat(150_000)}`).catch(() => {});
    await page.goto(marked(`http://${host}:${port}/page/mapped`, 800_000 + i)).catch(() => {});
    await warned(page, 800_000 + i);
    await page.locator('#expression', { hasText: expression }).waitFor();
  }
});

test('the lists and what the user goes on to outlive the worker', async () => {
  const worker = context.serviceWorkers()[0];
  const kept = await worker.evaluate(async () => ({
    lists: (await (await caches.open('lists')).keys()).map(({ url }) => new URL(url).pathname),
    allowed: (await chrome.storage.session.get('allowed')).allowed,
  }));
  assert.deepEqual(kept.lists.sort(), ['/base.mayhap', '/update.mayhap']);
  assert.ok(kept.allowed.some((url) => url.includes(some[0].split('/')[1])), kept.allowed.join());
});

test('an update is taken while the worker lives', async () => {
  const worker = context.serviceWorkers()[0];
  const url = `http://${new Date().getFullYear()}-just-now.example/page`;
  const [expression] = expressions(url);
  const check = () => worker.evaluate((of) => checker.check(of), url);
  assert.equal((await check()).listed, false);
  const hash = await hashOf(expression);
  update.insertMany([expression]);
  served.update = update.encode();
  served[hash.slice(0, 8)] = hash;
  await worker.evaluate(() => refresh());
  assert.equal((await check()).listed, true);
});
