import { Filter as OpenFilter, Filters, LoadOptions } from './reader.js';
export { ByteStream, Info, LoadOptions, MayhapError, ModuleSource } from './reader.js';

/** A filter that can be filled, united and written. */
export interface Filter extends OpenFilter {
  /** Inserts a key; whether it was new. */
  insert(key: string | Uint8Array | bigint): boolean;
  /** A byte a key: 1 for a key that was new. */
  insertMany(keys: string[]): Uint8Array;
  insertBytes(keys: Uint8Array[]): Uint8Array;
  insertU64(keys: BigUint64Array): Uint8Array;
  /** Removes a key from a counting filter; whether it was there. */
  remove(key: string | Uint8Array | bigint): boolean;
  /** Removes keys from a counting filter; a byte a key: 1 for a key that was there. */
  removeMany(keys: string[]): Uint8Array;
  removeBytes(keys: Uint8Array[]): Uint8Array;
  removeU64(keys: BigUint64Array): Uint8Array;
  /** Takes over the keys of a filter with the same parameters. */
  union(other: Filter): void;
  /** The file, byte for byte as `mayhap` writes it. */
  encode(keyOptions?: string): Uint8Array;
  /** The positions of a key's bits, for plain filters of ours. */
  positions(key: string | Uint8Array): number[];
  /** `length` bytes of the bits from byte `start` on. */
  bits(start: number, length: number): Uint8Array;
}

export interface CreateOptions {
  /** A layout, `counting` or `scalable`; the default for the numbers if not given. */
  kind?: string;
  items: number;
  fpp: number;
  /** From 0 to 2^64 - 1. */
  seed?: bigint | number;
  /** The most that it may take. */
  maxBytes?: number;
}

/** Two of `items`, `fpp` and `maxBytes`, and the operations that the filter must support. */
export interface Needs {
  items?: number | null;
  fpp?: number | null;
  maxBytes?: number | null;
  delete?: boolean;
  forget?: boolean;
  frozen?: boolean;
  unknownItems?: boolean;
  sets?: number;
  /** Numbers of keys for which each candidate's rate is wanted. */
  curve?: number[];
}

/** A kind, sized; `null` where it takes no more than n keys. */
export interface Candidate {
  isBest: boolean;
  why: string;
  kind: string;
  items: number;
  targetFpp: number;
  numBits: number;
  numHashes: number;
  numBytes: number;
  expectedFpp: number;
  fppAt2x: number | null;
  fppAt10x: number | null;
  cacheLinesHit: number;
  cacheLinesMiss: number;
  bitsPerItem: number;
  curve: number[];
}

export interface Plan {
  candidates: Candidate[];
  unfit: { kind: string; why: string }[];
}

export interface Cost {
  withFilter: number;
  withHashMap: number;
  withoutFilter: number;
  ofFalsePositives: number;
}

export interface Full {
  Filter: Filters<Filter> & { create(options: CreateOptions): Promise<Filter> };
  simd: boolean;
  plan(needs: Needs): Plan;
  /** Numbers as users type them; NaN for other text. */
  parseCount(text: string): number;
  parseBytes(text: string): number;
  parseFpp(text: string): number;
  textbookFpp(numBits: number, numHashes: number, items: number): number;
  expectedFpp(kind: string, numBits: number, numHashes: number, items: number): number;
  numHashesFor(numBits: number, items: number): number;
  hashSetBytes(items: number, keyBytes: number): number;
  costOf(fpp: number, withoutDisk: number, withDisk: number, absentShare: number): Cost;
}

/** Loads the module; the same promise every time. */
export function load(options?: LoadOptions): Promise<Full>;
