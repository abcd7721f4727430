// The class `Filter`: keys cross into a module in batches.

import { faults, MayhapError } from './fault.js';
import { named } from './info.js';

/** Keys at once: their digests and answers stay in a near cache. */
const BATCH = 1 << 11;
const utf8 = new TextEncoder();

/** The kinds that `create` takes. */
const CREATED = ['', 'standard', 'blocked', 'blocked128', 'blocked64', 'counting', 'scalable'];

/** Lengths of the texts of a batch, before there is room for them in the module. */
const textLengths = new Uint32Array(BATCH);

/** Bytes of a stream from which a file of ours is known to be damaged, or how long it is. */
const HEADER_BYTES = 4096;

/** Whether bytes begin like gzip. */
const isGzip = (bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Also of another window or realm. */
const isBytes = (value) => ArrayBuffer.isView(value) && value[Symbol.toStringTag] === 'Uint8Array';

/** An error about a value of a type that is not taken. */
function wrong(taken, value) {
  const name = value === null ? 'null' : value?.constructor?.name ?? typeof value;
  return new TypeError(`${taken}, not ${/^[AEIOU]/i.test(name) ? 'an' : 'a'} ${name}`);
}

function needs(is, taken, value) {
  if (!is) throw wrong(taken, value);
}

/** The bytes of a stream, unpacked while they come; `look` refuses it by its first bytes. */
async function bytesOf(stream, look) {
  const reader = stream.getReader();
  const parts = [];
  let length = 0;
  let isLooked = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      needs(isBytes(value), 'a stream of Uint8Arrays is read', value);
      parts.push(value);
      length += value.length;
      if (!isLooked && isGzip(joined(parts, length))) {
        reader.releaseLock();
        return bytesOf(restOf(parts, stream).pipeThrough(new DecompressionStream('gzip')), look);
      }
      if (!isLooked && length >= HEADER_BYTES) {
        await look(joined(parts, length).subarray(0, HEADER_BYTES));
        isLooked = true;
      }
    }
  } catch (error) {
    // What is refused need not arrive.
    reader.cancel(error).catch(() => {});
    throw error;
  }
  return joined(parts, length);
}

