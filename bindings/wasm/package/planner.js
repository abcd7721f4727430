// The planner, the rate models and the number grammar of the whole module.

import { faults } from './fault.js';
import { parseBytes, parseCount, parseFpp } from './numbers.js';

// The kinds and the numbers of a candidate in the order of the module's `planner.rs`.
const KINDS = ['standard', 'blocked', 'blocked128', 'blocked64', 'counting', 'scalable', 'window',
  'matrix', 'fuse', 'segment', 'compact', 'ribbon'];
const NUMBERS = ['items', 'targetFpp', 'numBits', 'numHashes', 'numBytes', 'expectedFpp', 'fppAt2x',
  'fppAt10x', 'cacheLinesHit', 'cacheLinesMiss', 'bitsPerItem'];

/** Why a kind is not the best one, in the words of `mayhap plan`. */
const REASONS = [
  () => 'cannot delete',
  () => 'cannot forget old keys',
  () => 'cannot grow',
  () => 'is built once, from all keys',
  (lowest) => `reaches no rate below ${lowest.toExponential(3)}`,
  () => 'would be larger than 2^56 bits',
  (bytes) => `does not fit in ${bytes} bytes`,
  (bytes) => `needs ${bytes} bytes, more than the budget`,
  (times) => `needs ${fixed(times, 2)} times the bits`,
  (times) => `has ${fixed(times, 2)} times the rate`,
  (share) => `holds ${fixed(share * 100, 0)} % of the keys`,
  (lines, best) => `touches ${fixed(lines, 1)} cache lines per query, the best ${fixed(best, 1)}`,
  () => 'does not serve',
];

/** With this number of decimals; halfway between two, the even one, as Rust writes it. */
function fixed(number, decimals) {
  const nearest = number.toFixed(decimals);
  if (!/50{29}$/.test(number.toFixed(decimals + 30))) return nearest;
  const below = number.toFixed(decimals + 30).slice(0, -30).replace(/\.$/, '');
  return /[02468]$/.test(below) ? below : nearest;
}

/** The functions of `full.d.ts` beside `Filter`. */
export function makePlanner(glue) {
  const number = (value) => value ?? NaN;

  function plan(given) {
    const curve = Float64Array.from(given.curve ?? []);
    const flags = [given.delete, given.forget, given.frozen, given.unknownItems]
      .reduce((sum, flag, i) => sum + (flag ? 1 << i : 0), 0);
    const row = faults(glue, () => glue.plan(number(given.items), number(given.fpp),
      number(given.maxBytes), given.sets ?? 1, flags, curve));
    let place = 1;
    const take = (count) => Array.from(row.subarray(place, (place += count)));
    const kindAndWhy = () => {
      const [kind, reason, left, right] = take(4);
      return { kind: KINDS[kind], why: Number.isNaN(reason) ? '' : REASONS[reason](left, right) };
    };
    const candidates = Array.from({ length: row[0] }, (_, i) => {
      const known = kindAndWhy();
      const numbers = take(NUMBERS.length).map((value) => (Number.isNaN(value) ? null : value));
      const named = Object.fromEntries(NUMBERS.map((name, at) => [name, numbers[at]]));
      return { isBest: i === 0 && known.why === '', ...known, ...named, curve: take(curve.length) };
    });
    const unfit = [];
    while (place < row.length) unfit.push(kindAndWhy());
    return { candidates, unfit };
  }

  return {
    plan,
    parseCount,
    parseBytes,
    parseFpp,
    textbookFpp: glue.textbook_fpp,
    numHashesFor: glue.num_hashes_for,
    hashSetBytes: glue.hash_set_bytes,
    expectedFpp: (kind, numBits, numHashes, items) =>
      faults(glue, () => glue.expected_fpp(kind, numBits, numHashes, items)),
    costOf: (fpp, withoutDisk, withDisk, absentShare) => {
      const [withFilter, withHashMap, withoutFilter, ofFalsePositives] =
        glue.cost_of(fpp, withoutDisk, withDisk, absentShare);
      return { withFilter, withHashMap, withoutFilter, ofFalsePositives };
    },
  };
}
