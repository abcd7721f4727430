//! How full a set of keys is: by the distinct keys that came, those that it took for repeats too.

use mayhap_units::number::{counted, format_count};
use serde::Serialize;

/// How often the rate is looked at while as many keys come as a filter was made for; of a window,
/// where that takes 0.1 ms, only after so many keys.
pub const RATE_STEPS: u64 = 64;
/// The fewest keys of such a step.
pub const MIN_RATE_STEP: u64 = 4096;

/// What a window of time forgot before its time.
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
    /// What was forgotten since so many `keys` were.
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
