// Errors: the module reports fields, the sentences are here.

const SENTENCES = {
  NotAFilter: () => 'these bytes are no filter of mayhap, Guava, RedisBloom, Parquet or DCSO',
  NewerVersion: (f) => `the file has version ${f.found}, this release reads up to ${f.bound}`,
  WrongLength: (f) => `${f.about} has ${f.found} bytes, ${f.bound} are needed: is it complete?`,
  HeaderDamaged: () => 'the file is damaged: get it again',
  PageDamaged: (f) => `page ${f.bound} of the file is damaged: get it again`,
  BadField: (f) => `${f.about} has a value that no filter has`,
  WrongKind: (f) => (f.about === 'compact'
    ? 'a compact filter is not opened in the browser: query it with the command, Rust or Python'
    : `a ${f.about || 'filter of another'} kind is not opened by this module`),
  WrongKey: () => 'the filter has a secret key: give its 16 bytes',
  ZeroItems: () => 'the number of keys is 0: give at least 1',
  FppOutOfRange: (f) => `the rate is ${f.found}: give one above 0 and below 1`,
  FppUnreachable: (f) => `the rate ${f.found} is below ${f.bound}, the lowest possible`,
  OutOfRange: (f) => `${f.about} is ${f.found}, the bound is ${f.bound}`,
  Missing: (f) => `${f.about} is missing`,
  OutOfMemory: (f) => `the browser refused ${f.found} bytes`,
  TooLarge: (f) => `${f.about} is ${f.found}, the limit is ${f.bound}`,
  Incompatible: (f) => `the filters differ in ${f.about}: ${f.bound} and ${f.found}`,
  Unsupported: (f) => `this filter cannot ${f.about}`,
};

/** An error of the module: `code`, `about`, `bound` and `found` are its fields. */
export class MayhapError extends Error {
  constructor(fields) {
    super((SENTENCES[fields.code] ?? (() => fields.code))(fields));
    this.name = 'MayhapError';
    Object.assign(this, fields);
  }
}

/** Calls `run`; a fault of the module becomes a [`MayhapError`]. */
export function faults(module, run) {
  try {
    return run();
  } catch (fault) {
    if (!(fault instanceof module.Fault)) throw fault;
    const { code, about, bound, found } = fault;
    fault.free();
    throw new MayhapError({ code, about, bound, found });
  }
}
