// The module against files that others wrote, and against the library on this machine. Both builds,
// with and without vector instructions; with SHORT=1 there is only the one without.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const web = `${root}target/web/`;
const utf8 = new TextEncoder();

/** A module of its own, with its companions: `load` of the package keeps the first. */
async function fresh(name, simd) {
  const { load } = await import(`${web}package/node-${name}.js?${simd}`);
  const { bind } = await import(`${web}package/bind.js`);
  const glue = (which) => import(`${web}package/wasm/${which}.js?${name}${simd}`);
  assert.equal(typeof load, 'function');
  const companions = { foreign: await glue('foreign') };
  if (name === 'full') companions.kinds = await glue('kinds');
  const { bytesOf } = await import(`${web}package/node-bytes.js`);
  const { makePlanner } = await import(`${web}package/planner.js`);
  const more = name === 'full' ? makePlanner : undefined;
  const loaded = await bind(await glue(name), name, companions, more, bytesOf)({ simd });
  assert.equal(loaded.simd, simd);
  return loaded;
}

const modules = [];
for (const name of ['reader', 'full']) {
  for (const simd of process.env.SHORT ? [false] : [false, true]) {
    modules.push([name, simd, await fresh(name, simd)]);
  }
}
const fulls = modules.filter(([name]) => name === 'full');

const native = `${root}crates/mayhap/tests/golden/native/`;
const foreign = `${root}crates/mayhap-formats/tests/golden/`;
const count = (answers) => answers.reduce((sum, answer) => sum + answer, 0);
const oracle = (...args) =>
  execFileSync(`${web}cargo/debug/oracle`, args, { maxBuffer: 1 << 28 });

/** The keys of the golden files, by the rule of their README. */
function members(number) {
  const u64 = (key) => {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, key), true);
    return bytes;
  };
  const keys = [
    utf8.encode(''), utf8.encode('é'), Uint8Array.of(0xff, 0, 0x80), new Uint8Array(300),
    u64(-2n), u64(-(2n ** 63n)),
  ];
  for (let i = 0n; keys.length < number; i++) {
    keys.push(utf8.encode(`member-${i}`), u64(-1n - i), u64(1000003n * i));
  }
  return keys.slice(0, number);
}

const answers = readFileSync(`${native}answers.txt`, 'utf8').trim().split('\n');