/** A stream that begins with what was read of it. */
function restOf(parts, stream) {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(control) {
      const value = parts.shift();
      if (value) return control.enqueue(value);
      const next = await reader.read();
      return next.done ? control.close() : control.enqueue(next.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function joined(parts, length) {
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

const view = ({ wasm }, Type, start, length) => new Type(wasm.memory.buffer, start >>> 0, length);

/**
 * Writes the texts from `start` to `end` into the module: encoded by one call if they are ASCII,
 * else one by one. A text that is put together by `+=` is flattened where it is encoded, which
 * takes half the time of `join`.
 */
function writeTexts(module, inner, keys, start, end) {
  let joined = '';
  for (let i = start; i < end; i += 1) {
    if (typeof keys[i] !== 'string') throw wrong('a key here is a string', keys[i]);
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
  for (let i = start; i < end; i += 1) {
    if (!isBytes(keys[i])) throw wrong('a key here is a Uint8Array', keys[i]);
    total += keys[i].length;
  }
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
      needs(isBytes(bytes), 'open takes the bytes of a file as a Uint8Array', bytes);
      needs(secretKey === undefined || isBytes(secretKey), 'a secret key is a Uint8Array', secretKey);
      const module = await reading(bytes);
      const { glue } = module;
      return new Filter(module, faults(glue, () => glue.Filter.open(bytes, secretKey)));
    }

    static async fromStream(stream, options) {
      needs(typeof stream?.getReader === 'function', 'fromStream takes a ReadableStream', stream);
      // A header that is damaged, or of another release, is known before the rest has come.
      const look = async (start) => {
        try {
          (await Filter.open(start, options)).free();
        } catch (error) {
          if (['NewerVersion', 'HeaderDamaged'].includes(error.code)) throw error;
        }
      };
      return Filter.open(await bytesOf(stream, look), options);
    }

    static async fetch(url, options) {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
      return Filter.fromStream(response.body, options);
    }

    static async create({ kind = '', items, fpp, seed = 0n, maxBytes = Infinity }) {
      needs(typeof kind === 'string', 'kind is a string', kind);
      needs(typeof items === 'number', 'items is a number', items);
      needs(typeof fpp === 'number', 'fpp is a number', fpp);
      needs(typeof maxBytes === 'number', 'maxBytes is a number', maxBytes);
      if (!CREATED.includes(kind)) {
        throw new RangeError(`the kind ${kind} is not created here: take ${CREATED.slice(1).join(', ')}`);
      }
      const seed64 = BigInt.asUintN(64, BigInt(seed));
      const module = await creating(kind);
      const { glue } = module;
      return new Filter(
        module, faults(glue, () => glue.Filter.create(kind, items, fpp, seed64, maxBytes)),
      );
    }

    contains(key) {
      if (typeof key === 'string') return this.containsMany([key])[0] === 1;
      if (typeof key === 'bigint') {
        if (BigInt.asUintN(64, key) !== key) throw new RangeError(`${key} is no integer from 0 to 2^64 - 1`);
        return this.containsU64(BigUint64Array.of(key))[0] === 1;
      }
      needs(isBytes(key), 'a key is a string, a Uint8Array or a bigint', key);
      return this.containsBytes([key])[0] === 1;
    }

    containsMany(keys) {
      needs(Array.isArray(keys), 'keys are an array of strings', keys);
      const inner = this.#live;
      return batches(this.#module, inner, keys, writeTexts, () => inner.contains_texts());
    }

    containsBytes(keys) {
      needs(Array.isArray(keys), 'keys are an array of Uint8Arrays', keys);
      const inner = this.#live;
      return batches(this.#module, inner, keys, writeBytes, () => inner.contains_texts());
    }

    containsU64(keys) {
      needs(keys?.[Symbol.toStringTag] === 'BigUint64Array', 'keys are a BigUint64Array', keys);
      const inner = this.#live;
      return batches(this.#module, inner, keys, writeNumbers, () => inner.contains_numbers());
    }

    insertMany(keys) {
      needs(Array.isArray(keys), 'keys are an array of strings', keys);
      const inner = this.#live;
      return batches(this.#module, inner, keys, writeTexts, () => inner.insert_texts());
    }

    insertBytes(keys) {
      needs(Array.isArray(keys), 'keys are an array of Uint8Arrays', keys);
      const inner = this.#live;
      return batches(this.#module, inner, keys, writeBytes, () => inner.insert_texts());
    }

    insertU64(keys) {
      needs(keys?.[Symbol.toStringTag] === 'BigUint64Array', 'keys are a BigUint64Array', keys);
      const inner = this.#live;
      return batches(this.#module, inner, keys, writeNumbers, () => inner.insert_numbers());
    }

    removeMany(keys) {
      needs(Array.isArray(keys), 'keys are an array of strings', keys);
      const inner = this.#removing;
      return batches(this.#module, inner, keys, writeTexts, () => inner.remove_texts());
    }

    removeBytes(keys) {
      needs(Array.isArray(keys), 'keys are an array of Uint8Arrays', keys);
      const inner = this.#removing;
      return batches(this.#module, inner, keys, writeBytes, () => inner.remove_texts());
    }

    removeU64(keys) {
      needs(keys?.[Symbol.toStringTag] === 'BigUint64Array', 'keys are a BigUint64Array', keys);
      // As the eight bytes that a number is, least significant first.
      return this.removeBytes(Array.from(keys, (key) => {
        const bytes = new Uint8Array(8);
        new DataView(bytes.buffer).setBigUint64(0, key, true);
        return bytes;
      }));
    }

    union(other) {
      needs(other instanceof Filter, 'a filter is united with a Filter', other);
      if (other.#module !== this.#module) {
        throw new MayhapError({ code: 'Incompatible', about: 'kind', bound: NaN, found: NaN });
      }
      faults(this.#module.glue, () => this.#live.union(other.#live));
    }

    encode(keyOptions = '') {
      return faults(this.#module.glue, () => this.#live.encode(keyOptions));
    }

    positions(key) {
      return Array.from(this.#live.positions(typeof key === 'string' ? utf8.encode(key) : key));
    }

    bits(start, length) {
      return this.#live.bits(start, length);
    }

    info() {
      const inner = this.#live;
      return named(inner.info(), inner.info_texts());
    }

    free() {
      this.#inner?.free();
      this.#inner = null;
    }

    /** The filter in the module, unless its memory was given back. */
    get #live() {
      if (!this.#inner) throw new Error('the filter was freed: open or create it again');
      return this.#inner;
    }

    /** The same, if keys can be removed from it. */
    get #removing() {
      if (this.#live.remove_texts) return this.#live;
      throw new MayhapError({ code: 'Unsupported', about: 'remove', bound: NaN, found: NaN });
    }
  };
}
