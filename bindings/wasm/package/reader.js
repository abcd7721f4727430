// The small module: opens filters and answers. Files of other systems bring one more module.

import * as foreign from './wasm/foreign.js';
import * as glue from './wasm/reader.js';
import { bind } from './bind.js';

/** Loads the module; the same promise every time. See `reader.d.ts`. */
export const load = bind(glue, 'reader', { foreign });
export { MayhapError } from './fault.js';