for (const [name, simd, { Filter }] of modules) {
  const label = `${name}${simd ? ' with simd128' : ''}`;

  test(`${label}: files of the specification give the recorded answers`, async () => {
    assert.equal(answers.length, 7);
    for (const line of answers) {
      const [file, inserted, , recorded] = line.split(' ');
      const options = file.endsWith('sip13')
        ? { secretKey: Uint8Array.from({ length: 16 }, (_, i) => i) }
        : {};
      const filter = await Filter.open(readFileSync(`${native}${file}.mayhap`), options);
      const found = filter.containsBytes(members(Number(inserted)));
      assert.equal(count(found), Number(inserted), `${file} has a false negative`);
      const absent = Array.from({ length: 1000 }, (_, i) => `absent-${i}`);
      const maybe = filter.containsMany(absent);
      const wrong = absent.map((_, i) => i).filter((i) => maybe[i]);
      assert.equal(wrong.join(',') || '-', recorded, file);
      filter.free();
    }
  });

  test(`${label}: short files give the recorded answers, and damage is an error`, async () => {
    const short = readFileSync(`${native}answers_short.txt`, 'utf8').trim().split('\n');
    assert.equal(short.length, 4);
    for (const line of short) {
      const [file, inserted, , recorded] = line.split(' ');
      const options = file.endsWith('sip13')
        ? { secretKey: Uint8Array.from({ length: 16 }, (_, i) => i) }
        : {};
      const bytes = readFileSync(`${native}${file}.mayhap`);
      const filter = await Filter.open(bytes, options);
      const keys = Array.from({ length: Number(inserted) }, (_, i) => `member-${i}`);
      assert.equal(count(filter.containsMany(keys)), keys.length, `${file} has a false negative`);
      const absent = Array.from({ length: 1000 }, (_, i) => `absent-${i}`);
      const maybe = filter.containsMany(absent);
      assert.equal(absent.map((_, i) => i).filter((i) => maybe[i]).join(',') || '-', recorded, file);
      filter.free();
    }
    const sound = readFileSync(`${native}v5-short-standard.mayhap`);
    for (let bit = 0; bit < sound.length * 8; bit++) {
      const damaged = Uint8Array.from(sound);
      damaged[bit >> 3] ^= 1 << (bit & 7);
      await assert.rejects(Filter.open(damaged), { name: 'MayhapError' }, `bit ${bit}`);
    }
    for (let length = 0; length < sound.length; length++) {
      await assert.rejects(Filter.open(sound.subarray(0, length)), undefined, `${length} bytes`);
    }
    const longer = new Uint8Array(5000);
    longer.set(sound);
    await assert.rejects(Filter.open(longer), { code: 'HeaderDamaged' });
  });

  test(`${label}: numbers are eight bytes, and texts of any script are UTF-8`, async () => {
    const filter = await Filter.open(readFileSync(`${native}v1-blocked-k8.mayhap`));
    const numbers = BigUint64Array.from({ length: 140 }, (_, i) => BigInt.asUintN(64, -1n - BigInt(i)));
    assert.equal(count(filter.containsU64(numbers)), 140);
    assert.equal(filter.contains(numbers[3]), true);
    assert.deepEqual([...filter.containsMany(['member-0', 'é', '', 'absent-0'])], [1, 1, 1, 0]);
    assert.deepEqual(
      [...filter.containsMany(['\ud83d', '\ude00'])],
      [...filter.containsMany(['\ufffd', '\ufffd'])],
      'two halves of a pair are two keys',
    );
    assert.equal(filter.containsMany([]).length, 0);
  });

  test(`${label}: filters of other systems answer as those do`, async () => {
    for (const [file, format] of [
      ['dcso/dcso_a.bloom', 'dcso'],
      ['guava/string_utf8_mitz64.bin', 'guava'],
      ['guava/string_utf8_mitz32.bin', 'guava'],
    ]) {
      const filter = await Filter.open(readFileSync(foreign + file));
      const { format: found, estimatedFpp } = filter.info();
      assert.equal(found, format);
      assert.ok(estimatedFpp > 0 && estimatedFpp < 0.02, `${file}: ${estimatedFpp}`);
      check(filter, JSON.parse(readFileSync(foreign + file.replace(/\.\w+$/, '.json'), 'utf8')), file);
    }
  });

  test(`${label}: RedisBloom’s chunks and Parquet’s bit sets, as files have them`, async () => {
    for (const [name, format, bytes] of [
      ['redisbloom/rb_default', 'redisbloom', redisBloomFile('redisbloom/rb_default')],
      ['parquet/sbbf_bytes', 'parquet', parquetFile('parquet/sbbf_bytes')],
    ]) {
      const filter = await Filter.open(bytes);
      assert.equal(filter.info().format, format);
      check(filter, JSON.parse(readFileSync(`${foreign}${name}.json`, 'utf8')), name);
    }
  });

  test(`${label}: a compressed file is unpacked by the platform`, async () => {
    const file = `${foreign}dcso/dcso_c_gz.bloom.gz`;
    const filter = await Filter.fromStream(new Blob([readFileSync(file)]).stream());
    check(filter, JSON.parse(readFileSync(`${foreign}dcso/dcso_c_gz.json`, 'utf8')), file);
  });

  test(`${label}: incomplete and damaged files are refused with structured errors`, async () => {
    const bytes = readFileSync(`${native}v1-standard.mayhap`);
    const damaged = Uint8Array.from(bytes);
    damaged[4096 + 3] ^= 1;
    for (const [wrong, code] of [
      [new Uint8Array(0), 'NotAFilter'],
      [utf8.encode('hello, world'), 'NotAFilter'],
      [bytes.subarray(0, bytes.length - 1), 'WrongLength'],
      [damaged, 'PageDamaged'],
      [readFileSync(`${native}v1-standard-sip13.mayhap`), 'WrongKey'],
    ]) {
      await assert.rejects(Filter.open(wrong), { name: 'MayhapError', code });
    }
  });
}

/** Header and bits of `BF.SCANDUMP` as the file of chunks: magic, then cursor, length and bytes. */
function redisBloomFile(name) {
  const header = readFileSync(`${foreign}${name}.header`);
  const bits = readFileSync(`${foreign}${name}.bits`);
  const chunk = (cursor, bytes) => {
    const head = Buffer.alloc(16);
    head.writeBigInt64LE(BigInt(cursor), 0);
    head.writeBigUInt64LE(BigInt(bytes.length), 8);
    return Buffer.concat([head, bytes]);
  };
  const magic = Buffer.from('RedisBloom dump\n');
  // A cursor is 1 and the bits so far; each layer has chunks of its own.
  const chunks = [chunk(1, header)];
  const layers = header.readUInt32LE(8);
  let done = 0;
  for (let layer = 0; layer < layers; layer += 1) {
    const size = Number(header.readBigUInt64LE(20 + layer * ((header.length - 20) / layers)));
    chunks.push(chunk(1 + done + size, bits.subarray(done, done + size)));
    done += size;
  }
  assert.equal(done, bits.length);
  return Buffer.concat([magic, ...chunks]);
}

