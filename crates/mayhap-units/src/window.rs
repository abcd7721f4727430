//! The size of a window as users type it: the last `10M` keys, or the keys of the last `7d`.
//!
//! ```text
//! window = count | time      as in the modules `number` and `span`
//! ```
//!
//! `30m` could be either, minutes or millions, and is refused: `30min` and `30M` are clear.

use crate::number::parse_count;
use crate::span::parse_millis;
use std::fmt;

/// The keys that a window remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSize {
    /// This number of keys, the last ones.
    Items(u64),
    /// The keys of this number of milliseconds, the last ones.
    Millis(u64),
}

/// The reason why a text is no size of a window; holds the text before a window, where one is typed
/// after a prefix such as `window:`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowError {
    /// Nothing would be remembered.
    Empty(String),
    /// Minutes or millions; holds the number before the unit, too.
    Ambiguous(&'static str, String),
    /// Neither a number of keys nor a time.
    Unreadable(&'static str, String),
}

/// Reads the size of a window, which is typed after `prefix`.
///
/// # Errors
///
/// [`WindowError::Empty`] for 0 of anything, [`WindowError::Ambiguous`] for a number and `m`,
/// [`WindowError::Unreadable`] for everything else that is neither a count nor a time.
///
/// ```
/// use mayhap_units::window::{WindowError, WindowSize, parse_window};
/// assert_eq!(parse_window("10M", ""), Ok(WindowSize::Items(10_000_000)));
/// assert_eq!(parse_window("30min", ""), Ok(WindowSize::Millis(1_800_000)));
/// let message = parse_window("30m", "window:").unwrap_err().to_string();
/// assert!(message.contains("window:30min") && message.contains("window:30M"));
/// ```
pub fn parse_window(text: &str, prefix: &'static str) -> Result<WindowSize, WindowError> {
    let trimmed = text.trim();
    match (parse_millis(trimmed), parse_count(trimmed)) {
        (Some(0), _) | (_, Ok(0)) => Err(WindowError::Empty(text.to_owned())),
        (Some(millis), _) => Ok(WindowSize::Millis(millis)),
        (None, Ok(items)) => match trimmed.strip_suffix('m') {
            Some(number) => Err(WindowError::Ambiguous(prefix, number.trim_end().to_owned())),
            None => Ok(WindowSize::Items(items)),
        },
        (None, Err(_)) => Err(WindowError::Unreadable(prefix, text.to_owned())),
    }
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(text) => write!(f, "a window of {text} remembers nothing"),
            Self::Ambiguous(prefix, number) => write!(
                f,
                "a window of {number}m could be minutes or millions; write {prefix}{number}min for \
                 minutes, {prefix}{number}M for million keys"
            ),
            Self::Unreadable(prefix, text) => write!(
                f,
                "{text:?} is neither a number of keys nor a time; write {prefix}10M for the last \
                 10 million keys, or {prefix}7d for the last 7 days (w, d, h, min, s, ms)"
            ),
        }
    }
}

impl std::error::Error for WindowError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_unit_of_time_is_a_time_and_any_other_a_count() {
        for (text, size) in [
            ("1", WindowSize::Items(1)),
            ("10M", WindowSize::Items(10_000_000)),
            ("1.5k", WindowSize::Items(1_500)),
            ("2Mi", WindowSize::Items(2 << 20)),
            ("90s", WindowSize::Millis(90_000)),
            ("250ms", WindowSize::Millis(250)),
            ("30min", WindowSize::Millis(1_800_000)),
            ("7d", WindowSize::Millis(604_800_000)),
            (" 2 w ", WindowSize::Millis(1_209_600_000)),
        ] {
            assert_eq!(parse_window(text, ""), Ok(size), "{text}");
        }
    }

    #[test]
    fn minutes_or_millions_are_refused_with_both_clear_spellings() {
        for (text, number) in [("30m", "30"), ("1.5m", "1.5"), ("2 m", "2")] {
            let error = parse_window(text, "").unwrap_err();
            assert_eq!(error, WindowError::Ambiguous("", number.into()), "{text}");
            let message = error.to_string();
            let clear = [format!("{number}min"), format!("{number}M")];
            assert!(clear.iter().all(|clear| message.contains(clear)), "{message}");
        }
    }

    #[test]
    fn nothing_and_no_number_are_refused() {
        for text in ["0", "0s", "0m", "0M"] {
            assert_eq!(parse_window(text, ""), Err(WindowError::Empty(text.into())));
        }
        for text in ["", "x", "7y", "-1", "1h30min", "1.5h", "99999999999999999999d"] {
            assert_eq!(parse_window(text, ""), Err(WindowError::Unreadable("", text.into())));
        }
    }
}
