// The npm package as people use it: wrong types, streams, a second try, and bundlers.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const web = `${root}target/web/`;
const { bind } = await import(`${web}package/bind.js`);
const { Filter } = await (await import(`${web}package/node-full.js`)).load();

const made = async (options = {}) => {
  const filter = await Filter.create({ items: 100, fpp: 1e-6, ...options });
  filter.insertMany(['1', '2', '3']);
  return filter;
};

test('a key of a type that is not taken is an error, and no "surely not"', async () => {
  const filter = await made();
  const buffer = new TextEncoder().encode('1').buffer;
  for (const key of [1, null, undefined, {}, ['1'], buffer, new DataView(buffer), new Uint16Array(1), true]) {
    assert.throws(() => filter.contains(key), { name: 'TypeError', message: /string, a Uint8Array or a bigint/ });
  }
  for (const [call, taken, wrongs] of [
    ['Many', /string/, ['1', new Set(['1']), [1], ['1', 2], [new Uint8Array(1)], null]],
    ['Bytes', /Uint8Array/, [buffer, [buffer], [new Uint16Array(1)], ['abc'], new Uint8Array(3)]],
    ['U64', /BigUint64Array/, [[1n], new BigInt64Array(1), new Float64Array(1), '1']],
  ]) {
    for (const wrong of wrongs) {
      for (const verb of ['contains', 'insert']) {
        assert.throws(() => filter[verb + call](wrong), { name: 'TypeError', message: taken }, verb + call);
      }
    }
  }
  for (const number of [-1n, 2n ** 64n]) assert.throws(() => filter.contains(number), RangeError);
  assert.equal(filter.info().insertedItems, 3, 'what was refused changed nothing');
  assert.equal(filter.contains('1') && filter.contains(new TextEncoder().encode('2')), true);
  assert.equal(filter.containsBytes([Buffer.from('3')])[0], 1);
  await assert.rejects(Filter.open(filter.encode().buffer), { name: 'TypeError', message: /Uint8Array.*ArrayBuffer/ });
  await assert.rejects(Filter.create({ items: '100', fpp: 0.1 }), { name: 'TypeError', message: /items is a number/ });
  for (const kind of ['window', 'fuse', 'x']) {
    await assert.rejects(Filter.create({ kind, items: 9, fpp: 0.1 }), { message: /not created here: take standard/ });
  }
  filter.free();
  filter.free();
  assert.throws(() => filter.contains('1'), { message: /was freed/ });
});

test('single keys of any length and script are answered as in a batch', async () => {
  const filter = await Filter.create({ items: 2000, fpp: 1e-9 });
  const keys = ['', 'a', 'é', '\0', '\ud800', 'x'.repeat(127), 'x'.repeat(128), 'y'.repeat(70_000), 'ab'];
  for (let i = 0; i < 1000; i += 1) keys.push(`key-${i}`);
  filter.insertMany(keys);
  assert.deepEqual(keys.filter((key) => !filter.contains(key)), []);
  assert.deepEqual(keys.filter((key) => filter.contains(`${key}!`)), []);
  // Between longer keys, and while the memory of the module grows.
  const others = [];
  for (let i = 0; i < 20; i += 1) {
    others.push(await Filter.create({ items: 1_000_000, fpp: 0.01 }));
    assert.equal(filter.contains('y'.repeat(70_000)) && filter.contains('a') && !filter.contains('b'), true);
  }
  others.forEach((other) => other.free());
});

test('keys are removed from a counting filter, and from no other', async () => {
  const filter = await made({ kind: 'counting' });
  filter.insertU64(BigUint64Array.of(7n, 8n));
  assert.deepEqual([...filter.removeMany(['1', 'never'])], [1, 0]);
  assert.deepEqual([...filter.removeBytes([new TextEncoder().encode('2')])], [1]);
  assert.deepEqual([...filter.removeU64(BigUint64Array.of(7n))], [1]);
  assert.deepEqual([...filter.containsMany(['1', '2', '3'])], [0, 0, 1]);
  assert.deepEqual([...filter.containsU64(BigUint64Array.of(7n, 8n))], [0, 1]);
  for (const kind of ['', 'scalable']) {
    const other = await made({ kind });
    assert.throws(() => other.removeMany(['1']), { name: 'MayhapError', message: /cannot remove/ });
    assert.equal(other.contains('1'), true);
  }
});

