// The small module: opens filters and answers.

import * as scalar from './wasm/reader.js';
import { bind } from './bind.js';

/** Loads the module; the same promise every time. See `reader.d.ts`. */
export const load = bind(scalar, 'reader');
export { MayhapError } from './fault.js';
