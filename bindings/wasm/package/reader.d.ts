/** The parameters and fill of a filter; `null` is "not known". */
export interface Info {
  /** `mayhap`, `guava`, `redisbloom`, `parquet` or `dcso`. */
  format: string;
  /** The layout or kind: `blocked`, `standard`, `counting`, … */
  kind: string;
  digest: string;
  seed: string;
  keyOptions: string;
  health: string;
  numBytes: number;
  numBits: number;
  numHashes: number;
  expectedItems: number | null;
  /** The promised rate. */
  targetFpp: number | null;
  insertedItems: number | null;
  /** Distinct keys, estimated from the bits. */
  estimatedItems: number | null;
  /** The rate now, from the bits. */
  estimatedFpp: number | null;
  fillRatio: number | null;
  numParts: number;
}

/** The reason why a call failed; wrong types are a `TypeError`. */
export class MayhapError extends Error {
  code: string;
  about: string;
  bound: number;
  found: number;
}

/** A filter in the module's memory; `free` gives the memory back. */
export interface Filter {
  /** Whether a text (as UTF-8), bytes, or an unsigned 64-bit integer may be in it. */
  contains(key: string | Uint8Array | bigint): boolean;
  /** A byte a key: 1 for "maybe", 0 for "surely not". */
  containsMany(keys: string[]): Uint8Array;
  containsBytes(keys: Uint8Array[]): Uint8Array;
  containsU64(keys: BigUint64Array): Uint8Array;
  info(): Info;
  free(): void;
}

/**
 * A `ReadableStream` of bytes: the part of it that is used, so that these types need no library of
 * the browser's.
 */
export interface ByteStream {
  getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> };
}

/** The class of [`Filter`]. */
export interface Filters<F> {
  /**
   * Opens the bytes of a file, and checks them. For a file of another system, or of a kind that the
   * module does not have, a companion is fetched first, once.
   */
  open(bytes: Uint8Array, options?: { secretKey?: Uint8Array }): Promise<F>;
  /** Opens a stream, unpacked as it comes if it is gzip, and refused by its header. */
  fromStream(stream: ByteStream, options?: { secretKey?: Uint8Array }): Promise<F>;
  fetch(url: string | { readonly href: string }, options?: { secretKey?: Uint8Array }): Promise<F>;
}

/**
 * The bytes of a module, a `WebAssembly.Module`, or a `Response` or a promise of one: an object, so
 * that these types need no library of the browser's.
 */
export type ModuleSource = object;

/** How the module is loaded: from `module` instead of the file beside this one. */
export interface LoadOptions {
  module?: ModuleSource;
  /** The same for its companions: files of other systems, and the other kinds of ours. */
  companions?: { foreign?: ModuleSource; kinds?: ModuleSource };
  /** Vector instructions; where they are known unless given. */
  simd?: boolean;
}

export interface Reader {
  Filter: Filters<Filter>;
  simd: boolean;
}

/** Loads the module; the same promise every time, until one fails. */
export function load(options?: LoadOptions): Promise<Reader>;
