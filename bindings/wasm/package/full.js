// The whole module: also creates, fills, unites, writes and plans. The other kinds of filter, and
// files of other systems, bring one more module each.

import * as foreign from './wasm/foreign.js';
import * as glue from './wasm/full.js';
import * as kinds from './wasm/kinds.js';
import { bind, embedded } from './bind.js';
import { makePlanner } from './planner.js';

const bytesOf = embedded({
  'full-simd': () => import('./wasm/full-bytes.js'),
  'foreign-simd': () => import('./wasm/foreign-bytes.js'),
  'kinds-simd': () => import('./wasm/kinds-bytes.js'),
});

/** Loads the module; the same promise every time. See `full.d.ts`. */
export const load = bind(glue, 'full', { foreign, kinds }, makePlanner, bytesOf);
export { MayhapError } from './fault.js';
