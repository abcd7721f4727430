//! How full a set of keys is: by the distinct keys that came, those that it took for repeats too.

use crate::io::messages::grouped;
use crate::set::inserter::Seen;
use mayhap::Estimate;
use mayhap_units::number::format_count;
use serde::Serialize;

/// How often the rate is looked at while as many keys come as a filter was made for; of a window,
/// where that takes 0.1 ms, only after so many keys.
const RATE_STEPS: u64 = 64;
const MIN_RATE_STEP: u64 = 4096;

/// What a window of time forgot before its time.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Forgotten {
    /// Keys.
    #[serde(rename = "forgotten_early")]
    pub(crate) keys: u64,
    /// Keys that it remembers of any such time.
    #[serde(skip)]
    expected_items: u64,
}

impl Forgotten {
    /// What was forgotten since so many `keys` were.
    #[must_use]
    pub fn since(self, keys: u64) -> Self {
        Self { keys: self.keys.saturating_sub(keys), ..self }
    }

    /// In words; `None` if nothing was.
    pub fn text(self) -> Option<String> {
        let (keys, more) = (grouped(self.keys), format_count(self.expected_items));
        let text = format!("forgot {keys} keys early: more than {more} came within the window");
        (self.keys > 0).then_some(text)
    }
}

impl Seen {
    /// The [`Seen::items`] at which it is full, if it ever is.
    pub(crate) fn full_at(&self, absent_only: bool) -> Option<u64> {
        match self {
            Self::Fixed(filter) => Some(filter.params().inserted_when_full()),
            Self::Growing(_) => None,
            Self::Kind(filter) => filter.full_at(absent_only),
            Self::Remote(filter) => Some(filter.full_at()),
        }
    }

    /// How many distinct keys came, by those that it counted. `None` where they do not say, as of
    /// one that forgets.
    pub(crate) fn distinct_items(&self, absent_only: bool) -> Option<Estimate> {
        match self {
            Self::Fixed(filter) => {
                Some(Estimate::from_inserted(filter.params(), filter.inserted_items()))
            }
            Self::Growing(chain) => Some(chain.distinct_items()),
            Self::Kind(filter) => filter.distinct_items(absent_only),
            Self::Remote(_) => None,
        }
    }

    /// [`Seen::distinct_items`], by its bits too where these say more. Reads all of them.
    pub(crate) fn distinct_items_by_all(&self, absent_only: bool) -> Option<Estimate> {
        match self {
            Self::Fixed(filter) => Some(filter.distinct_items()),
            _ => self.distinct_items(absent_only),
        }
    }

    /// The predicted rate now, by the keys that came. Reads no bits.
    pub(crate) fn expected_fpp(&self) -> f64 {
        match self {
            Self::Fixed(filter) => {
                filter.expected_fpp(filter.params().distinct_items(filter.inserted_items()))
            }
            Self::Growing(chain) => chain.expected_fpp(),
            Self::Kind(filter) => filter.expected_fpp(),
            Self::Remote(filter) => filter.params().expected_fpp(filter.items()),
        }
    }

    /// What was forgotten before its time so far, by what does so.
    pub(crate) fn forgotten(&self) -> Option<Forgotten> {
        let Self::Kind(filter) = self else { return None };
        let expected_items = filter.expected_items();
        filter.forgotten_early().map(|keys| Forgotten { keys, expected_items })
    }

    /// The [`Seen::items`] at which four fifths of the distinct keys that it was made for are in.
    pub(crate) fn warn_at(&self) -> Option<u64> {
        let expected = self.expected_items()?;
        let four_fifths = expected - expected / 5;
        Some(match self {
            Self::Fixed(filter) => filter.params().expected_inserted(four_fifths).ceil() as u64,
            _ => four_fifths,
        })
    }

    /// Keys of a step in which the rate changes little.
    pub(crate) fn rate_step(&self) -> u64 {
        match self {
            Self::Kind(filter) => (filter.expected_items() / RATE_STEPS).max(MIN_RATE_STEP),
            _ => self.expected_items().unwrap_or(0) / RATE_STEPS,
        }
    }
}