/** A bit set with the header of Parquet before it: Thrift's compact protocol. */
function parquetFile(name) {
  const bits = readFileSync(`${foreign}${name}.bin`);
  const varint = [];
  for (let rest = bits.length * 2; ; rest >>= 7) {
    varint.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  const end = '1c1c00001c1c00001c1c000000';
  return Buffer.concat([Buffer.of(0x15, ...varint), Buffer.from(end, 'hex'), bits]);
}

/** All members are found, and exactly the absent keys that the other system found. */
function check(filter, truth, file) {
  const keys = ({ prefix, suffix = '', from, count: number }) =>
    Array.from({ length: number }, (_, i) => `${prefix}${from + i}${suffix}`);
  // Half of a surrogate pair is `?` to Java and U+FFFD to the web: those texts are not comparable.
  const listed = (truth.members_explicit ?? [])
    .map((member) => (typeof member === 'string' ? member : member.key.text))
    .filter((text) => typeof text === 'string' && text === Buffer.from(text).toString());
  const members = [...listed, ...keys(truth.members_rule)];
  assert.ok(members.length > 100, `${members.length} members`);
  assert.equal(count(filter.containsMany(members)), members.length, `${file}: a false negative`);
  const maybe = filter.containsMany(keys(truth.probes_rule));
  const wrong = Array.from(maybe.keys()).filter((i) => maybe[i]);
  const recorded = truth.probes_rule_check_true_at ?? truth.probes_rule_might_contain_true_at
    ?? truth.probes_rule_contains_true_at;
  assert.ok(recorded.length > 10);
  assert.deepEqual(wrong, recorded, file);
}

/** The bits of a double, in hexadecimal digits. */
function bits(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number ?? NaN);
  return view.getBigUint64(0).toString(16).padStart(16, '0');
}

function double(hex) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}

test('20,000 texts are the numbers that the command reads them as', () => {
  const [[, , { parseCount, parseBytes, parseFpp }]] = fulls;
  const lines = oracle('numbers', '20', '20000').toString().split('\n').slice(0, -1);
  assert.equal(lines.length, 20000);
  const valid = [0, 0, 0];
  for (const line of lines) {
    const [text, ...expected] = line.split('\t');
    const found = [parseCount, parseBytes, parseFpp].map((parse) => bits(parse(text)));
    assert.deepEqual(found, expected, JSON.stringify(text));
    found.forEach((number, i) => { valid[i] += number !== bits(NaN); });
  }
  assert.ok(valid.every((count) => count > 400), `${valid} are numbers`);
});

test('a companion is fetched when a file needs it, and once', async () => {
  const { bind } = await import(`${web}package/bind.js`);
  const glue = (which) => import(`${web}package/wasm/${which}.js?fetched`);
  const bytes = (which) => readFileSync(`${web}package/wasm/${which}.wasm`);
  const started = [];
  const watched = async (which) => {
    const real = await glue(which);
    return { ...real, default: (options) => { started.push(which); return real.default(options); } };
  };
  const { Filter } = await bind(await watched('full'), 'full', {
    foreign: await watched('foreign'), kinds: await watched('kinds'),
  }, undefined, bytes)({ simd: false, module: bytes('full'), companions: { foreign: bytes('foreign') } });
  const plain = await Filter.create({ items: 100, fpp: 0.01 });
  await Filter.open(plain.encode());
  assert.deepEqual(started, ['full']);
  const open = () => Filter.open(readFileSync(`${foreign}guava/string_utf8_mitz64.bin`));
  const both = await Promise.all([open(), open()]);
  assert.ok(both.every((filter) => filter instanceof Filter && filter.info().format === 'guava'));
  assert.deepEqual(started, ['full', 'foreign']);
  await Filter.create({ kind: 'scalable', items: 100, fpp: 0.01 });
  await Filter.open(readFileSync(`${native}v2-counting4.mayhap`));
  assert.deepEqual(started, ['full', 'foreign', 'kinds']);
});

