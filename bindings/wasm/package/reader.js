// The small module: opens filters and answers. Files of other systems bring one more module.

import * as foreign from './wasm/foreign.js';
import * as glue from './wasm/reader.js';
import { bind, embedded } from './bind.js';

const bytesOf = embedded({
  'reader-simd': () => import('./wasm/reader-bytes.js'),
  'foreign-simd': () => import('./wasm/foreign-bytes.js'),
});

/** Loads the module; the same promise every time. See `reader.d.ts`. */
export const load = bind(glue, 'reader', { foreign }, () => ({}), bytesOf);
export { MayhapError } from './fault.js';
