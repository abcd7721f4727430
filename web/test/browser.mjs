// Shared parts of the tests of the pages: a browser, a page that reports its own errors, axe.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const require = createRequire(`${root}target/web/tools/`);
export const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** A Chromium of the system; tests run as root in containers, where it has no sandbox. */
export const launch = (options = {}) => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
  ...options,
});

/** Fails with the page's logged or thrown errors. */
export function watch(page) {
  const problems = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  return () => assert.deepEqual(problems, []);
}

/** Opens a page; `use` has it until it ends, without errors and without dialogs. */
export async function visit(browser, url, use, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const check = watch(page);
  page.on('dialog', (dialog) => assert.fail(`a dialog: ${dialog.message()}`));
  await page.goto(url);
  await use(page);
  check();
  await context.close();
}

/** No finding of axe-core, but for those of these impacts. */
export async function checkAccess(page, forgiven = ['minor', 'moderate']) {
  if (!await page.evaluate(() => Boolean(globalThis.axe))) await page.evaluate(axe);
  // The policy of the page forbids axe to fetch its style sheets again.
  const { violations, passes } = await page.evaluate(() => axe.run({ preload: false }));
  assert.ok(passes.length > 10, `axe ran ${passes.length} rules`);
  const serious = violations.filter(({ impact }) => !forgiven.includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
}

/** Neither sideways scrolling nor any finding of axe-core: at each width, in light and in the dark. */
export async function checkEverywhere(page, name) {
  for (const width of [360, 768, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await checkAccess(page, []);
    }
  }
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
  '.wasm': 'application/wasm', '.json': 'application/json' };

/** Serves a folder on loopback; `routes` are paths with handlers of their own. */
export async function serve(folder, routes = {}) {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    if (routes[path]) return routes[path](request, response);
    try {
      const body = readFileSync(join(folder, normalize(path)));
      response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
      return response.end(body);
    } catch {
      response.writeHead(404);
      return response.end();
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
