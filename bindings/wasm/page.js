// For pages that are opened from a folder, where no module can be fetched: all in one module, which
// the script brings along.

import * as glue from '../../target/web/raw/page/page.js';
import { bind } from './package/bind.js';
import { makePlanner } from './package/planner.js';

/** Loads the module; the same promise every time. */
export const load = bind(glue, 'page', {}, makePlanner);