test('a load that failed is tried again, and one with other options is refused', async () => {
  const glue = await import(`${web}package/wasm/reader.js?again`);
  let fails = 1;
  const load = bind(glue, 'reader', {}, undefined, async (name) => {
    if (fails-- > 0) throw new Error('offline');
    return readFileSync(`${web}package/wasm/${name}.wasm`);
  });
  await assert.rejects(load(), /offline/);
  const loaded = await load();
  assert.equal(await load(), loaded);
  await assert.rejects(load({ simd: 'other' }), { name: 'TypeError', message: /other options/ });
  assert.equal(await load({}), loaded);
});

/** A stream of these pieces that then waits for ever. */
const endless = (...pieces) => {
  const state = { cancelled: false };
  state.stream = new ReadableStream({
    start(control) { pieces.forEach((piece) => control.enqueue(piece)); },
    cancel() { state.cancelled = true; },
  });
  return state;
};

test('a stream that is no good is refused before it ends', { timeout: 20_000 }, async () => {
  const bytes = (await made()).encode();
  const damaged = Uint8Array.from(bytes);
  damaged[40] ^= 1;
  const newer = Uint8Array.from(bytes);
  newer[8] = 99;
  for (const wrong of [damaged, newer]) {
    for (const cut of [1, 100, 4096]) {
      const { stream, ...state } = endless(wrong.subarray(0, cut), wrong.subarray(cut, 5000));
      await assert.rejects(Filter.fromStream(stream), { name: 'MayhapError' });
      assert.ok(state);
    }
  }
  const packed = gzipSync(damaged);
  packed.fill(0xff, 20, 40);
  const bad = endless(packed);
  await assert.rejects(Filter.fromStream(bad.stream));
  await assert.rejects(Filter.fromStream(bytes), { name: 'TypeError', message: /ReadableStream/ });
});

test('a stream in pieces of any size is the filter, packed or not', async () => {
  const bytes = (await made()).encode();
  for (const whole of [bytes, gzipSync(bytes), gzipSync(gzipSync(bytes))]) {
    for (const size of [1, 3, 4095, 1 << 20]) {
      const stream = new ReadableStream({
        start(control) {
          for (let at = 0; at < whole.length; at += size) control.enqueue(new Uint8Array(whole.subarray(at, at + size)));
          control.close();
        },
      });
      const filter = await Filter.fromStream(stream);
      assert.deepEqual([...filter.containsMany(['1', '3', '4'])], [1, 1, 0]);
      filter.free();
    }
  }
});

test('it is bundled for browsers as it is, and loads in Node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayhap-bundle-'));
  try {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(`${web}package`, join(folder, 'node_modules/mayhap'));
    for (const [name, from] of [['full', 'mayhap'], ['reader', 'mayhap/reader']]) {
      writeFileSync(join(folder, `${name}.mjs`), `import { load } from '${from}';
        const { Filter } = await load();
        console.log(typeof Filter.open);`);
      const bundle = execFileSync(`${web}tools/node_modules/.bin/esbuild`,
        [`${name}.mjs`, '--bundle', '--format=esm', '--log-level=warning'], { cwd: folder, encoding: 'utf8' });
      assert.ok(!bundle.includes('node:'), `${name} imports a module of Node`);
      assert.equal(execFileSync('node', [`${name}.mjs`], { cwd: folder, encoding: 'utf8' }), 'function\n');
    }
    const described = JSON.parse(readFileSync(`${web}package/package.json`));
    for (const field of ['license', 'keywords', 'engines']) assert.ok(described[field], field);
    for (const file of ['README.md', 'LICENSE-MIT', 'LICENSE-APACHE']) {
      assert.ok(readFileSync(`${web}package/${file}`).length > 500, file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
