//! Random histories against a set: the answers that a filter may give after any history.

use super::{cases, shapes};
use mayhap::{AnyFilter, Block, Build, DigestFunction, FilterParams, native};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

#[derive(Clone, Debug)]
enum Step {
    Insert(u16),
    InsertBatch(Vec<u16>),
    Contains(u16),
    Union(Vec<u16>),
    /// Encode, forget, decode: a restart.
    Reopen,
    /// A phase of shared use by two threads.
    Share(Vec<u16>),
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = || vec(0..500u16, 0..20);
    let step = prop_oneof![
        8 => (0..500u16).prop_map(Step::Insert),
        4 => keys().prop_map(Step::InsertBatch),
        8 => (0..500u16).prop_map(Step::Contains),
        2 => keys().prop_map(Step::Union),
        2 => Just(Step::Reopen),
        1 => keys().prop_map(Step::Share),
        1 => Just(Step::Clear),
    ];
    vec(step, 0..60)
}

struct Run {
    filter: AnyFilter,
    inside: HashSet<u16>,
    params: FilterParams,
    /// The insertions that were answered "new", while that count is exact.
    news: Option<u64>,
}

impl Run {
    fn new(params: FilterParams) -> Self {
        let filter = Self::empty(params);
        Self { filter, inside: HashSet::new(), params, news: Some(0) }
    }

    fn empty(params: FilterParams) -> AnyFilter {
        Build::empty(params, DigestFunction::xxh3(3)).unwrap()
    }

    /// One "new" at most per element: never again while it is inside.
    fn was_inserted(&mut self, key: u16, new: bool) -> Result<(), TestCaseError> {
        let first = self.inside.insert(key);
        prop_assert!(first || !new, "{key} is new twice");
        self.news = self.news.map(|news| news + u64::from(new));
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Insert(key) => {
                let new = self.filter.insert(&key);
                self.was_inserted(key, new)?;
            }
            Step::InsertBatch(keys) => {
                let new = self.filter.insert_batch(&keys);
                for (&key, new) in keys.iter().zip(new.iter()) {
                    self.was_inserted(key, new)?;
                }
            }
            Step::Contains(key) => {
                let maybe = self.filter.contains(&key);
                prop_assert!(maybe || !self.inside.contains(&key), "{key}: a false negative");
            }
            Step::Union(keys) => {
                let mut other = Self::empty(self.params);
                other.insert_batch(&keys);
                self.filter.union_with(&other).unwrap();
                self.inside.extend(keys);
                self.news = None;
            }
            Step::Reopen => {
                let bytes = native::encode(&self.filter, "lower=true\n");
                let (copy, header) = native::decode(&bytes, None).unwrap();
                prop_assert_eq!(header.inserted_items(), self.filter.inserted_items());
                prop_assert!(native::encode(&copy, header.key_options()) == bytes);
                self.filter = copy;
            }
            Step::Share(keys) => self.share(keys)?,
            Step::Clear => {
                self.filter.clear();
                self.inside.clear();
                self.news = Some(0);
            }
        }
        Ok(())
    }

    fn share(&mut self, keys: Vec<u16>) -> Result<(), TestCaseError> {
        macro_rules! share {
            ($filter:expr) => {{
                let shared = $filter.into_concurrent();
                let (left, right) = keys.split_at(keys.len() / 2);
                std::thread::scope(|scope| {
                    scope.spawn(|| shared.insert_batch(left));
                    for key in right {
                        shared.insert(key);
                    }
                });
                shared.into_exclusive()
            }};
        }
        self.filter = match std::mem::replace(&mut self.filter, Self::empty(self.params)) {
            AnyFilter::Standard(filter) => AnyFilter::Standard(share!(filter)),
            AnyFilter::Blocked(filter) => AnyFilter::Blocked(share!(filter)),
            AnyFilter::Blocked128(filter) => AnyFilter::Blocked128(share!(filter)),
            AnyFilter::Blocked64(filter) => AnyFilter::Blocked64(share!(filter)),
            other => {
                return Err(TestCaseError::fail(format!("unknown layout: {:?}", other.params())));
            }
        };
        self.inside.extend(keys);
        self.news = None;
        Ok(())
    }

    /// No false negative, and exactly the bits of the keys inside.
    fn check(&self) -> Result<(), TestCaseError> {
        let inside: Vec<u16> = self.inside.iter().copied().collect();
        prop_assert_eq!(self.filter.contains_batch(&inside).count_ones(), inside.len());
        let mut fresh = Self::empty(self.params);
        fresh.insert_batch(&inside);
        let (found, expected): (&[Block], &[Block]) = (self.filter.blocks(), fresh.blocks());
        prop_assert!(found == expected);
        if let Some(news) = self.news {
            prop_assert_eq!(self.filter.inserted_items(), news);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn no_history_makes_a_filter_forget_or_invent(params in shapes(), steps in steps()) {
        let mut run = Run::new(params);
        for step in steps {
            run.step(step)?;
        }
        run.check()?;
    }
}
