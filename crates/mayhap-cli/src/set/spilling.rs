//! A filter for the lines that a file had, and one that grows for those that came to it since.

use super::create::Chain;
use mayhap::native::Kind;
use mayhap::set::Repeats;
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, Estimate};
use mayhap_sets::{Capabilities, Error, KeySet, Keys, Measurements, Numbers, OwnSet, State};

/// A filter of a counted size, and another one that grows once it is full.
#[derive(Debug)]
pub struct Spilling {
    counted: OwnSet,
    function: DigestFunction,
    /// Insertions answered "new" at which it is full: worked out once, which takes as long as
    /// inserting a batch.
    full_at: u64,
    /// For the keys after that.
    chain: Chain,
    /// That chain, once such a key came.
    more: Option<OwnSet>,
    new: Bitmap,
}

impl Spilling {
    /// Of an empty filter; both together take at most this many bytes. Where these leave no room
    /// for another one it is the filter alone.
    pub fn boxed(counted: AnyFilter, max_bytes: u64) -> Box<dyn KeySet> {
        let (params, function) = (*counted.params(), *counted.digest_function());
        let (left, counted) = (max_bytes.saturating_sub(params.num_bytes()), counted.into());
        match Chain::plan(params.target_fpp(), function, left) {
            Ok(chain) => {
                let (full_at, new) = (params.inserted_when_full(), Bitmap::new());
                Box::new(Self { counted, function, full_at, chain, more: None, new })
            }
            Err(_) => Box::new(counted),
        }
    }

    /// How many more keys fit into the first filter.
    fn room(&self) -> usize {
        let left = self.full_at.saturating_sub(self.counted.items());
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// The second filter, if it has keys.
    fn spilled(&self) -> Option<&OwnSet> {
        self.more.as_ref().filter(|more| more.items() > 0)
    }

    /// Inserts into the second filter what the first one does not have; the places in `new` begin
    /// at `start`.
    fn insert_more(
        &mut self,
        digests: &[Digest],
        (start, new): (usize, &mut Bitmap),
    ) -> Result<(), Error> {
        self.counted.contains_into(digests.into(), &mut self.new)?;
        let is_absent = |i: &usize| !self.new.get(*i);
        let places: Vec<usize> = (0..digests.len()).filter(is_absent).collect();
        let absent: Vec<Digest> = places.iter().map(|&i| digests[i]).collect();
        if absent.is_empty() {
            return Ok(());
        }
        let more = match &mut self.more {
            Some(more) => more,
            none => none.insert(self.chain.create()?),
        };
        // Keys before the one for which there was no memory are in, also after an error.
        let inserted = more.insert_into(absent[..].into(), Repeats::Ignore, &mut self.new);
        self.new.iter_ones().for_each(|i| new.set(start + places[i]));
        inserted
    }
}

impl KeySet for Spilling {
    fn name(&self) -> &'static str {
        self.spilled().unwrap_or(&self.counted).name()
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.function)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { clears: false, ..Kind::Scalable.capabilities().into() }
    }

    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        let digests = keys.digests(&self.function);
        self.counted.contains_into(digests[..].into(), found)?;
        if let Some(more) = &mut self.more {
            more.contains_into(digests[..].into(), &mut self.new)?;
            self.new.iter_ones().for_each(|i| found.set(i));
        }
        Ok(())
    }

    fn insert_into(
        &mut self,
        keys: Keys<'_>,
        repeats: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        if keys.len() <= self.room() {
            return self.counted.insert_into(keys, repeats, new);
        }
        let digests = keys.digests(&self.function);
        new.clear_to(digests.len());
        let mut done = 0;
        while done < digests.len() && self.room() > 0 {
            let end = digests.len().min(done + self.room());
            self.counted.insert_into(digests[done..end].into(), repeats, &mut self.new)?;
            self.new.iter_ones().for_each(|i| new.set(done + i));
            done = end;
        }
        self.insert_more(&digests[done..], (done, new))
    }

    fn items(&self) -> u64 {
        self.counted.items() + self.more.as_ref().map_or(0, OwnSet::items)
    }

    fn numbers(&self, repeats: Repeats) -> Numbers {
        let counted = self.counted.numbers(repeats);
        let Some(more) = self.spilled().map(|more| more.numbers(repeats)) else {
            return Numbers { full_at: None, ..counted };
        };
        let expected_fpp = either(counted.expected_fpp, more.expected_fpp);
        // Of those that came later the first filter took its share for repeats.
        let both = |first: f64, later: f64| first + later / (1.0 - counted.expected_fpp);
        let came = |(first, later): (Estimate, Estimate)| Estimate {
            items: both(first.items, later.items),
            low: both(first.low, later.low),
            high: both(first.high, later.high),
        };
        Numbers {
            num_bytes: counted.num_bytes + more.num_bytes,
            capacity: None,
            full_at: None,
            items: self.items(),
            distinct_items: counted.distinct_items.zip(more.distinct_items).map(came),
            target_fpp: either(counted.target_fpp, more.target_fpp),
            expected_fpp,
            ..counted
        }
    }

    fn measurements(&self) -> Measurements {
        let counted = self.counted.state();
        let Some(more) = self.spilled().map(OwnSet::state) else {
            return Measurements::Own(counted);
        };
        let numbers = self.numbers(Repeats::Ignore);
        let set = |state: &State| state.fill_ratio * state.num_bytes as f64;
        Measurements::Own(State {
            num_bytes: numbers.num_bytes,
            items: numbers.items,
            distinct_items: counted.distinct_items.zip(more.distinct_items).map(|(a, b)| a + b),
            target_fpp: numbers.target_fpp,
            estimated_fpp: either(counted.estimated_fpp, more.estimated_fpp),
            fill_ratio: (set(&counted) + set(&more)) / numbers.num_bytes as f64,
            ..more
        })
    }
}

/// The rate of two filters of which either may answer.
fn either(one: f64, other: f64) -> f64 {
    one + other - one * other
}
