// The class `Filter`: keys cross into a module in batches.

import { faults, MayhapError } from './fault.js';
import { named } from './info.js';

/** Keys at once: their digests and answers stay in a near cache. */
const BATCH = 1 << 11;
const utf8 = new TextEncoder();

/** Lengths of the texts of a batch, before there is room for them in the module. */
const textLengths = new Uint32Array(BATCH);

/** Whether bytes begin like gzip. */
const isGzip = (bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b;

const unpacked = (stream) => stream.pipeThrough(new DecompressionStream('gzip'));

const view = ({ wasm }, Type, start, length) => new Type(wasm.memory.buffer, start >>> 0, length);

/**
 * Writes the texts from `start` to `end` into the module: encoded by one call if they are ASCII,
 * else one by one. A text that is put together by `+=` is flattened where it is encoded, which
 * takes half the time of `join`.
 */
function writeTexts(module, inner, keys, start, end) {
  let joined = '';
  for (let i = start; i < end; i += 1) {
    joined += keys[i];
    textLengths[i - start] = keys[i].length;
  }
  const units = joined.length;
  inner.text_room(units, end - start);
  const { read, written } = utf8.encodeInto(joined, view(module, Uint8Array, inner.texts(), units));
  // As many bytes as code units: each is one byte, and so the lengths are the texts' own.
  if (read === units && written === units) {
    view(module, Uint32Array, inner.lengths(), end - start).set(textLengths.subarray(0, end - start));
  } else {
    const encoded = keys.slice(start, end).map((key) => utf8.encode(key));
    writeBytes(module, inner, encoded, 0, encoded.length);
  }
}

function writeBytes(module, inner, keys, start, end) {
  let total = 0;
  for (let i = start; i < end; i += 1) total += keys[i].length;
  inner.text_room(total, end - start);
  const lengths = view(module, Uint32Array, inner.lengths(), end - start);
  const bytes = view(module, Uint8Array, inner.texts(), total);
  let place = 0;
  for (let i = start; i < end; i += 1) {
    bytes.set(keys[i], place);
    place += keys[i].length;
    lengths[i - start] = keys[i].length;
  }
}

function writeNumbers(module, inner, keys, start, end) {
  inner.number_room(end - start);
  view(module, BigUint64Array, inner.numbers(), end - start).set(keys.subarray(start, end));
}

/** Answers for keys that `write` brings in, by the method `call` of the module. */
function batches(module, inner, keys, write, call) {
  const answers = new Uint8Array(keys.length);
  for (let start = 0; start < keys.length; start += BATCH) {
    const end = Math.min(start + BATCH, keys.length);
    write(module, inner, keys, start, end);
    answers.set(view(module, Uint8Array, faults(module.glue, call), end - start), start);
  }
  return answers;
}

/**
 * The class. `reading(bytes)` and `creating(kind)` are promises of the module for a file and for a
 * new filter: its JavaScript, `glue`, and its exports, `wasm`.
 */
export function makeFilter(reading, creating) {
  return class Filter {
    #module;
    #inner;

    constructor(module, inner) {
      this.#module = module;
      this.#inner = inner;
    }

    static async open(bytes, { secretKey } = {}) {
      const module = await reading(bytes);
      const { glue } = module;
      return new Filter(module, faults(glue, () => glue.Filter.open(bytes, secretKey)));
    }

    static async fromStream(stream, options) {
      const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
      if (!isGzip(bytes)) return Filter.open(bytes, options);
      return Filter.fromStream(unpacked(new Blob([bytes]).stream()), options);
    }

    static async fetch(url, options) {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
      return Filter.fromStream(response.body, options);
    }

    static async create({ kind = '', items, fpp, seed = 0n, maxBytes = Infinity }) {
      const seed64 = BigInt.asUintN(64, BigInt(seed));
      const module = await creating(kind);
      const { glue } = module;
      return new Filter(
        module, faults(glue, () => glue.Filter.create(kind, items, fpp, seed64, maxBytes)),
      );
    }

    contains(key) {
      if (typeof key === 'bigint') return this.containsU64(BigUint64Array.of(key))[0] === 1;
      return (typeof key === 'string' ? this.containsMany([key]) : this.containsBytes([key]))[0] === 1;
    }

    containsMany(keys) {
      const inner = this.#inner;
      return batches(this.#module, inner, keys, writeTexts, () => inner.contains_texts());
    }

    containsBytes(keys) {
      const inner = this.#inner;
      return batches(this.#module, inner, keys, writeBytes, () => inner.contains_texts());
    }

    containsU64(keys) {
      const inner = this.#inner;
      return batches(this.#module, inner, keys, writeNumbers, () => inner.contains_numbers());
    }

    insertMany(keys) {
      const inner = this.#inner;
      return batches(this.#module, inner, keys, writeTexts, () => inner.insert_texts());
    }

    insertBytes(keys) {
      const inner = this.#inner;
      return batches(this.#module, inner, keys, writeBytes, () => inner.insert_texts());
    }

    insertU64(keys) {
      const inner = this.#inner;
      return batches(this.#module, inner, keys, writeNumbers, () => inner.insert_numbers());
    }

    union(other) {
      if (other.#module !== this.#module) {
        throw new MayhapError({ code: 'Incompatible', about: 'kind', bound: NaN, found: NaN });
      }
      faults(this.#module.glue, () => this.#inner.union(other.#inner));
    }

    encode(keyOptions = '') {
      return faults(this.#module.glue, () => this.#inner.encode(keyOptions));
    }

    positions(key) {
      return Array.from(this.#inner.positions(typeof key === 'string' ? utf8.encode(key) : key));
    }

    bits(start, length) {
      return this.#inner.bits(start, length);
    }

    info() {
      return named(this.#inner.info(), this.#inner.info_texts());
    }

    free() {
      this.#inner.free();
    }
  };
}
