// The whole module in Node. See `full.js`.

import * as foreign from './wasm/foreign.js';
import * as glue from './wasm/full.js';
import * as kinds from './wasm/kinds.js';
import { bind } from './bind.js';
import { bytesOf } from './node-bytes.js';
import { makePlanner } from './planner.js';

/** Loads the module; the same promise every time. See `full.d.ts`. */
export const load = bind(glue, 'full', { foreign, kinds }, makePlanner, bytesOf);
export { MayhapError } from './fault.js';
