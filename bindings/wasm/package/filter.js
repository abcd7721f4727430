// The class `Filter`: keys cross into the module in batches.

import { faults } from './fault.js';

/** Keys at once: their digests and answers stay in a near cache. */
const BATCH = 1 << 14;
const utf8 = new TextEncoder();

/** Whether bytes begin as gzip does. */
const isGzip = (bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b;

const unpacked = (stream) => stream.pipeThrough(new DecompressionStream('gzip'));

/** The class, over a module. */
export function makeFilter(glue, wasm) {
  const view = (Type, start, length) => new Type(wasm.memory.buffer, start >>> 0, length);

  /** Writes texts into the module: one call for all if they are ASCII, else one a text. */
  function writeTexts(inner, keys) {
    const units = keys.reduce((sum, key) => sum + key.length, 0);
    const joined = keys.join('');
    inner.text_room(units, keys.length);
    const written = utf8.encodeInto(joined, view(Uint8Array, inner.texts(), units));
    // As many bytes as code units: each is one byte, and so the lengths are the texts' own.
    if (written.read === units && written.written === units) {
      const lengths = view(Uint32Array, inner.lengths(), keys.length);
      for (let i = 0; i < keys.length; i++) lengths[i] = keys[i].length;
      return;
    }
    writeBytes(inner, keys.map((key) => utf8.encode(key)));
  }

  function writeBytes(inner, keys) {
    inner.text_room(keys.reduce((sum, key) => sum + key.length, 0), keys.length);
    const lengths = view(Uint32Array, inner.lengths(), keys.length);
    const bytes = view(Uint8Array, inner.texts(), keys.reduce((sum, key) => sum + key.length, 0));
    let end = 0;
    keys.forEach((key, i) => {
      bytes.set(key, end);
      end += key.length;
      lengths[i] = key.length;
    });
  }

  /** Answers for keys that `write` brings in, by the method `call` of the module. */
  function batches(keys, write, call) {
    const answers = new Uint8Array(keys.length);
    for (let start = 0; start < keys.length; start += BATCH) {
      const some = keys.length <= BATCH ? keys : keys.slice(start, start + BATCH);
      write(some);
      answers.set(view(Uint8Array, faults(glue, call), some.length), start);
    }
    return answers;
  }

  return class Filter {
    #inner;

    constructor(inner) {
      this.#inner = inner;
    }

    static open(bytes, { secretKey } = {}) {
      return new Filter(faults(glue, () => glue.Filter.open(bytes, secretKey)));
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

    static create({ kind = '', items, fpp, seed = 0n, maxBytes = Infinity }) {
      const seed64 = BigInt.asUintN(64, BigInt(seed));
      return new Filter(
        faults(glue, () => glue.Filter.create(kind, items, fpp, seed64, maxBytes)),
      );
    }

    contains(key) {
      if (typeof key === 'bigint') return this.containsU64(BigUint64Array.of(key))[0] === 1;
      return (typeof key === 'string' ? this.containsMany([key]) : this.containsBytes([key]))[0] === 1;
    }

    containsMany(keys) {
      const inner = this.#inner;
      return batches(keys, (some) => writeTexts(inner, some), () => inner.contains_texts());
    }

    containsBytes(keys) {
      const inner = this.#inner;
      return batches(keys, (some) => writeBytes(inner, some), () => inner.contains_texts());
    }

    containsU64(keys) {
      const inner = this.#inner;
      return batches(keys, (some) => this.#writeNumbers(some), () => inner.contains_numbers());
    }

    insertMany(keys) {
      const inner = this.#inner;
      return batches(keys, (some) => writeTexts(inner, some), () => inner.insert_texts());
    }

    insertBytes(keys) {
      const inner = this.#inner;
      return batches(keys, (some) => writeBytes(inner, some), () => inner.insert_texts());
    }

    insertU64(keys) {
      const inner = this.#inner;
      return batches(keys, (some) => this.#writeNumbers(some), () => inner.insert_numbers());
    }

    #writeNumbers(keys) {
      this.#inner.number_room(keys.length);
      view(BigUint64Array, this.#inner.numbers(), keys.length).set(keys);
    }

    union(other) {
      faults(glue, () => this.#inner.union(other.#inner));
    }

    encode(keyOptions = '') {
      return faults(glue, () => this.#inner.encode(keyOptions));
    }

    positions(key) {
      return Array.from(this.#inner.positions(typeof key === 'string' ? utf8.encode(key) : key));
    }

    bits(start, length) {
      return this.#inner.bits(start, length);
    }

    info() {
      return plain(this.#inner.info());
    }

    free() {
      this.#inner.free();
    }
  };
}

/** The fields of a module's object, in camelCase; a number that is not known is `null`. */
export function plain(object) {
  const fields = {};
  for (const [name, { get }] of Object.entries(
    Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)),
  )) {
    if (!get) continue;
    const value = get.call(object);
    const camel = name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    fields[camel] = Number.isNaN(value) ? null : value;
  }
  object.free();
  return fields;
}
