//! How full a set of keys is, counted in distinct keys, including those it took for repeats.

use mayhap_units::number::{counted, format_count};
use serde::Serialize;

/// How often the rate is looked at while as many keys come as a filter was made for; of a window,
/// where that takes 0.1 ms, only after this many keys.
pub const RATE_STEPS: u64 = 64;
/// The fewest keys of such a step.
pub(crate) const MIN_RATE_STEP: u64 = 4096;

/// Keys that a window of time forgot early.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Forgotten {
    /// Keys.
    #[serde(rename = "forgotten_early")]
    pub keys: u64,
    /// Keys that it remembers of any such time.
    #[serde(skip)]
    pub expected_items: u64,
}

impl Forgotten {
    /// The keys forgotten since this many `keys` were.
    #[must_use]
    pub fn since(self, keys: u64) -> Self {
        Self { keys: self.keys.saturating_sub(keys), ..self }
    }

    /// In words; `None` if nothing was.
    pub fn text(self) -> Option<String> {
        let (keys, more) = (counted(self.keys, "key"), format_count(self.expected_items));
        let text = format!("forgot {keys} early: more than {more} came within the window");
        (self.keys > 0).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_before_is_not_counted_again() {
        let forgotten = Forgotten { keys: 5, expected_items: 1_000 };
        let text = |keys| forgotten.since(keys).text();
        assert_eq!(text(3).unwrap(), "forgot 2 keys early: more than 1,000 came within the window");
        assert_eq!(text(4).unwrap(), "forgot 1 key early: more than 1,000 came within the window");
        assert_eq!((text(5), text(6)), (None, None));
    }
}
