//! How many new keys a set took for repeats while it was filled.

use mayhap::Estimate;
use mayhap::set::Repeats;
use mayhap_sets::{Forgotten, KeySet, Lost, OwnSet, RateSum};

/// The keys of a set at the start, those inserted since, and those lost.
#[derive(Debug)]
pub(super) struct Loss {
    /// Keys at the start and those inserted as new since; forgotten keys still count.
    counted: u64,
    /// The keys inserted before the start, and how many of them were counted.
    first: Option<(Estimate, u64)>,
    /// Keys of others lost since.
    others: Lost,
    /// Keys lost before the filter was last cleared.
    earlier: Lost,
    /// Keys that were forgotten early before.
    forgotten: u64,
    rates: RateSum,
    rate_step: u64,
    /// Whether others insert too.
    is_shared: bool,
    /// Lines since the rate was looked at, where it rises without new keys: on a server.
    lines_since: u64,
}

/// How a set is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// The treatment of keys that are there.
    pub(super) repeats: Repeats,
    /// Whether it holds more keys than when it is full, so that its bits say more than its count.
    pub(super) all_bits: bool,
}

impl Loss {
    /// Of a set as it is now, before it is looked at.
    pub(super) fn of(set: &dyn KeySet) -> Self {
        let numbers = set.numbers(Repeats::Renew);
        Self {
            counted: numbers.items,
            first: None,
            others: Lost::default(),
            earlier: Lost::default(),
            forgotten: numbers.forgotten.map_or(0, |forgotten| forgotten.keys),
            rates: RateSum::starting_at(numbers.items, numbers.expected_fpp),
            rate_step: numbers.rate_step,
            is_shared: set.remote().is_some(),
            lines_since: 0,
        }
    }

    /// Keys at the start and those inserted as new since.
    pub(super) fn counted(&self) -> u64 {
        self.counted
    }

    /// Takes the current contents as the start.
    pub(super) fn start(&mut self, set: &dyn KeySet, look: Look) {
        self.first = self.look(set, look);
    }

    /// The keys inserted until now, and how many of them were counted.
    pub(super) fn look(&self, set: &dyn KeySet, look: Look) -> Option<(Estimate, u64)> {
        // Below its capacity a look at the bits would say no more.
        let came = if look.all_bits {
            came_by_bits(set, look.repeats)
        } else {
            set.numbers(look.repeats).distinct_items
        };
        came.map(|came| (came, self.counted))
    }

    /// The new lines that were taken for repeats so far. Reads all bits.
    pub(super) fn lost(&mut self, set: &dyn KeySet, repeats: Repeats) -> Lost {
        let came = came_by_bits(set, repeats);
        if let (Some(first), Some(came)) = (self.first, came) {
            let mut lost = Lost::between(first, (came, self.counted)).without(self.others);
            lost += self.earlier;
            return lost;
        }
        self.advance(set);
        self.rates.lost()
    }

    /// Sums the rate up to now.
    pub(super) fn advance(&mut self, set: &dyn KeySet) {
        self.rates.advance(self.counted, expected_fpp(set));
    }

    /// Keeps the loss so far before the set is cleared.
    pub(super) fn before_clearing(&mut self, set: &dyn KeySet, repeats: Repeats) {
        self.earlier = self.lost(set, repeats);
        self.others = Lost::default();
    }

    /// Continues with the cleared set.
    pub(super) fn after_clearing(&mut self, set: &dyn KeySet, look: Look) {
        self.start(set, look);
        self.rates.go_on_at(self.counted, expected_fpp(set));
    }

    /// Continues with a set to which others have added this many keys.
    pub(super) fn add_others(&mut self, set: &dyn KeySet, keys: u64) {
        self.counted = self.counted.saturating_add(keys);
        self.rates.go_on_at(self.counted, expected_fpp(set));
    }

    /// Notes keys of others lost between two looks.
    pub(super) fn note_others(&mut self, before: (Estimate, u64), after: (Estimate, u64)) {
        self.others += Lost::between(before, after);
    }

    /// Counts the new keys of this many lines, and reads the rate if it is due.
    pub(super) fn count(&mut self, set: &dyn KeySet, new: u64, lines: u64) {
        self.counted = self.counted.saturating_add(new);
        if self.is_shared {
            // Between two new keys of one that is overfilled the rate rises.
            self.lines_since += lines;
        }
        let new_since = self.counted - self.rates.items();
        if self.first.is_none() && new_since.max(self.lines_since) >= self.rate_step {
            self.advance(set);
            self.lines_since = 0;
        }
    }

    /// Keys forgotten early since the start, of sets that forget.
    pub(super) fn forgotten(&self, set: &dyn KeySet) -> Option<Forgotten> {
        Some(set.numbers(Repeats::Renew).forgotten?.since(self.forgotten))
    }
}

fn expected_fpp(set: &dyn KeySet) -> f64 {
    set.numbers(Repeats::Renew).expected_fpp
}

/// The keys inserted until now, by the bits where these say more than the count. Reads all of them.
fn came_by_bits(set: &dyn KeySet, repeats: Repeats) -> Option<Estimate> {
    let by_bits = set.own().and_then(OwnSet::distinct_by_bits);
    by_bits.or_else(|| set.numbers(repeats).distinct_items)
}
