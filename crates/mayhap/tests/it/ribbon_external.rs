//! Ribbon filters of digests that are read in order, with equations kept elsewhere: the same filter
//! as in memory, and whatever goes wrong is told.

use mayhap::{Digest, DigestFunction, Error, RibbonFilter, Scratch, SortedDigests};

const FUNCTION: DigestFunction = DigestFunction::xxh3(5);

#[derive(Debug, PartialEq)]
enum Wrong {
    Filter(Error),
    Put(usize),
    Take(usize),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self::Filter(error)
    }
}

/// Digests in pieces, as many and in an order that may be wrong.
#[derive(Clone)]
struct Pieces {
    digests: Vec<u64>,
    read: usize,
    count: u64,
    /// Added to the number of digests below a limit.
    too_many_below: i64,
    piece: usize,
}

impl Pieces {
    fn of(items: u64) -> Self {
        let mut digests: Vec<u64> = (0..items).map(|key| FUNCTION.digest(&key).get()).collect();
        digests.sort_unstable();
        Self { digests, read: 0, count: items, too_many_below: 0, piece: 7_919 }
    }
}

impl SortedDigests<Wrong> for Pieces {
    fn count(&self) -> u64 {
        self.count
    }

    fn count_below(&mut self, limit: u64) -> Result<u64, Wrong> {
        assert_eq!(self.read, 0);
        let below = self.digests.iter().filter(|&&digest| digest < limit).count() as u64;
        Ok(below.saturating_add_signed(self.too_many_below))
    }

    fn read(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), Wrong> {
        let next = &self.digests[self.read..];
        let next = &next[..next.len().min(at_most).min(self.piece)];
        digests.extend_from_slice(next);
        self.read += next.len();
        Ok(())
    }
}

/// Words in memory, whose `fails`th call fails.
#[derive(Default)]
struct Stack {
    words: Vec<Vec<u64>>,
    calls: usize,
    fails: Option<usize>,
    /// The most words at a time.
    most: usize,
}

impl Stack {
    fn call(&mut self) -> Result<usize, usize> {
        self.calls += 1;
        if self.fails == Some(self.calls) { Err(self.calls) } else { Ok(self.calls) }
    }
}

impl Scratch<Wrong> for &mut Stack {
    fn put(&mut self, words: &[u64]) -> Result<(), Wrong> {
        self.call().map_err(Wrong::Put)?;
        self.words.push(words.to_vec());
        self.most = self.most.max(words.len());
        Ok(())
    }

    fn take(&mut self, words: &mut [u64]) -> Result<(), Wrong> {
        self.call().map_err(Wrong::Take)?;
        words.copy_from_slice(&self.words.pop().unwrap());
        Ok(())
    }
}

fn build(target_fpp: f64, digests: Pieces, stack: &mut Stack) -> Result<RibbonFilter, Wrong> {
    RibbonFilter::build_external(target_fpp, FUNCTION, digests, stack)
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn it_is_the_filter_that_is_built_in_memory() {
    for (items, target_fpp) in [(0, 0.01), (1, 0.01), (3_000, 0.06), (1_500_000, 0.003)] {
        let mut stack = Stack::default();
        let digests = Pieces::of(items);
        let filter = build(target_fpp, digests.clone(), &mut stack).unwrap();
        let all: Vec<Digest> = digests.digests.iter().copied().map(Digest::new).collect();
        // In memory the same code builds it, so equality alone would not show a lost equation.
        assert_eq!(filter.contains_digests(&all).count_ones() as u64, items, "false negative");
        let other = RibbonFilter::build_for_target(target_fpp, FUNCTION, all).unwrap();
        assert_eq!(filter.params(), other.params());
        assert!(filter.storage().as_ref() == other.storage().as_ref(), "{items}");
        assert!(stack.words.is_empty());
        // What is put away at a time does not grow with the filter: 4096 segments.
        assert!(stack.most <= 4096 * 64 * 3 / 2, "{}", stack.most);
        assert!(items < 1_000_000 || stack.calls > 12, "{}", stack.calls);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn digests_that_are_not_what_was_announced_are_refused() {
    let sound = Pieces::of(100_000);
    // Of two widths, so that there are digests of both parts.
    let refused = |digests: &Pieces| match build(0.003, digests.clone(), &mut Stack::default()) {
        Err(Wrong::Filter(error @ (Error::BadField { .. } | Error::OutOfRange { .. }))) => error,
        other => panic!("{other:?}"),
    };
    build(0.003, sound.clone(), &mut Stack::default()).unwrap();
    for place in [0, 7_918, 50_000, 99_998] {
        let mut digests = sound.clone();
        digests.digests.swap(place, place + 1);
        refused(&digests);
        digests.digests[place] = digests.digests[place + 1];
        refused(&digests);
    }
    let mut digests = sound.clone();
    digests.count += 1;
    refused(&digests);
    for too_many_below in [-1, 1, 50_000, i64::MAX] {
        refused(&Pieces { too_many_below, ..sound.clone() });
    }
    // None is read.
    refused(&Pieces { piece: 0, ..sound });
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn an_error_of_the_scratch_space_ends_the_building() {
    let digests = Pieces::of(600_000);
    let mut sound = Stack::default();
    build(0.003, digests.clone(), &mut sound).unwrap();
    for fails in 1..=sound.calls {
        let mut stack = Stack { fails: Some(fails), ..Stack::default() };
        let error = build(0.003, digests.clone(), &mut stack).map(drop).unwrap_err();
        let is_put = fails <= sound.calls / 2;
        assert_eq!(error, if is_put { Wrong::Put(fails) } else { Wrong::Take(fails) });
    }
}
