// The small module in Node. See `reader.js`.

import * as foreign from './wasm/foreign.js';
import * as glue from './wasm/reader.js';
import { bind } from './bind.js';
import { bytesOf } from './node-bytes.js';

/** Loads the module; the same promise every time. See `reader.d.ts`. */
export const load = bind(glue, 'reader', { foreign }, () => ({}), bytesOf);
export { MayhapError } from './fault.js';
