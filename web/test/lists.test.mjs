// The list panel of the explorer: a list in every form becomes the filter that the command builds
// of it, or is refused by name.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { checkAccess, launch, root, visit } from './browser.mjs';

const url = pathToFileURL(`${root}target/web/explorer/index.html`).href;
const binary = process.env.MAYHAP ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;
const folder = mkdtempSync(join(tmpdir(), 'mayhap-lists-'));

let browser;
before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = (use, options) => visit(browser, `${url}#n=1000&p=1%25`, async (page) => {
  await page.waitForSelector('html[data-ready]');
  await use(page);
}, options);

/** Gives the page a list, and waits for its answer. */
async function take(page, name, bytes) {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  await choose(page, 'list', path);
  await page.locator('#list-result a, #list-result .problem').waitFor();
  return path;
}

async function download(page) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('#list-result a')]);
  return readFileSync(await file.path());
}

const latin = Buffer.from('caf\xe9\nna\xefve\ncaf\xe8\n', 'latin1');
const gbk = Buffer.from([0xc4, 0xe3, 0xba, 0xc3, 10, 0xca, 0xc0, 0xbd, 0xe7, 10, 0xb0, 0xa1, 10]);
const cp1251 = Buffer.from([0xcf, 0xf0, 0xe8, 10, 0xec, 0xe8, 0xf0, 10, 0xec, 0xe8, 0xf1, 10]);
const LISTS = {
  'latin-1': latin,
  gbk,
  cp1251,
  'mixed ends': 'a\r\nb\nc\r\r\nd\re\n\r\n\n\rf\r',
  mark: '\ufeffone\r\ntwo\n',
  'no end': 'one\ntwo',
  'empty lines': '\n\none\n\n',
  NULs: 'a\0b\nc\0d\n',
  'a long line': `${'x'.repeat(3 << 20)}\ny\n`,
  'many pieces': Array.from({ length: 200_000 }, (_, i) => `https://example.org/${i % 150_000}\r\n`).join(''),
};

/** Chooses a file as a person does, for whom the same one again is another choice. */
async function choose(page, name, file) {
  await page.setInputFiles(`[name=${name}]`, []);
  await page.setInputFiles(`[name=${name}]`, file);
}

test('a list in any encoding is the filter that the command builds of it', () => open(async (page) => {
  for (const [name, list] of Object.entries(LISTS)) {
    const path = await take(page, name, list);
    const ours = await download(page);
    const theirs = join(folder, 'theirs.mayhap');
    // The command estimates the size of long lists.
    const items = name === 'many pieces' ? ['-n', '150000'] : [];
    execFileSync(binary, ['build', '-q', '--force', '-o', theirs, '-p', '0.01', ...items, path]);
    assert.deepEqual(ours, readFileSync(theirs), name);
    assert.match(await page.textContent('#list-result'), /Found againall of them/, name);
  }
}));

test('a list is unpacked as it is read', () => open(async (page) => {
  await take(page, 'plain', latin);
  const plain = await download(page);
  await take(page, 'list.gz', gzipSync(latin));
  assert.deepEqual(await download(page), plain);
  const packed = gzipSync(latin);
  for (const [name, bytes] of [
    ['two.gz', Buffer.concat([gzipSync(latin.subarray(0, 9)), gzipSync(latin.subarray(9))])],
    ['zeros.gz', Buffer.concat([packed, Buffer.alloc(512)])],
  ]) {
    await take(page, name, bytes);
    assert.deepEqual(await download(page), plain, name);
  }
  const wrong = Buffer.from(packed);
  wrong[wrong.length - 8] ^= 1;
  for (const [name, bytes, said] of [
    ['cut.gz', packed.subarray(0, -1), /cut\.gz: the gzip data end too early/],
    ['wrong.gz', wrong, /wrong\.gz: the gzip data are damaged/],
    ['more.gz', Buffer.concat([packed, Buffer.from('more')]), /more\.gz: what follows the gzip data/],
  ]) {
    const path = await take(page, name, bytes);
    assert.match(await page.textContent('#list-result .problem'), said, name);
    assert.equal(await page.locator('#list-result a').count(), 0, name);
    const { status } = spawnSync(binary, ['build', '-o', join(folder, 'refused'), path]);
    assert.equal(status, 2, name);
  }
}));

