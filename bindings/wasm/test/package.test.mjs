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
  const wrongs = [1, null, undefined, {}, ['1'], new Set(['1']), buffer, new DataView(buffer), new Uint16Array(1),
    new Uint8ClampedArray(1), Symbol('1'), () => '1', true, -1n, 2n ** 64n];
  for (const key of wrongs) {
    for (const verb of ['contains', 'insert']) {
      const message = /string, a Uint8Array or a bigint from 0 to 2\^64 - 1/;
      assert.throws(() => filter[verb](key), { name: 'TypeError', message }, `${verb} ${String(key)}`);
    }
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
  const number = { name: 'TypeError', message: /a bigint from 0 to 2\^64 - 1, not the BigInt -1$/ };
  assert.throws(() => filter.contains(-1n), number);
  for (const wrong of [1, null, buffer, new Uint16Array(1)]) {
    assert.throws(() => filter.positions(wrong), { name: 'TypeError', message: /a string or a Uint8Array/ });
    assert.throws(() => filter.encode(wrong), { name: 'TypeError', message: /key options are a string/ });
    assert.throws(() => filter.union(wrong), { name: 'TypeError', message: /with a Filter/ });
  }
  assert.throws(() => filter.bits('0', 8), { name: 'TypeError', message: /start is a number/ });
  assert.equal(filter.info().insertedItems, 3, 'what was refused changed nothing');
  assert.equal(filter.contains('1') && filter.contains(new TextEncoder().encode('2')), true);
  assert.equal(filter.containsBytes([Buffer.from('3')])[0], 1);
  await assert.rejects(Filter.open(filter.encode().buffer), { name: 'TypeError', message: /Uint8Array.*ArrayBuffer/ });
  await assert.rejects(Filter.create({ items: '100', fpp: 0.1 }), { name: 'TypeError', message: /items is a number/ });
  for (const seed of [-1, 0.5, '1', 2n ** 64n, -1n, 2 ** 53]) {
    await assert.rejects(made({ seed }), { name: 'TypeError', message: /seed is an integer from 0 to 2\^64 - 1/ });
  }
  assert.equal((await made({ seed: 2n ** 64n - 1n })).info().seed, 'f'.repeat(16));
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
  assert.equal(filter.insert('new') && filter.insert('z'.repeat(300)), true);
  assert.equal(filter.insert('new') || filter.insert('z'.repeat(300)), false);
  // Between longer keys, and while the memory of the module grows.
  const others = [];
  for (let i = 0; i < 20; i += 1) {
    others.push(await Filter.create({ items: 1_000_000, fpp: 0.01 }));
    assert.equal(filter.contains('y'.repeat(70_000)) && filter.contains('a') && !filter.contains('b'), true);
  }
  others.forEach((other) => other.free());
});

