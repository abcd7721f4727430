// Loads a module and gives it the interface of `full.d.ts`. Code that few files need is in
// companion modules, which are fetched when such a file is opened.

import { makeFilter } from './filter.js';

/** A function with `v128.const`: valid where vector instructions are known. */
const SIMD = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 22, 1, 20, 0, 253, 12,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11,
);

/** How files of ours begin, and where the id of their kind is: 1 for a plain filter. */
const MAGIC = Uint8Array.of(0x89, 0x6d, 0x61, 0x79, 0x68, 0x61, 0x70, 0x0a);
const KIND_OFFSET = 10;
const PLAIN = 1;

/** The kinds that are created by the companion. */
const OTHER_KINDS = ['counting', 'scalable'];

/** The bytes of a module beside this file, which bundlers leave there. */
const beside = (name) =>
  fetch(new URL(/* webpackIgnore: true */ /* @vite-ignore */ `./wasm/${name}.wasm`, import.meta.url));

/**
 * A function from the name of a module to its bytes, in browsers: from a script, which bundlers take
 * along and a function in `scripts` imports. Where there is none, and in service workers, which
 * import nothing later, the bytes are fetched from beside this file.
 */
export const embedded = (scripts) => async (name) => {
  if (!scripts[name]) return beside(name);
  let script;
  try {
    script = await scripts[name]();
  } catch {
    return beside(name);
  }
  const packed = Uint8Array.from(atob(script.default), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unpacked, { headers: { 'content-type': 'application/wasm' } });
};

/** The companion for a file, if it needs one. */
function companionFor(bytes) {
  if (!MAGIC.every((byte, i) => bytes[i] === byte)) return 'foreign';
  return bytes[KIND_OFFSET] === PLAIN && bytes[KIND_OFFSET + 1] === 0 ? null : 'kinds';
}

/** Whether options are given that are not those of the first call. */
const differ = (options = {}, first = {}) =>
  ['module', 'simd', 'companions'].some((name) => name in options && options[name] !== first[name]);

/**
 * A function that loads the module once. `glue` is its JavaScript wrapper, and `companions` the
 * wrappers of the modules beside it: `foreign` for files of other systems, `kinds` for the other
 * kinds of ours. Where there is no companion, the module itself is used. `more(glue)` returns its
 * functions besides filters; `bytesOf(name)` the bytes of a module.
 */
export function bind(glue, name, companions = {}, more = () => ({}), bytesOf = beside) {
  const start = async ({ module, simd = WebAssembly.validate(SIMD), companions: given = {} } = {}) => {
    const instantiate = async (glue, name, module) => {
      const bytes = module ?? (await bytesOf(`${name}${simd ? '-simd' : ''}`));
      return { glue, wasm: await glue.default({ module_or_path: bytes }) };
    };
    const own = await instantiate(glue, name, module);
    const loaded = {};
    const companion = (which) => {
      if (!companions[which]) return own;
      loaded[which] ??= instantiate(companions[which], which, given[which]).catch((error) => {
        delete loaded[which];
        throw error;
      });
      return loaded[which];
    };
    const Filter = makeFilter(
      (bytes) => companion(companionFor(bytes)),
      (kind) => companion(OTHER_KINDS.includes(kind) ? 'kinds' : null),
    );
    return { Filter, ...more(glue), simd };
  };
  let loading;
  let given;
  return (options) => {
    if (loading && differ(options, given)) {
      return Promise.reject(new TypeError('the module is loaded already, with other options'));
    }
    given ??= options;
    loading ??= start(options).catch((error) => {
      // The next call tries again.
      [loading, given] = [];
      throw error;
    });
    return loading;
  };
}