const REFUSED = {
  'wide.txt': [Buffer.from('\ufeffone\ntwo\n', 'utf16le'), /text in UTF-16/],
  'wide.gz': [gzipSync(Buffer.from('one-key\ntwo-keys\n', 'utf16le')), /text in UTF-16LE/],
  'image.png': [Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\n', 'latin1'), /a PNG image/],
  'list.zip': [Buffer.from('PK\x03\x04\x14\0\0\0\n', 'latin1'), /a zip archive/],
  'list.zst': [Buffer.from('\x28\xb5\x2f\xfd\x04\0', 'latin1'), /zstd data: unpack it first/],
  'twice.gz': [gzipSync(gzipSync('one\n')), /gzip data, compressed twice/],
  'a.bloom': [readFileSync(`${root}crates/mayhap-formats/tests/golden/guava/string_utf8_mitz64.bin`),
    /a guava filter: look into it below/],
  empty: ['', /has no lines/],
};

test('other data is refused by its name, and by the command too', () => open(async (page) => {
  for (const [name, [bytes, said]] of Object.entries(REFUSED)) {
    const path = await take(page, name, bytes);
    assert.match(await page.textContent('#list-result .problem'), said, name);
    assert.equal(await page.locator('#list-result a').count(), 0, name);
    if (['empty', 'list.zst'].includes(name)) continue;
    const { status } = spawnSync(binary, ['build', '-o', join(folder, 'refused'), path]);
    assert.equal(status, 2, name);
  }
  await checkAccess(page);
}));

test('a list beyond the longest string is read in pieces, with progress', () =>
  open(async (page) => {
    // Sparse: 600 MiB of NULs that no disk holds, behind two lines.
    const path = join(folder, 'huge');
    writeFileSync(path, `one\ntwo\n${'filler\n'.repeat(10_000)}`);
    execFileSync('truncate', ['-s', '600M', path]);
    await choose(page, 'list', path);
    await page.waitForFunction(() => document.querySelector('#list-result progress')?.value > 0.005);
    // Its last line is longer than any of a list: refused, where it was empty once.
    await page.locator('#list-result .problem', { hasText: 'line is' }).waitFor();
    assert.match(await page.textContent('#list-result .problem'), /above|limit is 67108864/);
    assert.equal(await page.locator('#list-result a').count(), 0);
  }));

test('a list is read until it is cancelled', () => open(async (page) => {
  // Long enough for a click while it is read.
  const path = join(folder, 'long');
  const lines = 'filler\n'.repeat(10_000_000);
  for (let part = 0; part < 5; part++) appendFileSync(path, lines);
  await choose(page, 'list', path);
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.match(await page.textContent('#list-result'), /long: cancelled/);
  assert.equal(await page.locator('#list-result a').count(), 0);
}));

/** Megabytes of the largest process of pages, shared memory by its share. */
function pageMegabytes() {
  const sizes = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('--type=renderer')) return 0;
      return Number(/^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))[1]) / 1024;
    } catch {
      return 0; // It has ended.
    }
  });
  return Math.max(...sizes);
}

/** Gives the page a list, and waits for its end; returns the megabytes of its process at most. */
async function mostMegabytes(page, path) {
  await choose(page, 'list', path);
  let most = 0;
  while (await page.locator('#list-result progress').count()) {
    most = Math.max(most, pageMegabytes());
    await page.waitForTimeout(100);
  }
  return most;
}

const LENGTHS = {
  'a list of a gigabyte': (path) => path,
  'a gzipped list of a gigabyte': (path) => {
    execFileSync('gzip', ['-1f', path]);
    return `${path}.gz`;
  },
};

for (const [name, pack] of Object.entries(LENGTHS)) {
  test(`${name} takes 256 MB with the page, and never holds the page up`, () => open(async (page) => {
    const path = join(folder, 'gigabyte');
    const list = openSync(path, 'w');
    for (let i = 0; i < 100; i += 1) {
      writeSync(list, Array.from({ length: 264_000 }, (_, j) =>
        `https://example.org/path/${String(i * 264_000 + j).padStart(12, '0')}\n`).join(''));
    }
    closeSync(list);
    await page.fill('[name=p]', '0.1%');
    await page.evaluate(() => {
      window.tasks = [];
      new PerformanceObserver((seen) => tasks.push(...seen.getEntries().map(({ duration }) => duration)))
        .observe({ entryTypes: ['longtask'] });
    });
    const most = await mostMegabytes(page, pack(path));
    const text = await page.textContent('#list-result');
    assert.match(text, /Lines26,400,000Distinctabout 26,\d{3},\d{3}Found againall of them.*blocked, 49\.49 MiB/);
    assert.ok(most > 100 && most <= 256, `${most} MB`);
    const tasks = await page.evaluate('tasks');
    assert.deepEqual(tasks.filter((duration) => duration > 100), []);
  }));
}

test('a list whose stream comes to a stop is read on, each line once', () => open(async (page) => {
  // In the worker two reads are never answered.
  await page.evaluate(() => {
    const stop = () => {
      const { read } = ReadableStreamBYOBReader.prototype;
      let reads = 0;
      let stops = 0;
      ReadableStreamBYOBReader.prototype.read = function never(view) {
        reads += 1;
        // Four reads a piece, the second or the last of which is stopped.
        const part = new Uint8Array(view.buffer, view.byteOffset, Math.min(view.length, 300_000));
        if (stops === 2 || reads % 10 !== 0) return read.call(this, part);
        stops += 1;
        postMessage({ progress: 0, stops });
        return new Promise(() => {});
      };
    };
    globalThis.mayhap = { ...mayhap, worker: `(${stop})();\n${mayhap.worker}` };
    const { Worker } = globalThis;
    globalThis.stops = 0;
    globalThis.Worker = class extends Worker {
      constructor(source) {
        super(source);
        this.addEventListener('message', ({ data }) => { if (data.stops) globalThis.stops = data.stops; });
      }
    };
  });
  for (const [name, pack] of [['plain', (bytes) => bytes], ['packed.gz', gzipSync]]) {
    const path = join(folder, `stopped-${name}`);
    const lines = Array.from({ length: 300_000 }, (_, i) => `https://example.org/${i * 7_919}\n`).join('');
    writeFileSync(path, pack(Buffer.from(lines)));
    await choose(page, 'list', path);
    await page.locator('#list-result dd').first().waitFor({ timeout: 60_000 });
    assert.match(await page.textContent('#list-result'), /Lines300,000Distinct.*300,\d{3}Found againall of them/);
    if (name === 'plain') assert.equal(await page.evaluate('stops'), 2);
  }
}));

