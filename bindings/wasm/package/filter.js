// The class `Filter`: keys cross into a module in batches, or alone if they are short.

import { faults, MayhapError } from './fault.js';
import { named } from './info.js';
import { BATCH, Room } from './room.js';

const utf8 = new TextEncoder();

/** The kinds that `create` takes. */
const CREATED = ['', 'standard', 'blocked', 'blocked128', 'blocked64', 'counting', 'scalable'];

/** Bytes of a stream from which a file of ours is known to be damaged, or how long it is. */
const HEADER_BYTES = 4096;

/** Whether bytes begin like gzip. */
const isGzip = (bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Also of another window or realm. */
const isBytes = (value) => ArrayBuffer.isView(value) && value[Symbol.toStringTag] === 'Uint8Array';

/** An error about a value of a type that is not taken. */
function wrong(taken, value) {
  const isNumber = ['number', 'bigint'].includes(typeof value);
  const name = value === null ? 'null' : value?.constructor?.name ?? typeof value;
  if (isNumber) return new TypeError(`${taken}, not the ${name} ${value}`);
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

const ALONE = 'a key is a string, a Uint8Array or a bigint from 0 to 2^64 - 1';

/** Checks of the keys of batches. */
const text = (key) => { if (typeof key !== 'string') throw wrong('a key here is a string', key); };
const bytes = (key) => { if (!isBytes(key)) throw wrong('a key here is a Uint8Array', key); };

/**
 * The class. `reading(bytes)` and `creating(kind)` are promises of the module for a file and for a
 * new filter: its JavaScript, `glue`, and its exports, `wasm`.
 */
export function makeFilter(reading, creating) {
  return class Filter {
    #module;
    #inner;
    #room;

    constructor(module, inner) {
      this.#module = module;
      this.#inner = inner;
      this.#room = new Room(module, inner);
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
      const isWhole = typeof seed === 'bigint' || Number.isSafeInteger(seed);
      needs(isWhole && BigInt.asUintN(64, BigInt(seed)) === BigInt(seed),
        'seed is an integer from 0 to 2^64 - 1', seed);
      const module = await creating(kind);
      const { glue } = module;
      return new Filter(
        module, faults(glue, () => glue.Filter.create(kind, items, fpp, BigInt(seed), maxBytes)),
      );
    }

    contains(key) {
      const inner = this.#live;
      if (!this.#write(key)) return this.#long('contains', key);
      return this.#room.answer(inner.contains(1, false)) === 1;
    }

    containsMany(keys) {
      return this.#texts('contains', keys);
    }

    containsBytes(keys) {
      return this.#bytes('contains', keys);
    }

    containsU64(keys) {
      return this.#numbers('contains', keys);
    }

    insert(key) {
      const inner = this.#able('insert');
      if (!this.#write(key)) return this.#long('insert', key);
      return this.#room.answer(this.#taken(inner, inner.insert(1, false))) === 1;
    }

    insertMany(keys) {
      return this.#texts('insert', keys);
    }

    insertBytes(keys) {
      return this.#bytes('insert', keys);
    }

    insertU64(keys) {
      return this.#numbers('insert', keys);
    }

    remove(key) {
      const inner = this.#able('remove');
      if (!this.#write(key)) return this.#long('remove', key);
      return this.#room.answer(this.#taken(inner, inner.remove(1, false))) === 1;
    }

    removeMany(keys) {
      return this.#texts('remove', keys);
    }

    removeBytes(keys) {
      return this.#bytes('remove', keys);
    }

    removeU64(keys) {
      return this.#numbers('remove', keys);
    }

    union(other) {
      needs(other instanceof Filter, 'a filter is united with a Filter', other);
      if (other.#module !== this.#module) {
        throw new MayhapError({ code: 'Incompatible', about: 'kind', bound: NaN, found: NaN });
      }
      const inner = this.#able('union');
      // It has its own keys already, and the module lends a filter once.
      if (other !== this) faults(this.#module.glue, () => inner.union(other.#live));
    }

    encode(keyOptions = '') {
      needs(typeof keyOptions === 'string', 'key options are a string', keyOptions);
      const inner = this.#able('encode');
      return faults(this.#module.glue, () => inner.encode(keyOptions));
    }

    positions(key) {
      const isText = typeof key === 'string';
      needs(isText || isBytes(key), 'a key here is a string or a Uint8Array', key);
      return Array.from(this.#able('positions').positions(isText ? utf8.encode(key) : key));
    }

    bits(start, length) {
      needs(typeof start === 'number', 'start is a number', start);
      needs(typeof length === 'number', 'length is a number', length);
      return this.#able('bits').bits(start, length);
    }

    info() {
      const inner = this.#live;
      return named(inner.info(), inner.info_texts());
    }

    free() {
      this.#inner?.free();
      this.#inner = this.#room = null;
    }

    /** The filter in the module, unless its memory was given back. */
    get #live() {
      if (!this.#inner) throw new Error('the filter was freed: open or create it again');
      return this.#inner;
    }

    /** The same, if its module has this method: not every kind of filter can do everything. */
    #able(method) {
      const inner = this.#live;
      if (inner[method]) return inner;
      throw new MayhapError({ code: 'Unsupported', about: method, bound: NaN, found: NaN });
    }

    /** The address of answers, unless the keys were refused. */
    #taken(inner, address) {
      if (address === 0) faults(this.#module.glue, () => { throw inner.refusal(); });
      return address;
    }

    /** Writes a key alone into the room; returns whether it is short enough. */
    #write(key) {
      if (typeof key === 'string') return this.#room.text(key);
      if (typeof key === 'bigint') {
        if (BigInt.asUintN(64, key) !== key) throw wrong(ALONE, key);
        return this.#room.number(key);
      }
      needs(isBytes(key), ALONE, key);
      return this.#room.bytes(key);
    }

    /** The answer of `verb` for a text or bytes that are longer. */
    #long(verb, key) {
      const isText = typeof key === 'string';
      return (isText ? this.#texts(verb, [key]) : this.#bytes(verb, [key]))[0] === 1;
    }

    /** A byte for each key, which `write` brings into the room. */
    #batches(verb, keys, write, areNumbers) {
      const inner = this.#able(verb);
      const answers = new Uint8Array(keys.length);
      for (let start = 0; start < keys.length; start += BATCH) {
        const end = Math.min(start + BATCH, keys.length);
        write(start, end);
        const address = this.#taken(inner, inner[verb](end - start, areNumbers));
        answers.set(this.#room.answers(address, end - start), start);
      }
      return answers;
    }

    #texts(verb, keys) {
      needs(Array.isArray(keys), 'keys are an array of strings', keys);
      const write = (start, end) => this.#room.texts(keys, start, end, text);
      return this.#batches(verb, keys, write, false);
    }

    #bytes(verb, keys) {
      needs(Array.isArray(keys), 'keys are an array of Uint8Arrays', keys);
      const write = (start, end) => this.#room.manyBytes(keys, start, end, bytes);
      return this.#batches(verb, keys, write, false);
    }

    #numbers(verb, keys) {
      needs(keys?.[Symbol.toStringTag] === 'BigUint64Array', 'keys are a BigUint64Array', keys);
      return this.#batches(verb, keys, (start, end) => this.#room.numbers(keys, start, end), true);
    }
  };
}
