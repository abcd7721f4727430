// The planner and the number grammar of the whole module; nothing for the reader.

import { faults } from './fault.js';

/** The functions of `full.d.ts` beside `Filter`. */
export function makePlanner(glue) {
  if (!glue.plan) return {};
  const number = (value) => (value === null || value === undefined ? NaN : value);

  function plan(given) {
    const needs = new glue.Needs();
    needs.items = number(given.items);
    needs.target_fpp = number(given.fpp);
    needs.max_bytes = number(given.maxBytes);
    needs.delete = given.delete ?? false;
    needs.forget = given.forget ?? false;
    needs.frozen = given.frozen ?? false;
    needs.unknown_items = given.unknownItems ?? false;
    needs.sets = given.sets ?? 1;
    let planned;
    try {
      planned = faults(glue, () => glue.plan(needs));
    } finally {
      needs.free();
    }
    const candidates = planned.candidates.map((candidate) => {
      const fppAfter = (items) => candidate.fpp_after(items);
      const curve = (given.curve ?? []).map(fppAfter);
      return { ...plain(candidate), curve };
    });
    const why = planned.unfit_why;
    const unfit = planned.unfit.map((kind, i) => ({ kind, why: why[i] }));
    planned.free();
    return { candidates, unfit };
  }

  return {
    plan,
    parseCount: glue.parse_count,
    parseBytes: glue.parse_bytes,
    parseFpp: glue.parse_fpp,
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

/** The fields of a module's object, in camelCase; a number that is not known is `null`. */
function plain(object) {
  const fields = {};
  for (const [name, { get }] of Object.entries(
    Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)),
  )) {
    if (!get) continue;
    const value = get.call(object);
    const camel = name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    fields[camel] = Number.isNaN(value) ? null : value;
  }
  object.free();
  return fields;
}
