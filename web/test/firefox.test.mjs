// The extension in Firefox: it warns of listed pages before they are requested, leaves others alone,
// and continues on request.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root, serve } from './browser.mjs';

const web = `${root}target/web/`;
const { default: puppeteer } = createRequire(`${web}tools/`)('puppeteer-core');
const { hashOf } = await import(`${web}extension/checker.js`);
const { load } = await import(`${web}package/node-full.js`);
const { Filter } = await load();

const listed = Array.from({ length: 1000 }, (_, i) => `login-${i}.example/${i}/verify`);
const late = 'late.example/new/page';
const ALLOWED = 30;

async function fileOf(keys) {
  const filter = await Filter.create({ kind: 'standard', items: 1000, fpp: 1e-4 });
  filter.insertMany(keys);
  return filter.encode();
}

/** Paths that are never answered. */
const silent = new Set();
/** The hosts that got a request, in its order. */
const reached = [];
let server;
let folder;
let browser;
let page;
before(async () => {
  const send = (body) => (_, response) => response.end(body);
  const known = { '/base.mayhap': send(await fileOf(listed)), '/update.mayhap': send(await fileOf([late])) };
  for (const expression of [...listed, late]) {
    const hash = await hashOf(expression);
    known[`/hashes/${hash.slice(0, 8)}`] = send(hash);
  }
  const shown = (request, response) => {
    reached.push(request.headers.host.split(':')[0]);
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    const to = searchParams.get('to');
    if (pathname === '/redirect') return response.writeHead(302, { location: to }).end();
    response.writeHead(200, { 'content-type': 'text/html' });
    if (pathname === '/frame') return response.end(`<iframe src="${to}"></iframe>`);
    if (pathname === '/form') {
      return response.end(`<form method="post" action="${to}"><input name="password" value="secret"></form>`);
    }
    return response.end('<h1>page</h1>');
  };
  server = await serve(root, new Proxy(known, {
    get: (routes, path) => (silent.has(path) ? () => {} : routes[path])
      ?? (path.startsWith('/hashes/') ? send('') : shown),
  }));
  folder = mkdtempSync(join(tmpdir(), 'mayhap-firefox-'));
  cpSync(`${web}extension`, `${folder}/extension`, { recursive: true });
  writeFileSync(`${folder}/extension/config.json`, JSON.stringify({ server: server.url }));
  browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    headless: true,
    // All names resolve to this machine, and no page is prefetched.
    extraPrefsFirefox: { 'network.dns.native-is-localhost': true, 'browser.startup.page': 0 },
  });
  await browser.installExtension(`${folder}/extension`);
  page = await browser.newPage();
});
after(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const port = () => new URL(server.url).port;
const text = () => page.evaluate(() => [location.href, document.body?.innerText ?? '']);

/** Waits until the page is the warning and names the expression. */
async function warned(expression) {
  for (let i = 0; i < 200; i += 1) {
    const [url, body] = await text().catch(() => ['', '']);
    if (url.startsWith('moz-extension:') && body.includes(`It was found as ${expression}.`)) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(`no warning of ${expression}: ${await text()}`);
}

test('the extension warns in Firefox', { timeout: 120_000 }, async () => {
  // Until the list is loaded, pages wait for it.
  for (const expression of [...listed.slice(0, 20), late]) {
    const [host, ...path] = expression.split('/');
    const target = `http://user:secret@www.${host.toUpperCase()}:${port()}/x/../${path.join('/')}?a=<img src=x>#top`;
    await page.goto(target).catch(() => {}); // replaced by the warning while it loads
    await warned(expression);
    assert.equal(await page.evaluate(() => document.images.length), 0);
  }
  assert.deepEqual(reached, []);
  for (let i = 0; i < ALLOWED; i += 1) {
    await page.goto(`http://shop-${i}.test:${port()}/a/${i}`);
    assert.deepEqual(await text(), [`http://shop-${i}.test:${port()}/a/${i}`, 'page']);
  }
  const [host, ...path] = listed[0].split('/');
  const target = `http://${host}:${port()}/${path.join('/')}`;
  await page.goto(target).catch(() => {});
  await warned(listed[0]);
  await page.evaluate(() => document.querySelector('#on').click());
  for (let i = 0; i < 200 && (await text().catch(() => []))[1] !== 'page'; i += 1) {
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.deepEqual(await text(), [target, 'page']);
});

test('no redirect, frame or form reaches a listed page before the warning', { timeout: 120_000 }, async () => {
  for (const [number, path] of ['redirect', 'frame', 'form'].entries()) {
    const expression = listed[100 + number];
    const [host, ...rest] = expression.split('/');
    const target = `http://${host}:${port()}/${rest.join('/')}`;
    reached.length = 0;
    await page.goto(`http://go.test:${port()}/${path}?to=${encodeURIComponent(target)}`).catch(() => {});
    if (path === 'form') await page.evaluate(() => document.querySelector('form').submit()).catch(() => {});
    await warned(expression);
    assert.deepEqual([...new Set(reached)], ['go.test'], path);
  }
});

test('a second step that does not answer holds no page for long', { timeout: 120_000 }, async () => {
  const [host, ...rest] = listed[200].split('/');
  const hash = await hashOf(listed[200]);
  silent.add(`/hashes/${hash.slice(0, 8)}`);
  page = await browser.newPage();
  await page.goto(`http://${host}:${port()}/${rest.join('/')}`);
  assert.equal((await text())[1], 'page');
});
