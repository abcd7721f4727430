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

/** Reads pieces of at least this many bytes, except for the last one. */
async function* pieces(stream, least) {
  const reader = stream.getReader();
  let parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length < least) continue;
    yield join(parts, length);
    [parts, length] = [[], 0];
  }
  if (length > 0) yield join(parts, length);
}

function join(parts, length) {
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

/** Reads the list once: `take(piece, isLast)` gets all of it. */
async function pass(file, list, isGzip, take, progress) {
  let read = 0;
  const count = new TransformStream({
    transform(chunk, control) {
      read += chunk.length;
      control.enqueue(chunk);
    },
  });
  let stream = file.stream().pipeThrough(count);
  if (isGzip) stream = stream.pipeThrough(new DecompressionStream('gzip'));
  // Each piece waits for the next one, to know whether it is the last.
  let held = null;
  let begun = false;
  const next = (piece, isLast) => {
    if (!begun) begin(list, piece, isLast, isGzip ? NaN : file.size);
    begun = true;
    take(piece, isLast);
    progress(file.size ? read / file.size : 1);
  };
  for await (const piece of pieces(stream, PIECE)) {
    if (held) next(held, false);
    held = piece;
  }
  next(held ?? new Uint8Array(), true);
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
  await glue.default({ module_or_path: module });
  const start = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  const compression = glue.List.compression(start);
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
  const bytes = filter.encode(keyOptions);
  return { lines, distinct: Number.isNaN(distinct) ? null : distinct, added, found, measured, info, bytes };
}

function said(name, error) {
  try {
    return faults(glue, () => { throw error; });
  } catch ({ code, about, message }) {
    const refusal = REFUSALS[code];
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
    const done = await build(data, progress);
    postMessage({ done }, [done.bytes.buffer]);
  } catch (error) {
    postMessage({ error: said(data.file.name, error) });
  }
};
