//! The numbers that users type: counts (`10M`), sizes (`64KiB`) and probabilities (`0.1%`).
//!
//! ```text
//! number      = digits [ "." digits ] [ "e" [ "+" | "-" ] digits ]
//! digits      = 1000000 | 1_000_000 | 1,000,000
//! count       = number [ k | M | G | B | T | P | Ki | Mi | Gi | Ti | Pi ]      B is a billion
//! size        = number [ k | M | G | T | P | Ki | Mi | Gi | Ti | Pi | Ei ] [ B ]  B is a byte
//! probability = number [ "%" ] | count "/" count | count " in " count
//! ```
//!
//! `k M G T P` are powers of 1000 and `Ki Mi Gi Ti Pi Ei` powers of 1024, for counts and sizes
//! alike. Upper and lower case mean the same, and a space may precede the unit. Counts and sizes
//! are computed in integers, exact to the last digit. A count that is not whole is refused; a size
//! with a unit is rounded down to a whole byte.

use std::fmt;

mod shown;
#[cfg(test)]
mod tests;
mod whole;

pub use shown::{counted, counted_short, format_fpp, grouped, noun};
pub use whole::{WholeError, parse_whole};

/// Significant digits stay below this: enough for every `u64`, and their product with the largest
/// unit (2^60) fits a `u128`.
const DIGITS_BOUND: u128 = 10u128.pow(20);

/// Characters of the input that an error message repeats.
const SHOWN_CHARS: usize = 40;

/// The quantity that a text was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A number of things, [`parse_count`].
    Count,
    /// A number of bytes, [`parse_bytes`].
    Size,
    /// A false-positive probability, [`parse_fpp`].
    Probability,
    /// A part of a whole, [`parse_share`].
    Share,
}

/// The reason why a text is not the expected number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Nothing but white space.
    Empty,
    /// Below zero.
    Negative,
    /// `nan`, `inf` and similar.
    NotFinite,
    /// No digit where a number should begin.
    NotANumber,
    /// A comma not between groups of three digits, or `_` not between digits.
    Separator,
    /// The text after the number is no unit of this quantity.
    Unit(String),
    /// A count or a size with a fraction.
    NotWhole,
    /// More than 20 significant digits.
    TooPrecise,
    /// Above `u64::MAX`.
    TooLarge,
    /// A probability of 0 or too small for an `f64`.
    NotAboveZero,
    /// A probability of 1 or more; holds the percentage that was probably meant.
    NotBelowOne(Option<String>),
}

/// A text that is not the expected number; the message gives the problem, the bound and the right
/// form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberError {
    /// The quantity that the text was read as.
    pub quantity: Quantity,
    /// The text, cut after 40 characters.
    pub input: String,
    /// The problem with it.
    pub problem: Problem,
}

impl std::error::Error for NumberError {}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, examples, units) = match self.quantity {
            Quantity::Count => (
                "count",
                "10M, 1.5G, 2e6 or 1,000,000",
                "k, M, G or B (billion), T, P, Ki, Mi, Gi, Ti or Pi",
            ),
            Quantity::Size => (
                "size",
                "512M, 64KiB, 1.5GiB or 4096",
                "B, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi or Ei, with or without a B",
            ),
            Quantity::Probability => {
                ("probability", "0.01, 1%, 1e-6, 1/1000 or \"1 in 1M\"", "% or none")
            }
            Quantity::Share => ("share", "50%, 0.5 or 1/2", "% or none"),
        };
        if self.problem == Problem::Empty {
            return write!(f, "the {name} is empty; write it like {examples}");
        }
        write!(f, "the {name} {:?} ", self.input)?;
        match &self.problem {
            Problem::Empty | Problem::NotANumber => write!(f, "is not a number"),
            Problem::Negative => write!(f, "is below 0"),
            Problem::NotFinite => write!(f, "is not a finite number"),
            Problem::Separator => {
                return write!(
                    f,
                    "has a misplaced separator; write 1,000,000 or 1_000_000, and 1.5 for a half"
                );
            }
            Problem::Unit(unit) => {
                return write!(f, "ends in {unit:?}, which is not a known unit; use {units}");
            }
            Problem::NotWhole => write!(f, "is not a whole number"),
            Problem::TooPrecise => write!(f, "has more than 20 significant digits"),
            Problem::TooLarge => write!(f, "is above the limit of {}", u64::MAX),
            Problem::NotAboveZero => write!(f, "is not above 0"),
            Problem::NotBelowOne(Some(meant)) => {
                return write!(f, "is not below 1; did you mean {meant}?");
            }
            Problem::NotBelowOne(None) => write!(f, "is not below 1"),
        }?;
        write!(f, "; write it like {examples}")
    }
}