for (const [, simd, { Filter, plan }] of fulls) {
  const label = `full${simd ? ' with simd128' : ''}`;

  test(`${label}: files are those of the library, byte for byte`, async () => {
    const keys = Array.from({ length: 3000 }, (_, i) => `key-${i}`);
    for (const kind of ['standard', 'blocked', 'blocked128', 'blocked64', 'counting', 'scalable']) {
      const filter = await Filter.create({ kind, items: 2500, fpp: 0.004, seed: 42 });
      assert.ok(count(filter.insertMany(keys)) > 2900, kind);
      assert.equal(count(filter.containsMany(keys)), keys.length, kind);
      const file = filter.encode();
      assert.deepEqual(Buffer.from(file), oracle('file', kind, '2500', '0.004', '3000'), kind);
      assert.deepEqual((await Filter.open(file)).encode(), file);
      filter.free();
    }
  });

  test(`${label}: 1,000 random plans have the numbers and words of the library`, () => {
    const lines = oracle('plans', '20', '1000').toString().trim().split('\n');
    assert.equal(lines.length, 1000);
    let planned = 0;
    const said = new Set();
    for (const line of lines) {
      const [known, ...why] = line.split('\t');
      const [items, fpp, maxBytes, sets, flags, ...expected] = known.split(' ');
      const or = (text, read) => (text === '-' ? null : read(text));
      const [remove, forget, frozen, unknownItems] = Array.from(flags, (flag) => flag === '1');
      const needs = { items: or(items, Number), fpp: or(fpp, double), maxBytes: or(maxBytes, Number),
        sets: Number(sets), delete: remove, forget, frozen, unknownItems };
      let found;
      try {
        const { candidates, unfit } = plan(needs);
        found = candidates.map((c) =>
          [c.kind, c.numBits, c.numHashes, c.numBytes, bits(c.expectedFpp), bits(c.fppAt2x),
            bits(c.fppAt10x)].join(':'));
        assert.deepEqual([...candidates.filter(({ isBest }) => !isBest), ...unfit]
          .map((c) => `${c.kind} ${c.why}`), why, known);
        candidates.forEach(({ isBest }, i) => assert.equal(isBest && i > 0, false));
      } catch (error) {
        if (error.name !== 'MayhapError') throw error;
        found = ['refused'];
      }
      assert.deepEqual(found, expected, line);
      planned += found.length > 1;
      why.forEach((text) => said.add(text.replace(/^\S+|[\d.e-]+/g, '')));
    }
    assert.ok(planned > 500, `${planned} of 1000 have candidates`);
    assert.ok(said.size >= 10, `only ${[...said]}`);
  });

  test(`${label}: a union has the keys of both, and unlike filters are refused`, async () => {
    const make = (items) => Filter.create({ kind: 'blocked', items, fpp: 0.01 });
    const [left, right, other] = await Promise.all([1000, 1000, 2000].map(make));
    left.insertMany(['left']);
    right.insertMany(['right']);
    assert.equal(left.contains('right'), false);
    left.union(right);
    assert.deepEqual([left.contains('left'), left.contains('right')], [true, true]);
    assert.throws(() => left.union(other), { code: 'Incompatible', about: 'num_bits' });
    const counting = await Filter.create({ kind: 'counting', items: 1000, fpp: 0.01 });
    assert.throws(() => left.union(counting), { code: 'Incompatible', about: 'kind' });
    assert.equal(left.contains('other'), false);
  });

  test(`${label}: sizes beyond a 32-bit memory are refused, and the module still works`, async () => {
    for (const items of [1e9, 1e10, 1e12]) {
      await assert.rejects(Filter.create({ items, fpp: 1e-6 }), { code: 'OutOfMemory' });
    }
    const limited = { items: 1e6, fpp: 0.01, maxBytes: 1000 };
    await assert.rejects(Filter.create(limited), { code: 'TooLarge', bound: 1000 });
    assert.equal((await Filter.create({ items: 10, fpp: 0.01 })).contains('a'), false);
  });

  test(`${label}: windows, fuse filters, matrices and growing filters are opened`, async () => {
    const window = await Filter.open(readFileSync(`${native}v2-window-keys-1.mayhap`));
    assert.equal(window.info().kind, 'window');
    const counting = await Filter.open(readFileSync(`${native}v2-counting4.mayhap`));
    assert.equal(counting.info().kind, 'counting');
    assert.equal(counting.contains('member-499'), true);
    const compact = Filter.open(readFileSync(`${native}v3-compact.mayhap`));
    const message = /a compact filter is not opened in the browser/;
    await assert.rejects(compact, { code: 'WrongKind', about: 'compact', message });
  });
}
