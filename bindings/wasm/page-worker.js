// The worker of the page: a list of keys becomes a filter, in three passes over its bytes, of which
// only a piece is in memory.

import * as glue from '../../target/web/raw/page/page.js';
import { faults } from './package/fault.js';
import { named } from './package/info.js';

/** Bytes that are read at once: a task of a few milliseconds. */
const PIECE = 1 << 20;
/** Bytes from which a list is judged, as by the command. */
const SAMPLE = 64 << 10;
/** The largest file that is tried as a filter. */
const MAX_FILTER = 64 << 20;
/** Absent keys that are looked up to measure the rate. */
const PROBES = 200_000;
/** As `mayhap build` records it, of a list with carriage returns that are no part of its keys. */
const CR_STRIPPED = 'crlf=strip\n';

const REFUSALS = {
  ListIsFilter: (what) => `a ${what} filter: look into it below`,
  ListIsData: (what) => what,
  ListIsText: (what) => `text in ${what}: convert it to UTF-8 first (iconv -f ${what} -t UTF-8)`,
};

const DAMAGES = {
  ListIsCut: 'the gzip data end too early: is the file complete?',
  ListIsDamaged: 'the gzip data are damaged: get the file again',
  ListIsFollowed: 'what follows the gzip data is not gzip',
};

/** What is read from a stream of chunks, copied into the reader's own buffers. */
class Copies {
  #chunks;
  #chunk = new Uint8Array();

  constructor(stream) {
    this.#chunks = stream.getReader();
  }

  cancel() {
    return this.#chunks.cancel();
  }

  async read(view) {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.read();
      if (done) return { done, value: view };
      this.#chunk = value;
    }
    const length = Math.min(view.length, this.#chunk.length);
    view.set(this.#chunk.subarray(0, length));
    this.#chunk = this.#chunk.subarray(length);
    return { done: false, value: new Uint8Array(view.buffer, view.byteOffset, length) };
  }
}

/** Reads into buffers of the caller, where the browser can: chunks become garbage by the gigabyte. */
function readerOf(stream) {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch (error) {
    if (error instanceof TypeError) return new Copies(stream);
    throw error;
  }
}

/** Fills the buffer, unless the stream ends before. */
async function fill(reader, buffer) {
  let length = 0;
  while (length < PIECE) {
    const { done, value, isStopped } = await reader.read(new Uint8Array(buffer, length, PIECE - length));
    if (isStopped) {
      [buffer, length] = [new ArrayBuffer(PIECE), 0];
      continue;
    }
    // The memory comes back in a buffer of another name.
    buffer = value.buffer;
    if (done) break;
    length += value.length;
  }
  return new Uint8Array(buffer, 0, length);
}

/** The bytes of a file, from a stream that is opened again where it comes to a stop. */
class Pieces {
  #file;
  #reader;
  /** The bytes that are read. */
  at = 0;
  /** The wait for an answer after which a stream counts as stopped; slow disks get more. */
  #patience = 4000;

  constructor(file) {
    this.#file = file;
    this.#open();
  }

  #open() {
    this.#reader = readerOf(this.#file.slice(this.at).stream());
  }