/// Reads a number of things; 0 is a count.
///
/// # Errors
///
/// A [`NumberError`] unless the text is a whole number of 0 to `u64::MAX` in the grammar above.
///
/// ```
/// use mayhap_units::number::parse_count;
/// assert_eq!(parse_count("1.5M")?, 1_500_000);
/// assert_eq!(parse_count("64Ki")?, 65_536);
/// assert!(parse_count("1.5").is_err());
/// # Ok::<(), mayhap_units::number::NumberError>(())
/// ```
pub fn parse_count(text: &str) -> Result<u64, NumberError> {
    read_count(text.trim()).map_err(|problem| error(Quantity::Count, text, problem))
}

/// Reads a number of bytes.
///
/// # Errors
///
/// A [`NumberError`] unless the text is a number of 0 to `u64::MAX` bytes, whole if it has no unit.
///
/// ```
/// use mayhap_units::number::parse_bytes;
/// assert_eq!(parse_bytes("64KiB")?, 65_536);
/// assert_eq!(parse_bytes("512M")?, 512_000_000);
/// # Ok::<(), mayhap_units::number::NumberError>(())
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, NumberError> {
    let read = || {
        let (number, unit) = Decimal::read(text.trim())?;
        let prefix = unit.strip_suffix(['b', 'B']).unwrap_or(unit);
        let multiplier = multiplier(prefix).ok_or_else(|| unknown_unit(unit))?;
        // 1.1 GiB is no whole number of bytes: take no more than requested. Half a byte is an
        // error.
        if multiplier > 1 { Ok(number.divide(multiplier)?.0) } else { number.to_u64(1) }
    };
    read().map_err(|problem| error(Quantity::Size, text, problem))
}

/// Reads a false-positive probability.
///
/// # Errors
///
/// A [`NumberError`] unless the text is a number above 0 and below 1.
///
/// ```
/// use mayhap_units::number::parse_fpp;
/// assert_eq!(parse_fpp("0.1%")?, 0.001);
/// assert_eq!(parse_fpp("1 in 1M")?, 1e-6);
/// assert!(parse_fpp("5").unwrap_err().to_string().ends_with("did you mean 5%?"));
/// # Ok::<(), mayhap_units::number::NumberError>(())
/// ```
pub fn parse_fpp(text: &str) -> Result<f64, NumberError> {
    read_fpp(text.trim()).map_err(|problem| error(Quantity::Probability, text, problem))
}

/// Reads a part of a whole: of bits, of queries.
///
/// # Errors
///
/// A [`NumberError`] unless the text is a number above 0 and below 1.
///
/// ```
/// use mayhap_units::number::parse_share;
/// assert_eq!(parse_share("50%")?, 0.5);
/// assert!(parse_share("150%").unwrap_err().to_string().starts_with("the share \"150%\""));
/// # Ok::<(), mayhap_units::number::NumberError>(())
/// ```
pub fn parse_share(text: &str) -> Result<f64, NumberError> {
    read_fpp(text.trim()).map_err(|problem| error(Quantity::Share, text, problem))
}

/// Formats a count for messages: all digits below 10,000, else three of them and a unit.
///
/// [`parse_count`] reads it back, exactly below 10,000 and within 0.5 % above.
///
/// ```
/// use mayhap_units::number::format_count;
/// assert_eq!(format_count(9_999), "9,999");
/// assert_eq!(format_count(1_234_567), "1.23M");
/// ```
pub fn format_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{},{:03}", count / 1_000, count % 1_000),
        _ => {
            let (value, unit) = scale(count, 1_000.0, 999.5, &["k", "M", "G", "T", "P"]);
            if value < 999.5 { three_digits(value) + unit } else { format!("{count:.2e}") }
        }
    }
}

