// The types of the package: `tsc --strict` knows no browser here, and refuses what the package does.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../../../target/web/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mayhap-types-'));

before(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(`${web}package`, join(folder, 'node_modules/mayhap'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Every call of the package, which runs in Node too. */
const PROGRAM = `
import { load, MayhapError, type ByteStream, type Candidate, type Filter, type Info } from 'mayhap';
import { load as loadReader } from 'mayhap/reader';

const { Filter: Filters, plan, parseCount, parseBytes, parseFpp, simd, ...rates } = await load({});
const filter: Filter = await Filters.create({ kind: 'counting', items: 100, fpp: 1e-6, seed: 1n, maxBytes: 1e6 });
const bytes = Uint8Array.of(1);
const numbers = BigUint64Array.of(1n);
const alone: boolean[] = [filter.insert('a'), filter.contains(bytes), filter.remove(1n)];
const many: Uint8Array[] = [
  filter.insertMany(['a']), filter.insertBytes([bytes]), filter.insertU64(numbers),
  filter.containsMany(['a']), filter.containsBytes([bytes]), filter.containsU64(numbers),
  filter.removeMany(['a']), filter.removeBytes([bytes]), filter.removeU64(numbers),
];
filter.union(await Filters.open(filter.encode('')));
const info: Info = filter.info();
const share: number | null = info.fillRatio;
const positions: number[] = filter.positions('a');
const bits: Uint8Array = filter.bits(0, 8);
const best: Candidate | undefined = plan({ items: 1000, fpp: null, maxBytes: 1e6, curve: [1] }).candidates[0];
const sizes: number[] = [parseCount('1k'), parseBytes('1KiB'), parseFpp('1%'), rates.textbookFpp(1000, 3, 100),
  rates.expectedFpp('blocked', 512, 4, 100), rates.numHashesFor(1000, 100), rates.hashSetBytes(1, 8),
  rates.costOf(0.1, 1, 2, 0.5).withFilter];
const stream: ByteStream = { getReader: () => ({ read: async () => ({ done: true }) }) };
const { Filter: Readers } = await loadReader({ simd });
const reason: string = await Readers.fromStream(stream).then(() => '', (error: unknown) =>
  error instanceof MayhapError ? error.code : 'none');
filter.free();
export const done = [alone, many, share, positions, bits, best, sizes, reason];
`;

/** What is a TypeError in JavaScript: no line of it compiles. */
const WRONG = `
import { load } from 'mayhap';
import { load as loadReader } from 'mayhap/reader';
const { Filter } = await load();
const filter = await Filter.create({ items: 100, fpp: 0.1 });
const reader = await (await loadReader()).Filter.open(filter.encode());
`;
const CALLS = [
  'filter.contains(1)', 'filter.contains(null)', "filter.contains(['a'])", 'filter.contains(new ArrayBuffer(1))',
  'filter.contains(new Uint16Array(1))', "filter.contains(new Set(['a']))", 'filter.insert(1)',
  'filter.insert(new Uint16Array(1))', 'filter.remove(1)', "filter.containsMany(new Set(['a']))",
  "filter.containsMany('a')", 'filter.containsMany([1])', 'filter.containsBytes([new Uint16Array(1)])',
  'filter.containsBytes([new ArrayBuffer(1)])', 'filter.containsBytes(new Uint8Array(1))', 'filter.containsU64([1n])',
  'filter.containsU64(new BigInt64Array(1))', 'filter.positions(1)', 'filter.encode(1)', 'filter.bits("0", 1)',
  'filter.union(reader)', 'Filter.open(new ArrayBuffer(1))', 'Filter.open(new Uint8Array(1), { secretKey: "k" })',
  'Filter.fromStream(new Uint8Array(1))', 'Filter.create({ items: "100", fpp: 0.1 })',
  'Filter.create({ items: 100, fpp: 0.1, seed: "1" })', 'Filter.create({ items: 100n, fpp: 0.1 })',
  "reader.insertMany(['a'])",
];

/** The lines that the compiler complains about, in words. */
function complaints(name, program, ...options) {
  writeFileSync(join(folder, name), program);
  const { stdout } = spawnSync(process.execPath, [`${web}tools/node_modules/typescript/bin/tsc`, '--strict',
    '--noEmit', '--target', 'es2022', ...options, name], { cwd: folder, encoding: 'utf8' });
  return stdout;
}

const WITHOUT_BROWSER = ['--lib', 'es2022', '--module', 'nodenext'];

test('the types are whole without those of the browser', { timeout: 300_000 }, () => {
  assert.equal(complaints('program.mts', PROGRAM, ...WITHOUT_BROWSER), '');
  const bundled = ['--lib', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'];
  assert.equal(complaints('program.mts', PROGRAM, ...bundled), '');
});

test('what the types allow runs', () => {
  execFileSync(`${web}tools/node_modules/.bin/esbuild`,
    ['program.mts', '--outfile=program.mjs', '--log-level=warning'], { cwd: folder });
  const script = "import { done } from './program.mjs'; console.log(JSON.stringify(done.flat(2).length > 20))";
  const ran = execFileSync('node', ['--input-type=module', '-e', script], { cwd: folder, encoding: 'utf8' });
  assert.equal(ran, 'true\n');
});

test('streams and addresses of the browser are taken', { timeout: 300_000 }, () => {
  const program = `
import { load } from 'mayhap/reader';
const { Filter } = await load({ module: fetch('/reader.wasm') });
export const opened = [await Filter.fromStream(new Blob([]).stream()), await Filter.fetch(new URL('https://a/')),
  await Filter.fromStream((await fetch('/a')).body!), await Filter.fetch('/b')];
`;
  assert.equal(complaints('browser.mts', program, '--lib', 'es2022,dom', '--module', 'nodenext'), '');
});

test('no wrong type compiles', { timeout: 300_000 }, () => {
  const first = WRONG.split('\n').length;
  const said = complaints('wrong.mts', WRONG + CALLS.map((call) => `void ${call};\n`).join(''), ...WITHOUT_BROWSER);
  const lines = new Set(Array.from(said.matchAll(/^wrong\.mts\((\d+),\d+\): error/gm), ([, line]) => Number(line)));
  assert.deepEqual(CALLS.filter((_, i) => !lines.has(first + i)), []);
  assert.equal(lines.size, CALLS.length, said);
});
