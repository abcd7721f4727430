//! A filter for the lines that a file had, and one that grows for those that came to it since.

use super::create::growing;
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, Estimate};
use mayhap_sets::{KeySet, State};

/// A filter of a counted size, and another one that grows once it is full.
#[derive(Debug)]
pub struct Spilling {
    counted: AnyFilter,
    /// For what comes then: empty until then.
    more: Box<dyn KeySet>,
    new: Bitmap,
}

impl Spilling {
    /// Of an empty filter; both together take at most so many bytes. Where these leave no room for
    /// another one it is the filter alone.
    pub fn boxed(counted: AnyFilter, max_bytes: u64) -> Box<dyn KeySet> {
        let (params, function) = (counted.params(), *counted.digest_function());
        let left = max_bytes.saturating_sub(params.num_bytes());
        match growing(params.target_fpp(), function, left) {
            Ok(more) => Box::new(Self { counted, more, new: Bitmap::new() }),
            Err(_) => Box::new(counted),
        }
    }

    /// How many more keys fit into the first filter.
    fn room(&self) -> usize {
        let full_at = self.counted.params().inserted_when_full();
        usize::try_from(full_at.saturating_sub(self.counted.inserted_items())).unwrap_or(usize::MAX)
    }

    fn has_spilled(&self) -> bool {
        self.more.items() > 0
    }

    /// Inserts into the second filter what the first one does not have; the places in `new` begin
    /// at `start`.
    fn insert_more(
        &mut self,
        digests: &[Digest],
        (start, new): (usize, &mut Bitmap),
    ) -> Result<(), mayhap_sets::Error> {
        self.counted.contains_digests_into(digests, &mut self.new);
        let is_absent = |i: &usize| !self.new.get(*i);
        let places: Vec<usize> = (0..digests.len()).filter(is_absent).collect();
        let absent: Vec<Digest> = places.iter().map(|&i| digests[i]).collect();
        // Those before the one for which there was no memory are in, also after an error.
        let inserted = self.more.insert_digests_into(&absent, &mut self.new);
        self.new.iter_ones().for_each(|i| new.set(start + places[i]));
        inserted
    }
}

impl KeySet for Spilling {
    fn name(&self) -> &'static str {
        if self.has_spilled() { self.more.name() } else { KeySet::name(&self.counted) }
    }

    fn digest_function(&self) -> DigestFunction {
        *self.counted.digest_function()
    }

    fn contains_digests_into(
        &self,
        digests: &[Digest],
        found: &mut Bitmap,
    ) -> Result<(), mayhap_sets::Error> {
        self.counted.contains_digests_into(digests, found);
        let mut more = Bitmap::new();
        self.more.contains_digests_into(digests, &mut more)?;
        more.iter_ones().for_each(|i| found.set(i));
        Ok(())
    }

    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap_sets::Error> {
        if digests.len() <= self.room() {
            self.counted.insert_digests_into(digests, new);
            return Ok(());
        }
        new.clear_to(digests.len());
        let mut done = 0;
        while done < digests.len() && self.room() > 0 {
            let end = digests.len().min(done + self.room());
            self.counted.insert_digests_into(&digests[done..end], &mut self.new);
            self.new.iter_ones().for_each(|i| new.set(done + i));
            done = end;
        }
        self.insert_more(&digests[done..], (done, new))
    }

    fn capacity(&self) -> Option<u64> {
        self.counted.capacity().filter(|_| !self.has_spilled())
    }

    fn expected_items(&self) -> u64 {
        self.counted.params().expected_items()
    }

    fn full_at(&self, _absent_only: bool) -> Option<u64> {
        None
    }

    fn items(&self) -> u64 {
        self.counted.inserted_items() + self.more.items()
    }

    fn distinct_items(&self, absent_only: bool) -> Option<Estimate> {
        let counted = KeySet::distinct_items(&self.counted, absent_only)?;
        if !self.has_spilled() {
            return Some(counted);
        }
        // Of those that came later the first filter took its share for repeats.
        let (more, found) = (self.more.distinct_items(absent_only)?, self.counted_fpp());
        let both = |counted: f64, more: f64| counted + more / (1.0 - found);
        Some(Estimate {
            items: both(counted.items, more.items),
            low: both(counted.low, more.low),
            high: both(counted.high, more.high),
        })
    }

    fn num_bytes(&self) -> u64 {
        let more = if self.has_spilled() { self.more.num_bytes() } else { 0 };
        self.counted.params().num_bytes() + more
    }

    fn target_fpp(&self) -> f64 {
        let counted = self.counted.params().target_fpp();
        if self.has_spilled() { either(counted, self.more.target_fpp()) } else { counted }
    }

    fn expected_fpp(&self) -> f64 {
        either(self.counted_fpp(), self.more.expected_fpp())
    }

    fn rate_step(&self) -> u64 {
        KeySet::rate_step(&self.counted)
    }

    fn state(&self) -> State {
        let counted = State::of(&self.counted);
        if !self.has_spilled() {
            return counted;
        }
        let (more, num_bytes) = (self.more.state(), self.num_bytes());
        let set = |state: &State| state.fill_ratio * state.num_bytes as f64;
        State {
            num_bytes,
            items: self.items(),
            distinct_items: counted.distinct_items.zip(more.distinct_items).map(|(a, b)| a + b),
            target_fpp: self.target_fpp(),
            estimated_fpp: either(counted.estimated_fpp, more.estimated_fpp),
            fill_ratio: (set(&counted) + set(&more)) / num_bytes as f64,
            ..more
        }
    }
}

impl Spilling {
    fn counted_fpp(&self) -> f64 {
        KeySet::expected_fpp(&self.counted)
    }
}

/// The rate of two filters of which either may answer.
fn either(one: f64, other: f64) -> f64 {
    one + other - one * other
}
