//! Clearing a plain filter when a given share of its bits is set (`--clear-at`).

use crate::error::Error;
use mayhap::AnyFilter;
use mayhap_sets::{KeySet, OwnSet, RATE_STEPS};

/// When a filter is cleared, and how often it was.
#[derive(Debug)]
pub(super) struct Clearing {
    /// The share of set bits.
    share: f64,
    /// New keys between two looks at the bits.
    step: u64,
    /// New keys until the next look.
    left: u64,
    times: u64,
}

impl Clearing {
    /// At this share of set bits.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for sets other than plain filters in memory.
    pub(super) fn new(set: &mut dyn KeySet, share: f64) -> Result<Self, Error> {
        let kind = set.name();
        let Some(filter) = plain(set) else {
            return Err(Error::usage(
                format!("--clear-at is for plain filters in memory and in files, not for {kind}"),
                "omit it; or give -n or --mem, which make a plain filter; one on mayhap serve is \
                 created to clear itself: BF.RESERVE ... CLEARAT 0.5",
            ));
        };
        let step = (filter.params().expected_items() / RATE_STEPS).max(1);
        Ok(Self { share, step, left: 0, times: 0 })
    }

    /// The most lines before the bits are looked at.
    pub(super) fn most_lines(&self) -> u64 {
        self.left.max(1)
    }

    /// Counts new keys.
    pub(super) fn advance(&mut self, new: u64) {
        self.left = self.left.saturating_sub(new);
    }

    /// The share of set bits if it is so high that the filter is to be cleared. Reads all bits,
    /// once in a 64th of its keys.
    pub(super) fn due(&mut self, set: &mut dyn KeySet) -> Option<f64> {
        if self.left > 0 {
            return None;
        }
        self.left = self.step;
        let filter = plain(set)?;
        let fill = filter.count_ones() as f64 / filter.params().num_bits() as f64;
        (fill >= self.share).then_some(fill)
    }

    /// Counts that it was cleared.
    pub(super) fn cleared(&mut self) {
        self.times += 1;
    }

    /// How often it was.
    pub(super) const fn times(&self) -> u64 {
        self.times
    }
}

/// A set as a plain filter in memory.
fn plain(set: &mut dyn KeySet) -> Option<&mut AnyFilter> {
    set.own_mut().and_then(OwnSet::plain_mut)
}
