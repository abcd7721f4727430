// Measures calls for one key in Node, in one process and one run: of the package, and of npm's
// `bloomfilter`. Keys a second of processor time, medians of nine rounds. Usage: node web/calls.mjs
// [PACKAGE], after bindings/wasm/build.sh.

import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const web = fileURLToPath(new URL('../target/web/', import.meta.url));
const { load } = await import(pathToFileURL(`${process.argv[2] ?? `${web}package`}/node-full.js`));
const { BloomFilter } = createRequire(`${web}tools/`)('bloomfilter');
const { Filter } = await load();

const COUNT = 200_000;
const keys = (make) => Array.from({ length: COUNT }, (_, i) => make(i));
const short = keys((i) => `user-${i * 7919}`);
const url = keys((i) => `https://example.org/path/${i}`.padEnd(40, '-'));
const cyrillic = keys((i) => `пользователь ${i}`);
const bytes = short.map((text) => new TextEncoder().encode(text));
const numbers = keys((i) => BigInt(i) * 0x9e3779b9n);

const ours = await Filter.create({ items: 1_000_000, fpp: 1e-3 });
const theirs = new BloomFilter(14_377_588, 10);
const half = short.filter((_, i) => i % 2);
ours.insertMany(half);
half.forEach((key) => theirs.add(key));

let found = 0;
const each = (all, call) => () => { for (const key of all) found += call(key) ? 1 : 0; };
const cases = {
  'contains, 6 to 15 letters': each(short, (key) => ours.contains(key)),
  'bloomfilter, test': each(short, (key) => theirs.test(key)),
  'contains, 40 letters': each(url, (key) => ours.contains(key)),
  'bloomfilter, test, 40 letters': each(url, (key) => theirs.test(key)),
  'contains, Cyrillic': each(cyrillic, (key) => ours.contains(key)),
  'contains, bytes': each(bytes, (key) => ours.contains(key)),
  'contains, bigint': each(numbers, (key) => ours.contains(key)),
  'insert, 6 to 15 letters': each(short, (key) => ours.insert(key)),
  'bloomfilter, add': each(short, (key) => theirs.add(key)),
};
const rates = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
for (let round = 0; round < 9; round += 1) {
  for (const [name, run] of Object.entries(cases)) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    rates[name].push(COUNT / (user + system));
  }
}
for (const [name, all] of Object.entries(rates)) {
  console.log(`${name.padEnd(32)} ${all.sort((a, b) => a - b)[4].toFixed(2)} M/s`);
}
console.log(`${'found'.padEnd(32)} ${found}`);