/// Formats a size for messages, in binary units and three or four digits.
///
/// [`parse_bytes`] reads it back within 0.5 % and a byte, below 15.9 EiB.
///
/// ```
/// use mayhap_units::number::format_bytes;
/// assert_eq!(format_bytes(65_536), "64.0 KiB");
/// assert_eq!(format_bytes(1_000), "1000 B");
/// ```
pub fn format_bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (value, unit) = scale(bytes, 1024.0, 1023.5, &units);
    format!("{} {unit}", three_digits(value))
}

fn read_count(text: &str) -> Result<u64, Problem> {
    let (number, unit) = Decimal::read(text)?;
    let multiplier = match unit {
        "b" | "B" => Some(1_000_000_000),
        // Exa as a decimal unit would collide with the exponent's letter, so only its binary form
        // exists, for sizes.
        _ if unit.eq_ignore_ascii_case("ei") => None,
        _ => multiplier(unit),
    };
    number.to_u64(multiplier.ok_or_else(|| unknown_unit(unit))?)
}

fn read_fpp(text: &str) -> Result<f64, Problem> {
    let ratio = text.split_once('/').or_else(|| {
        let at = text.to_ascii_lowercase().find(" in ")?;
        Some((&text[..at], &text[at + 4..]))
    });
    if let Some((hits, trials)) = ratio {
        // Both are whole; below 2^53 the division is rounded once, so 1/1000 is 0.001.
        let (hits, trials) = (read_count(hits.trim())?, read_count(trials.trim())?);
        return if trials == 0 {
            Err(Problem::NotFinite)
        } else {
            in_unit_interval(hits as f64 / trials as f64, None)
        };
    }
    let (number, unit) = Decimal::read(text)?;
    match unit {
        "%" => in_unit_interval(number.to_f64(-2), None),
        "" => {
            let value = number.to_f64(0);
            let meant = (1.0..100.0).contains(&value).then(|| format!("{value}%"));
            in_unit_interval(value, meant)
        }
        _ => Err(unknown_unit(unit)),
    }
}

fn in_unit_interval(value: f64, meant: Option<String>) -> Result<f64, Problem> {
    if value <= 0.0 {
        Err(Problem::NotAboveZero)
    } else if value >= 1.0 {
        Err(Problem::NotBelowOne(meant))
    } else {
        Ok(value)
    }
}

fn multiplier(unit: &str) -> Option<u128> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "p" => 1_000_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        "pi" => 1 << 50,
        "ei" => 1 << 60,
        _ => return None,
    })
}

fn unknown_unit(unit: &str) -> Problem {
    Problem::Unit(shown(unit))
}

