// Loads a module and gives it the interface of `full.d.ts`.

import { makeFilter } from './filter.js';
import { makePlanner } from './planner.js';

/** A function with `v128.const`: valid where vector instructions are known. */
const SIMD = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 22, 1, 20, 0, 253, 12,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11,
);

async function bytesOf(name) {
  const url = new URL(`./wasm/${name}.wasm`, import.meta.url);
  if (url.protocol !== 'file:') return fetch(url);
  const { readFile } = await import('node:fs/promises');
  return readFile(url);
}

/** A function that loads the module once; `glue` is what stands before it. */
export function bind(glue, name) {
  let loaded;
  const start = async ({ module, simd = WebAssembly.validate(SIMD) } = {}) => {
    const bytes = module ?? (await bytesOf(`${name}${simd ? '-simd' : ''}`));
    const wasm = await glue.default({ module_or_path: bytes });
    return { Filter: makeFilter(glue, wasm), ...makePlanner(glue), simd };
  };
  return (options) => (loaded ??= start(options));
}
