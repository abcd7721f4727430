//! Lengths of time as users type them: `90s`, `15min`, `7d`.

use std::fmt;
use std::time::Duration;

/// The reason why a text is no length of time that something may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeError {
    /// It is no length of time.
    Unreadable {
        /// Whether 0 is allowed.
        may_be_zero: bool,
    },
    /// It is 0, in which nothing can be done.
    Zero,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable { may_be_zero: true } => {
                "not a duration; for example 90s, 5min, or 0 (d, h, min, s, ms)"
            }
            Self::Unreadable { may_be_zero: false } => {
                "not a duration; for example 90s or 7d (w, d, h, min, s, ms)"
            }
            Self::Zero => "the duration must be above zero",
        })
    }
}

impl std::error::Error for TimeError {}

/// Units and their milliseconds, the longest first. No `m`: that is a million.
const UNITS: [(&str, u64); 6] = [
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// Reads a whole number of weeks, days, hours, minutes, seconds or milliseconds, in milliseconds;
/// `None` if it is no length of time.
///
/// ```
/// use mayhap_units::span::parse_millis;
/// assert_eq!(parse_millis("90s"), Some(90_000));
/// assert_eq!(parse_millis("7d"), Some(604_800_000));
/// assert_eq!(parse_millis("10M"), None); // a count
/// ```
pub fn parse_millis(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, millis) = UNITS.into_iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(millis)
}

/// Reads a length of time above 0.
///
/// # Errors
///
/// [`TimeError`].
///
/// ```
/// use mayhap_units::span::{TimeError, parse_time};
/// use std::time::Duration;
/// assert_eq!(parse_time("90s"), Ok(Duration::from_secs(90)));
/// assert_eq!(parse_time("0s"), Err(TimeError::Zero));
/// assert_eq!(parse_time("soon"), Err(TimeError::Unreadable { may_be_zero: false }));
/// ```
pub fn parse_time(text: &str) -> Result<Duration, TimeError> {
    match parse_millis(text) {
        Some(0) => Err(TimeError::Zero),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err(TimeError::Unreadable { may_be_zero: false }),
    }
}

/// Reads a length of time, or 0 without a unit.
///
/// # Errors
///
/// [`TimeError::Unreadable`].
///
/// ```
/// use mayhap_units::span::{TimeError, parse_timeout};
/// use std::time::Duration;
/// assert_eq!(parse_timeout("0"), Ok(Duration::ZERO));
/// assert_eq!(parse_timeout("5min"), Ok(Duration::from_secs(300)));
/// assert_eq!(parse_timeout("1"), Err(TimeError::Unreadable { may_be_zero: true }));
/// ```
pub fn parse_timeout(text: &str) -> Result<Duration, TimeError> {
    let millis = if text == "0" { Some(0) } else { parse_millis(text) };
    millis.map(Duration::from_millis).ok_or(TimeError::Unreadable { may_be_zero: true })
}

/// Formats milliseconds for messages, rounded to a tenth of the longest unit that fits.
///
/// ```
/// use mayhap_units::span::format_millis;
/// assert_eq!(format_millis(86_400_000), "1 d");
/// assert_eq!(format_millis(93_600_000), "1.1 d");
/// assert_eq!(format_millis(999), "999 ms");
/// ```
pub fn format_millis(millis: u64) -> String {
    // Weeks are typed, but days are read more easily.
    let unit = UNITS.into_iter().skip(1).find(|(_, unit)| millis >= *unit);
    let (name, unit) = unit.unwrap_or(("ms", 1));
    let text = format!("{:.1}", millis as f64 / unit as f64);
    format!("{} {name}", text.trim_end_matches(".0"))
}

/// Writes milliseconds so that [`parse_millis`] reads them back: a whole number of the longest
/// unit, up to days, that divides them.
///
/// ```
/// use mayhap_units::span::{parse_millis, write_millis};
/// assert_eq!(write_millis(90_000), "90s");
/// assert_eq!(write_millis(604_800_000), "7d");
/// assert_eq!(parse_millis(&write_millis(1_234)), Some(1_234));
/// ```
pub fn write_millis(millis: u64) -> String {
    let divides = |(_, unit): &(&str, u64)| millis >= *unit && millis.is_multiple_of(*unit);
    let (name, unit) = UNITS.into_iter().skip(1).find(divides).unwrap_or(("ms", 1));
    format!("{}{name}", millis / unit)
}
