// The bytes of a module in Node, which fetches no files.

import { readFile } from 'node:fs/promises';

/** The bytes of a module beside this file. */
export const bytesOf = (name) => readFile(new URL(`./wasm/${name}.wasm`, import.meta.url));
