// Where keys cross into a module: memory that a filter reads them from. Short keys cross alone
// without an allocation, others in batches.

/** Code units of the longest text, or bytes of the longest key, that crosses alone. */
const ALONE = 256;
/** Code units up to which a loop is faster than the encoder of the platform. */
const LOOP = 64;
/** The length of a key, four bytes, and as many bytes as that many code units are as UTF-8. */
const ALONE_BYTES = 4 + 3 * ALONE;

const utf8 = new TextEncoder();

/** Keys at once: their digests and answers stay in a near cache. */
export const BATCH = 1 << 11;

/** Lengths of the texts of a batch, before there is room for them in the module. */
const textLengths = new Uint32Array(BATCH);

/** The room of one filter: the lengths of texts and their bytes behind them, or numbers. */
export class Room {
  #memory;
  #inner;
  #start = 0;
  #numBytes = 0;
  /** The whole memory; empty once that has grown, which detaches views of it. */
  #all = new Uint8Array();
  /** The same as words, and the place of the first length. */
  #lengths = new Uint32Array();
  #first = 0;
  /** The bytes of a key alone. */
  #one = new Uint8Array();

  constructor({ wasm }, inner) {
    this.#memory = wasm.memory;
    this.#inner = inner;
  }

  #need(numBytes) {
    if (numBytes <= this.#numBytes) return;
    const words = Math.ceil(Math.max(numBytes, ALONE_BYTES) / 8);
    this.#start = this.#inner.make_room(words);
    this.#numBytes = 8 * words;
    this.#all = new Uint8Array();
  }

  /** The whole memory as it is now. */
  #now() {
    if (this.#all.length === 0) {
      this.#all = new Uint8Array(this.#memory.buffer);
      this.#lengths = new Uint32Array(this.#memory.buffer);
      this.#first = this.#start / 4;
      this.#one = this.#all.subarray(this.#start + 4, this.#start + ALONE_BYTES);
    }
    return this.#all;
  }

  #view(Type, offset, length) {
    return new Type(this.#memory.buffer, this.#start + offset, length);
  }

  /** The answer at this address. */
  answer(address) {
    return this.#now()[address];
  }

  /** The answers from this address on. */
  answers(address, count) {
    return this.#now().subarray(address, address + count);
  }

  /** Writes a text alone, as UTF-8; returns whether it is short enough. */
  text(key) {
    const units = key.length;
    if (units > ALONE) return false;
    this.#need(ALONE_BYTES);
    const bytes = this.#now();
    const start = this.#start + 4;
    let all = 0x80;
    if (units <= LOOP) {
      all = 0;
      for (let i = 0; i < units; i += 1) {
        const unit = key.charCodeAt(i);
        bytes[start + i] = unit;
        all |= unit;
      }
    }
    this.#lengths[this.#first] = all < 0x80 ? units : utf8.encodeInto(key, this.#one).written;
    return true;
  }

  /** The same for bytes. */
  bytes(key) {
    if (key.length > ALONE) return false;
    this.#need(ALONE_BYTES);
    this.#now();
    this.#one.set(key);
    this.#lengths[this.#first] = key.length;
    return true;
  }

  /** The same for a number: eight bytes, least significant first. */
  number(key) {
    this.#need(ALONE_BYTES);
    const bytes = this.#now();
    const low = Number(key & 0xffff_ffffn);
    const high = Number(key >> 32n);
    for (let i = 0; i < 4; i += 1) {
      bytes[this.#start + 4 + i] = low >>> (8 * i);
      bytes[this.#start + 8 + i] = high >>> (8 * i);
    }
    this.#lengths[this.#first] = 8;
    return true;
  }

  /**
   * Writes the texts from `start` to `end`: encoded by one call if they are ASCII, else one by one.
   * `check` throws for a key of another type. A text that is put together by `+=` is flattened where
   * it is encoded, which takes half the time of `join`.
   */
  texts(keys, start, end, check) {
    const count = end - start;
    let joined = '';
    for (let i = start; i < end; i += 1) {
      check(keys[i]);
      joined += keys[i];
      textLengths[i - start] = keys[i].length;
    }
    const units = joined.length;
    this.#need(4 * count + units);
    const { read, written } = utf8.encodeInto(joined, this.#view(Uint8Array, 4 * count, units));
    // As many bytes as code units: each is one byte, and so the lengths are the texts' own.
    if (read === units && written === units) {
      this.#view(Uint32Array, 0, count).set(textLengths.subarray(0, count));
    } else {
      const encoded = keys.slice(start, end).map((key) => utf8.encode(key));
      this.manyBytes(encoded, 0, count, () => {});
    }
  }

  /** The same for keys that are bytes. */
  manyBytes(keys, start, end, check) {
    const count = end - start;
    let total = 0;
    for (let i = start; i < end; i += 1) {
      check(keys[i]);
      total += keys[i].length;
    }
    this.#need(4 * count + total);
    const lengths = this.#view(Uint32Array, 0, count);
    const bytes = this.#view(Uint8Array, 4 * count, total);
    let place = 0;
    for (let i = start; i < end; i += 1) {
      bytes.set(keys[i], place);
      place += keys[i].length;
      lengths[i - start] = keys[i].length;
    }
  }

  /** The same for a `BigUint64Array`. */
  numbers(keys, start, end) {
    this.#need(8 * (end - start));
    this.#view(BigUint64Array, 0, end - start).set(keys.subarray(start, end));
  }
}