/** Numbers by a fixed seed: the generator of Lehmer. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

test('20,000 random keys alone leave the bits and give the answers that a batch does', async () => {
  const next = random(7);
  const unit = () => [next(0x80), next(0x800), 0xd800 + next(0x800), next(0x10000)][next(4)];
  const ascii = () => next(0x80);
  const forms = { string: 0, bytes: 0, bigint: 0 };
  for (const kind of ['blocked', 'standard', 'counting', 'scalable']) {
    const [alone, batch] = await Promise.all([1, 2].map(() => Filter.create({ kind, items: 4000, fpp: 0.01 })));
    for (let i = 0; i < 5000; i += 1) {
      // Around the borders of the loop and of the room, too.
      const length = next(10) ? next(40) : next(600);
      const of = next(2) ? unit : ascii;
      const form = ['string', 'bytes', 'bigint'][next(3)];
      forms[form] += 1;
      let [key, call, keys] = [];
      if (form === 'string') {
        key = String.fromCharCode(...Array.from({ length }, of));
        [call, keys] = ['Many', [key]];
      } else if (form === 'bytes') {
        key = Uint8Array.from({ length }, () => next(256));
        [call, keys] = ['Bytes', [key]];
      } else {
        key = BigInt.asUintN(64, BigInt(next(2 ** 31)) * BigInt(next(2 ** 31)) * 7n);
        [call, keys] = ['U64', BigUint64Array.of(key)];
      }
      assert.equal(alone.contains(key), batch[`contains${call}`](keys)[0] === 1, `${kind} ${String(key)}`);
      assert.equal(alone.insert(key), batch[`insert${call}`](keys)[0] === 1, `${kind} ${String(key)}`);
      assert.equal(alone.contains(key), true, `${kind} ${String(key)}`);
      if (kind === 'counting' && next(3) === 0) {
        assert.equal(alone.remove(key), batch[`remove${call}`](keys)[0] === 1);
      }
    }
    assert.deepEqual(alone.encode(), batch.encode(), kind);
  }
  assert.ok(Object.values(forms).every((count) => count > 5000), JSON.stringify(forms));
});

test('a text alone has the bytes that TextEncoder gives it', async () => {
  const filter = await Filter.create({ items: 100_000, fpp: 1e-9 });
  const texts = [];
  for (const letter of ['a', '\x7f', '\x80', 'é', '\u07ff', '\u0800', '€', '\uffff', '😀', '\ud83d', '\ude00']) {
    for (const length of [0, 1, 2, 63, 64, 65, 127, 128, 255, 256, 257]) {
      for (const end of ['', 'b', '\ud83d', '\ude00']) texts.push(letter.repeat(length) + end);
    }
  }
  texts.forEach((text) => filter.insert(text));
  const encoded = texts.map((text) => new TextEncoder().encode(text));
  assert.deepEqual(texts.filter((_, i) => !filter.contains(encoded[i])), []);
  assert.equal(filter.containsBytes(encoded).indexOf(0), -1);
});

test('a filter of another system says what it cannot do', async () => {
  const golden = `${root}crates/mayhap-formats/tests/golden/guava/string_utf8_mitz64.bin`;
  const { Filter: Reader } = await (await import(`${web}package/node-reader.js`)).load();
  for (const Class of [Filter, Reader]) {
    const filter = await Class.open(readFileSync(golden));
    for (const [about, call] of [
      ['insert', () => filter.insert('a')], ['insert', () => filter.insertMany(['a'])],
      ['insert', () => filter.insertU64(BigUint64Array.of(1n))], ['remove', () => filter.remove('a')],
      ['remove', () => filter.removeBytes([new Uint8Array(1)])], ['union', () => filter.union(filter)],
      ['encode', () => filter.encode()], ['positions', () => filter.positions('a')], ['bits', () => filter.bits(0, 1)],
    ]) {
      assert.throws(call, { name: 'MayhapError', code: 'Unsupported', about }, about);
    }
    filter.free();
  }
});

test('a union with itself changes nothing', async () => {
  const filter = await made();
  const before = filter.encode();
  filter.union(filter);
  assert.deepEqual(filter.encode(), before);
  filter.free();
  assert.throws(() => filter.union(filter), { message: /was freed/ });
});

test('a key that a filter refuses changes nothing, alone or in a batch', async () => {
  const filter = await Filter.create({ kind: 'scalable', items: 64, fpp: 0.01, maxBytes: 4096 });
  const refused = { name: 'MayhapError', code: 'TooLarge' };
  let last = 0;
  assert.throws(() => { for (; last < 100_000; last += 1) filter.insert(`key-${last}`); }, refused);
  const before = filter.encode();
  assert.throws(() => filter.insert(`key-${last}`), refused);
  assert.throws(() => filter.insertMany([`key-${last}`]), refused);
  assert.throws(() => filter.insert('x'.repeat(1000)), refused);
  assert.deepEqual(filter.encode(), before);
  assert.equal(filter.contains('key-0') && filter.contains(`key-${last - 1}`), true);
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
    for (const field of ['license', 'homepage', 'repository', 'keywords', 'engines']) assert.ok(described[field], field);
    for (const file of ['README.md', 'LICENSE-MIT', 'LICENSE-APACHE']) {
      assert.ok(readFileSync(`${web}package/${file}`).length > 500, file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
