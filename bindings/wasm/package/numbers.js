// Numbers as users type them: the grammar of the command line (crates/mayhap-units/src/number.rs),
// with whole numbers of any size and the correctly rounded `Number`. NaN for text that is no
// number.

/** Significant digits, as in number.rs. */
const MAX_DIGITS = 20;
/** Powers of ten up to this fit 128 bits, as in number.rs. */
const MAX_POWER = 38;
const MAX_U64 = 2n ** 64n - 1n;
const UNITS = { '': 1n, k: 10n ** 3n, m: 10n ** 6n, g: 10n ** 9n, t: 10n ** 12n, p: 10n ** 15n,
  ki: 2n ** 10n, mi: 2n ** 20n, gi: 2n ** 30n, ti: 2n ** 40n, pi: 2n ** 50n, ei: 2n ** 60n };

/** `digits · 10^exponent`, exact, and the unit behind it; `null` if there is no number. */
function decimal(text) {
  const [, whole, fraction = '', power = '0', unit] =
    /^\+?([\d_,]*)(?:\.(\d*))?(?:e([+-]?\d+))?\s*(.*)$/is.exec(text);
  if (!/\d/.test(whole) && fraction === '') return null;
  const apart = whole.includes(',') ? /^\d{1,3}(,\d{3})+$/ : /^(\d+(_\d+)*)?$/;
  if (!apart.test(whole)) return null;
  const all = (whole.replace(/[_,]/g, '') + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits.length > MAX_DIGITS) return null;
  const exponent = Number(power) + all.length - digits.length - fraction.length;
  return { digits: BigInt(digits), exponent, unit };
}

/** Times `multiplier`, rounded down, unless it has to be `whole`. */
function times({ digits, exponent }, multiplier, whole) {
  if (digits === 0n) return 0;
  const scaled = digits * multiplier;
  const known = Math.abs(exponent) <= MAX_POWER;
  if (exponent >= 0) return known ? u64(scaled * 10n ** BigInt(exponent)) : NaN;
  const power = known ? 10n ** BigInt(-exponent) : null;
  if (whole && (!power || scaled % power !== 0n)) return NaN;
  return power ? u64(scaled / power) : 0;
}

const u64 = (value) => (value <= MAX_U64 ? Number(value) : NaN);
const own = (unit) => (Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined);
/** ASCII alone: the sign of Kelvin is no `k`. */
const lower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** A count: `10M`, `1.5G`, `1e6`. */
export function parseCount(text) {
  const number = decimal(text.trim());
  const unit = number && lower(number.unit);
  const multiplier = unit === 'b' ? UNITS.g : unit === 'ei' ? undefined : own(unit);
  return number && multiplier ? times(number, multiplier, true) : NaN;
}

/** A size in bytes: `64KiB`, `512M`. */
export function parseBytes(text) {
  const number = decimal(text.trim());
  const multiplier = number && own(lower(number.unit).replace(/b$/, ''));
  return number && multiplier ? times(number, multiplier, multiplier === 1n) : NaN;
}

/** A rate: `1e-6`, `0.1%`, `1 in 1M`. */
export function parseFpp(text) {
  const ratio = /^([^/]*)\/(.*)$/s.exec(text.trim()) ?? /^(.*?) in (.*)$/is.exec(text.trim());
  if (ratio) return within(parseCount(ratio[1]) / parseCount(ratio[2]));
  const number = decimal(text.trim());
  const shift = { '': 0, '%': -2 }[number?.unit];
  if (shift === undefined) return NaN;
  return within(Number(`${number.digits}e${number.exponent + shift}`));
}

const within = (value) => (value > 0 && value < 1 ? value : NaN);
