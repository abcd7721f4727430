// The npm package as bundlers take it, each as it is: three lines are bundled, and run in Chromium
// from a folder that holds nothing but the bundle.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, root, serve, visit } from '../../../web/test/browser.mjs';

const tools = `${root}target/web/tools/node_modules/.bin/`;
const folder = mkdtempSync(join(tmpdir(), 'mayhap-bundlers-'));

const PROGRAMS = {
  full: `import { load } from 'mayhap';
load().then(({ Filter }) => Filter.create({ kind: 'counting', items: 100, fpp: 1e-6 }))
  .then((filter) => { filter.insertMany(['in']); document.title = filter.containsMany(['in', 'out']); });`,
  reader: `import { load } from 'mayhap/reader';
load().then(({ Filter }) => Filter.fetch('/filter.bin'))
  .then((filter) => { document.title = filter.containsMany(['Magic key-1', 'out']); });`,
};

/** Each writes `out/main.js`, or a page, of `main.js`. */
const BUNDLERS = {
  esbuild: ['esbuild', 'main.js', '--bundle', '--format=esm', '--outfile=out/main.js', '--log-level=warning'],
  'esbuild, split': ['esbuild', 'main.js', '--bundle', '--format=esm', '--splitting', '--outdir=out',
    '--log-level=warning'],
  webpack: ['webpack', './main.js', '--mode', 'production', '-o', 'out'],
  vite: ['vite', 'build', '--outDir', 'out', '--logLevel', 'warn'],
  rollup: ['rollup', 'main.js', '--dir', 'out', '--plugin', 'node-resolve', '--failAfterWarnings', '--silent'],
  parcel: ['parcel', 'build', 'index.html', '--dist-dir', 'out', '--no-cache', '--log-level', 'warn'],
};

let browser;
let golden;
before(async () => {
  browser = await launch();
  const { load } = await import(`${root}target/web/package/node-full.js`);
  const { Filter } = await load();
  const filter = await Filter.create({ items: 100, fpp: 1e-6 });
  filter.insertMany(['Magic key-1']);
  golden = filter.encode();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const [name, [tool, ...words]] of Object.entries(BUNDLERS)) {
  for (const [entry, program] of Object.entries(PROGRAMS)) {
    test(`${name} bundles ${entry}, and the bundle runs`, { timeout: 120_000 }, async () => {
      const place = join(folder, `${name}-${entry}`.replace(/\W+/g, '-'));
      mkdirSync(join(place, 'node_modules'), { recursive: true });
      cpSync(`${root}target/web/package`, join(place, 'node_modules/mayhap'), { recursive: true });
      writeFileSync(join(place, 'package.json'), '{ "private": true, "type": "module" }');
      writeFileSync(join(place, 'main.js'), program);
      const html = '<!doctype html><title>-</title><link rel="icon" href="data:,">'
        + '<script type="module" src="./main.js"></script>';
      writeFileSync(join(place, 'index.html'), html);
      execFileSync(tools + tool, words, { cwd: place, encoding: 'utf8', stdio: 'pipe' });
      const out = join(place, 'out');
      if (!readdirSync(out).includes('index.html')) writeFileSync(join(out, 'index.html'), html);
      const server = await serve(out, {
        '/filter.bin': (_, response) => response.end(golden),
      });
      await visit(browser, `${server.url}/index.html`, async (page) => {
        await page.waitForFunction(() => document.title !== '-');
        assert.equal(await page.title(), '1,0');
      }).finally(server.close);
    });
  }
}