test('keys are looked up in the form that the file records, or it cannot say', () => open(async (page) => {
  const list = join(folder, 'words');
  writeFileSync(list, ' Pass Word \n');
  const answer = async (options, key) => {
    const file = join(folder, 'formed.mayhap');
    execFileSync(binary, ['build', '-q', '--force', '-o', file, '-n', '1000', '-p', '1e-9', ...options, list]);
    await choose(page, 'file', file);
    assert.equal(await page.inputValue('[name=file]'), 'C:\\fakepath\\formed.mayhap');
    await page.locator('#file-result', { hasText: options[0]?.slice(2) ?? 'blocked' }).waitFor();
    await page.fill('[name=keys]', key);
    await page.click('#ask button');
    await page.locator('#ask-result dd').waitFor();
    return page.textContent('#ask-result dd');
  };
  for (const options of [['--sha1'], ['--trim'], ['--lower'], ['--upper'], ['--trim', '--lower', '--sha1']]) {
    assert.equal(await answer(options, ' Pass Word '), 'maybe', options.join(' '));
    assert.equal(await answer(options, ' other '), 'surely not', options.join(' '));
  }
  for (const options of [['--fold'], ['--fold', '--sha1']]) {
    assert.match(await answer(options, ' Pass Word '), /^cannot say: .*fold=unicode/);
  }
  writeFileSync(list, 'c3a9\n');
  assert.equal(await answer(['--hex'], 'C3A9'), 'maybe');
  assert.match(await answer(['--hex'], 'c3a'), /^cannot say: it is not hex digits/);
}));

test('red is a file with more keys than it was made for, and none that is just full', () => open(async (page) => {
  const file = join(folder, 'full.mayhap');
  const state = async (name, buffer) => {
    await choose(page, 'file', { name, mimeType: '', buffer });
    await page.locator('#file-result', { hasText: name }).waitFor();
    return page.locator('#file-result span').last().getAttribute('class');
  };
  for (let i = 0; i < 20; i += 1) {
    const n = 200 + 97 * i;
    const input = Array.from({ length: n }, (_, j) => `key-${i}-${j}\n`).join('');
    const layout = ['blocked', 'standard', 'counting'][i % 3];
    execFileSync(binary, ['build', '-q', '--force', '-o', file, '-n', n, '-p', '1%', '--layout', layout], { input });
    assert.equal(await state(`full-${i}`, readFileSync(file)), 'ok', `${n} keys, ${layout}`);
  }
  execFileSync(binary, ['create', '-q', '--force', file, '-n', '1000', '-p', '1%']);
  const input = Array.from({ length: 1500 }, (_, i) => `key-${i}\n`).join('');
  execFileSync(binary, ['add', '-q', '--overfill', file], { input, stdio: ['pipe', 'pipe', 'ignore'] });
  assert.equal(await state('beyond', readFileSync(file)), 'over');
  // No rate is recorded in it that it could keep or break.
  const guava = `${root}crates/mayhap-formats/tests/golden/guava/string_utf8_mitz64.bin`;
  assert.equal(await state('guava', readFileSync(guava)), '');
}));

test('a file that only the command opens leads to it', () => open(async (page) => {
  const golden = `${root}crates/mayhap-formats/tests/golden/`;
  const native = `${root}crates/mayhap/tests/golden/native/`;
  const said = async (path) => {
    await page.evaluate("page.byId('file-result').replaceChildren()");
    await choose(page, 'file', path);
    await page.locator('#file-result > *').first().waitFor();
    return page.locator('#file-result').innerText();
  };
  for (const path of ['spark/df_stat_v1_i.bin', 'bits-and-blooms/bb_a.bin'].map((name) => golden + name)) {
    assert.match(await said(path), /no filter of mayhap.*\s+.*mayhap info FILE.*mayhap convert/, path);
    assert.match(execFileSync(binary, ['info', path], { encoding: 'utf8' }), /format +\S/, path);
  }
  assert.match(await said(`${native}v1-standard-sip13.mayhap`), /secret key.*\s+.*mayhap check --key-file KEY FILE/);
  assert.match(await said(`${native}v3-segment-0.mayhap`), /segment kind.*\s+.*mayhap info FILE/);
  assert.match(await said(`${golden}guava/bytes_mitz32.bin`), /Made for\s+not recorded\s+Holds about\s+309 keys/);
  assert.match(await said(`${native}v3-matrix.mayhap`), /Holds about\s+not recorded\s/);
}));
