// Whether a URL is on a list: a filter answers "surely not" at once; on a "maybe" a server is asked
// for the full hashes behind four bytes of one, so that a false positive blocks nothing and the
// server does not see the URL.

import { expressions } from './expressions.js';

/** Bytes of a hash that the server sees. */
const PREFIX_BYTES = 4;

/** The number of answers of the server that are kept: a new one replaces the oldest. */
const MAX_PREFIXES = 4096;

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The hash of an expression, in hexadecimal digits. */
export async function hashOf(expression) {
  const bytes = new TextEncoder().encode(expression);
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

/** The check. `filters` are the base and, newer, small ones; `confirm(prefix)` gives full hashes. */
export class Checker {
  #known = new Map();

  constructor(filters, confirm) {
    this.filters = filters;
    this.confirm = confirm;
    /** The counts of operations and their costs. */
    this.log = { checked: 0, maybe: 0, listed: 0, requests: 0, milliseconds: [] };
  }

  /** The expressions of the URL that may be listed: the first step, which sends nothing. */
  maybe(url) {
    const start = performance.now();
    const all = expressions(url);
    const hits = new Set();
    for (const filter of this.filters) {
      filter.containsMany(all).forEach((answer, i) => answer && hits.add(all[i]));
    }
    this.log.checked += 1;
    this.log.maybe += hits.size > 0;
    this.log.milliseconds.push(performance.now() - start);
    if (this.log.milliseconds.length > 10_000) this.log.milliseconds.shift();
    return [...hits];
  }

  /** Whether the URL is listed. A server that does not answer leaves it unblocked: `undecided`. */
  async check(url) {
    let undecided = false;
    for (const expression of this.maybe(url)) {
      const hash = await hashOf(expression);
      try {
        if ((await this.#hashes(hash.slice(0, 2 * PREFIX_BYTES))).includes(hash)) {
          this.log.listed += 1;
          return { listed: true, expression };
        }
      } catch {
        undecided = true;
      }
    }
    return { listed: false, undecided };
  }

  async #hashes(prefix) {
    if (!this.#known.has(prefix)) {
      this.log.requests += 1;
      const hashes = await this.confirm(prefix);
      if (this.#known.size >= MAX_PREFIXES) this.#known.delete(this.#known.keys().next().value);
      this.#known.set(prefix, hashes);
    }
    return this.#known.get(prefix);
  }
}