  /** As of a reader with buffers; `isStopped` if the bytes before the view have to be read again. */
  async read(view) {
    const before = view.byteOffset;
    let timer;
    const late = new Promise((done) => { timer = setTimeout(done, this.#patience); });
    const got = await Promise.race([this.#reader.read(view), late]);
    clearTimeout(timer);
    if (got) {
      this.at += got.done ? 0 : got.value.length;
      return got;
    }
    // Seen in Chromium, in one of two lists of a gigabyte: a read that is never answered.
    this.#reader.cancel().catch(() => {});
    this.#patience *= 2;
    this.at -= before;
    this.#open();
    return { isStopped: true };
  }
}

/** The bytes of a gzipped file: a piece of it is unpacked as far as there is room for its lines. */
class Unpacked {
  #pieces;
  #packed = new glue.Packed();
  #buffer = new ArrayBuffer(PIECE);

  constructor(pieces) {
    this.#pieces = pieces;
  }

  async read(view) {
    let length;
    while (Number.isNaN(length = this.#packed.read(view))) {
      const { done, value, isStopped } = await this.#pieces.read(new Uint8Array(this.#buffer));
      this.#buffer = isStopped ? new ArrayBuffer(PIECE) : value.buffer;
      if (!isStopped) this.#packed.push(done ? new Uint8Array() : value, done);
    }
    return { done: length === 0, value: view.subarray(0, length) };
  }

  free() {
    this.#packed.free();
  }
}

/** Reads the list once: `take(piece, isLast)` gets all of it, and may not keep it. */
async function pass(file, list, isGzip, take, progress) {
  const pieces = new Pieces(file);
  const reader = isGzip ? new Unpacked(pieces) : pieces;
  // Each piece waits for the next one, to know whether it is the last.
  let piece = await fill(reader, new ArrayBuffer(PIECE));
  let spare = new ArrayBuffer(PIECE);
  begin(list, piece, piece.length < PIECE, isGzip ? NaN : file.size);
  for (;;) {
    const next = await fill(reader, spare);
    const isLast = next.length === 0;
    take(piece, isLast);
    progress(file.size ? pieces.at / file.size : 1);
    if (isLast) return reader.free?.();
    spare = piece.buffer;
    piece = next;
  }
}

function begin(list, piece, isLast, totalBytes) {
  const isWhole = isLast && piece.length <= SAMPLE;
  list.begin(piece.subarray(0, SAMPLE), isWhole, totalBytes);
}

/** The rate among keys that no list has. */
function measure(list, filter) {
  const numbers = crypto.getRandomValues(new BigUint64Array(8192));
  const utf8 = new TextEncoder();
  let wrong = 0;
  for (let start = 0; start < PROBES; start += 8000) {
    const keys = Array.from({ length: 8000 }, (_, i) => `\0absent-${numbers[i]}-${start + i}\n`);
    wrong += list.find(utf8.encode(keys.join('')), false, filter);
  }
  return { wrong, probes: PROBES };
}

/** Refuses filters of other systems, as the command does: they are no text, and this page opens them. */
async function refuseFilter(file) {
  const start = new Uint8Array(await file.slice(0, SAMPLE).arrayBuffer());
  if (file.size > MAX_FILTER || !start.some((byte) => byte < 8)) return;
  let filter;
  try {
    filter = glue.Filter.open(new Uint8Array(await file.arrayBuffer()));
  } catch (fault) {
    if (!(fault instanceof glue.Fault)) throw fault;
    fault.free();
    return;
  }
  const { format } = named(filter.info(), filter.info_texts());
  filter.free();
  throw new Error(`no list of keys, but ${REFUSALS.ListIsFilter(format)}.`);
}

async function build({ module, file, fpp }, progress) {
  const { memory } = await glue.default({ module_or_path: module });
  const compression = glue.List.compression(new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  if (compression && compression !== 'gzip') {
    throw new Error(`${compression} data: unpack it first, or build with the command, which unpacks it`);
  }
  const list = new glue.List();
  await refuseFilter(file);
  const read = (part, take) =>
    pass(file, list, compression === 'gzip', take, (share) => progress((part + share) / 3));
  await read(0, (piece, isLast) => list.count(piece, isLast));
  const lines = list.lines();
  const distinct = list.distinct();
  const items = Math.max(1, Number.isNaN(distinct) ? lines : distinct);
  const filter = glue.Filter.create('', items, fpp, 0n, Infinity);
  let added = 0;
  await read(1, (piece, isLast) => { added += list.insert(piece, isLast, filter); });
  let found = 0;
  await read(2, (piece, isLast) => { found += list.find(piece, isLast, filter); });
  if (list.lines() !== lines) throw new Error('it was changed while it was read: take it again');
  const keyOptions = list.cr_lines() > 0 ? CR_STRIPPED : '';
  const measured = measure(list, filter);
  const info = named(filter.info(), filter.info_texts());
  const made = await blobOf(memory, list.write(filter, keyOptions), list.written());
  return { lines, distinct: Number.isNaN(distinct) ? null : distinct, added, found, measured, info, made };
}

/** A blob of this memory, which takes no second copy of it: the browser has each part before the next. */
async function blobOf(memory, start, length) {
  const parts = [];
  for (let at = 0; at < length; at += PIECE) {
    const part = new Blob([new Uint8Array(memory.buffer, start + at, Math.min(PIECE, length - at))]);
    await part.slice(0, 1).arrayBuffer();
    parts.push(part);
  }
  return new Blob(parts);
}

function said(name, error) {
  try {
    return faults(glue, () => { throw error; });
  } catch ({ code, about, message }) {
    const refusal = REFUSALS[code];
    if (DAMAGES[code]) return `${name}: ${DAMAGES[code]}.`;
    return `${name}: ${refusal ? `no list of keys, but ${refusal(about)}.` : message}`;
  }
}

onmessage = async ({ data }) => {
  let last = 0;
  const progress = (share) => {
    if (performance.now() - last < 50) return;
    last = performance.now();
    postMessage({ progress: share });
  };
  try {
    postMessage({ done: await build(data, progress) });
  } catch (error) {
    postMessage({ error: said(data.file.name, error) });
  }
};
