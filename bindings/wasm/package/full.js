// The whole module: also creates, fills, unites, writes and plans.

import * as scalar from './wasm/full.js';
import { bind } from './bind.js';

/** Loads the module; the same promise every time. See `full.d.ts`. */
export const load = bind(scalar, 'full');
export { MayhapError } from './fault.js';
