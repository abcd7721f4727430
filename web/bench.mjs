// Measures the package in Chromium, in one page and one run: keys a second of a 10 MB filter, and
// of npm's bloom-filters one key at a time, and the time from loading to the first answer. Usage:
// node web/bench.mjs, after web/test.sh. Prints medians of seven rounds.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { launch, root, serve } from './test/browser.mjs';

const tools = `${root}target/web/tools/`;
// It takes the `Buffer` of Node for granted.
writeFileSync(`${tools}buffer.js`, "import { Buffer } from 'buffer/'; globalThis.Buffer = Buffer;");
execFileSync(`${tools}node_modules/.bin/esbuild`, ['--bundle', '--format=iife',
  '--global-name=peer', '--define:global=globalThis', `--outfile=${root}target/web/peer.js`,
  '--log-level=error'], { cwd: tools, 
  input: "import './buffer.js'; export { BloomFilter } from 'bloom-filters'" });

const html = '<!doctype html><title>bench</title><script src="peer.js"></script>';
const server = await serve(`${root}target/web`, {
  '/bench.html': (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html),
});
const browser = await launch();
const page = await browser.newPage();
page.on('pageerror', (error) => console.error(error.message));
await page.goto(`${server.url}/bench.html`);

const result = await page.evaluate(async () => {
  const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
  const rate = (count, run) => {
    const rounds = Array.from({ length: 7 }, () => {
      const start = performance.now();
      run();
      return count / (performance.now() - start) / 1000;
    });
    return median(rounds);
  };
  const figures = {};
  const start = performance.now();
  const reader = await (await import('./package/reader.js')).load();
  figures['reader loaded, ms'] = performance.now() - start;
  const { Filter, simd } = await (await import('./package/full.js')).load();
  figures.simd = simd;
  const n = 500_000;
  const texts = Array.from({ length: n }, (_, i) => `https://example.org/path/${i}`.padEnd(40, '-'));
  const numbers = BigUint64Array.from({ length: n }, (_, i) => BigInt(i) * 0x9e3779b97f4a7c15n);
  const filter = await Filter.create({ kind: 'blocked', items: 5_000_000, fpp: 1e-3 });
  filter.insertMany(texts);
  filter.insertU64(numbers);
  const file = filter.encode();
  const opening = performance.now();
  const opened = await reader.Filter.open(file);
  opened.contains('first');
  figures['10 MB opened and queried, ms'] = performance.now() - opening;
  figures['containsMany, 40 bytes, M/s'] = rate(n, () => opened.containsMany(texts));
  figures['containsMany, full, M/s'] = rate(n, () => filter.containsMany(texts));
  figures['containsU64, M/s'] = rate(n, () => opened.containsU64(numbers));
  figures['contains, one by one, M/s'] = rate(20_000, () => {
    for (let i = 0; i < 20_000; i += 1) opened.contains(texts[i]);
  });
  const theirs = peer.BloomFilter.create(100_000, 0.001);
  for (let i = 0; i < 2_000; i += 1) theirs.add(texts[i]);
  figures['bloom-filters, has, M/s'] = rate(2_000, () => {
    for (let i = 0; i < 2_000; i += 1) theirs.has(texts[i]);
  });
  return figures;
});
for (const [name, value] of Object.entries(result)) {
  console.log(`${name.padEnd(34)} ${typeof value === 'number' ? value.toPrecision(3) : value}`);
}
console.log(`${'browser'.padEnd(34)} Chromium ${browser.version()}`);
await browser.close();
server.close();