fn error(quantity: Quantity, text: &str, problem: Problem) -> NumberError {
    NumberError { quantity, input: shown(text.trim()), problem }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

/// Divides `value` by `base` until it is below `limit` or the units are used up.
fn scale(value: u64, base: f64, limit: f64, units: &[&'static str]) -> (f64, &'static str) {
    let mut value = value as f64 / base;
    let mut at = 0;
    while value >= limit && at + 1 < units.len() {
        value /= base;
        at += 1;
    }
    (value, units[at])
}

fn three_digits(value: f64) -> String {
    // The bounds are where the next digit appears by rounding.
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

/// The number `digits · 10^exponent`, exact; `digits` is 0 or does not end in 0.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    exponent: i64,
}

impl Decimal {
    /// Reads the number at the front of `text` and returns it with the rest, without the space.
    fn read(text: &str) -> Result<(Self, &str), Problem> {
        if text.is_empty() {
            return Err(Problem::Empty);
        }
        if text.starts_with(['-', '\u{2212}']) {
            return Err(Problem::Negative);
        }
        let text = text.strip_prefix('+').unwrap_or(text);
        let begins = |word: &str| {
            text.as_bytes().get(..3).is_some_and(|s| s.eq_ignore_ascii_case(word.as_bytes()))
        };
        if begins("nan") || begins("inf") {
            return Err(Problem::NotFinite);
        }
        let is_digit = |c: char| c.is_ascii_digit();
        let (whole, rest) = split_while(text, |c| is_digit(c) || c == '_' || c == ',');
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(after) => split_while(after, is_digit),
            None => ("", rest),
        };
        if !whole.contains(is_digit) && fraction.is_empty() {
            return Err(Problem::NotANumber);
        }
        check_separators(whole)?;
        let (exponent, rest) = read_exponent(rest);
        let mut number = Self { digits: 0, exponent };
        let mut zeros = 0;
        for digit in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
            number.push(digit - b'0', &mut zeros)?;
        }
        let decimals = i64::try_from(fraction.len()).unwrap_or(i64::MAX >> 1);
        number.exponent += i64::from(zeros) - decimals;
        Ok((number, rest.trim_start()))
    }

    /// Appends a digit; zeros are held back until another digit follows.
    fn push(&mut self, digit: u8, zeros: &mut u32) -> Result<(), Problem> {
        if digit == 0 {
            // More than u32::MAX zeros is more text than an argument can be.
            *zeros = zeros.saturating_add(u32::from(self.digits != 0));
            return Ok(());
        }
        let shift = 10u128.checked_pow(zeros.saturating_add(1));
        self.digits = shift
            .and_then(|shift| self.digits.checked_mul(shift))
            .map(|digits| digits + u128::from(digit))
            .filter(|&digits| digits < DIGITS_BOUND)
            .ok_or(Problem::TooPrecise)?;
        *zeros = 0;
        Ok(())
    }

    fn to_u64(self, multiplier: u128) -> Result<u64, Problem> {
        match self.divide(multiplier)? {
            (value, true) => Ok(value),
            (_, false) => Err(Problem::NotWhole),
        }
    }

    /// The number times `multiplier`, rounded down, and whether it was whole.
    fn divide(self, multiplier: u128) -> Result<(u64, bool), Problem> {
        if self.digits == 0 {
            return Ok((0, true));
        }
        let scaled = self.digits * multiplier;
        let power = u32::try_from(self.exponent.unsigned_abs())
            .ok()
            .and_then(|exponent| 10u128.checked_pow(exponent));
        let (value, is_whole) = match (self.exponent >= 0, power) {
            (true, Some(power)) => (scaled.checked_mul(power).ok_or(Problem::TooLarge)?, true),
            (true, None) => return Err(Problem::TooLarge),
            (false, Some(power)) => (scaled / power, scaled.is_multiple_of(power)),
            (false, None) => (0, false),
        };
        Ok((u64::try_from(value).map_err(|_| Problem::TooLarge)?, is_whole))
    }

    /// The nearest `f64` of the number times `10^shift`.
    fn to_f64(self, shift: i64) -> f64 {
        // The text is passed to the standard parser, which rounds correctly and once.
        let text = format!("{}e{}", self.digits, self.exponent.saturating_add(shift));
        text.parse().unwrap_or(f64::NAN)
    }
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// Reads `e-6`; an `e` without digits is left for the unit.
fn read_exponent(text: &str) -> (i64, &str) {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return (0, text) };
    let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
    let (digits, rest) = split_while(unsigned, |c| c.is_ascii_digit());
    if digits.is_empty() {
        return (0, text);
    }
    // Far beyond the exponent of any number here, and far from the ends of i64.
    let value = digits.parse::<i64>().unwrap_or(i64::MAX).min(1 << 40);
    (if after.starts_with('-') { -value } else { value }, rest)
}

fn check_separators(whole: &str) -> Result<(), Problem> {
    let misplaced = if whole.contains(',') {
        let mut groups = whole.split(',');
        let digits = |group: &str| group.bytes().all(|c| c.is_ascii_digit());
        let first = groups.next().unwrap_or("");
        !(1..=3).contains(&first.len())
            || !digits(first)
            || groups.any(|group| group.len() != 3 || !digits(group))
    } else {
        whole.contains('_') && whole.split('_').any(str::is_empty)
    };
    if misplaced { Err(Problem::Separator) } else { Ok(()) }
}
