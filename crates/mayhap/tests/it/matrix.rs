//! `BloomMatrix`: no set is ever missed, and none is touched by changes to another.

use super::{cases, digests, ones};
use mayhap::native::{self, Fields, Native};
use mayhap::{
    BlockedBloomFilter, BloomMatrix, Build, Digest, DigestFunction, Error, Layout, OwnedBlocks,
    Sets,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

const ROWS_PER_KEY: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 16];

fn matrix(num_sets: usize, num_hashes: u32, items: u64) -> BloomMatrix {
    BloomMatrix::builder()
        .num_sets(num_sets)
        .expected_items(items)
        .target_fpp(0.3)
        .num_hashes(num_hashes)
        .seed(5)
        .build()
        .unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(usize, u16),
    InsertBatch(usize, Vec<u16>),
    Remove(usize),
    Replace(usize, Vec<u16>),
    /// A filter replaces a set, where the shapes allow it.
    SetColumns(usize, Vec<Vec<u16>>),
    Add(usize),
    Reopen,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = || vec(0..300u16, 0..30);
    // Numbers are taken modulo the number of sets; the ends and the word borders are likely.
    let set = || prop_oneof![0..3000usize, Just(0), Just(63), Just(64), Just(511), Just(512)];
    let step = prop_oneof![
        8 => (set(), 0..300u16).prop_map(|(set, key)| Step::Insert(set, key)),
        4 => (set(), keys()).prop_map(|(set, keys)| Step::InsertBatch(set, keys)),
        2 => set().prop_map(Step::Remove),
        2 => (set(), keys()).prop_map(|(set, keys)| Step::Replace(set, keys)),
        1 => (set(), vec(keys(), 0..5)).prop_map(|(set, columns)| Step::SetColumns(set, columns)),
        1 => prop_oneof![1..3usize, Just(64), Just(512)].prop_map(Step::Add),
        1 => Just(Step::Reopen),
        1 => Just(Step::Clear),
    ];
    vec(step, 0..40)
}

struct Run {
    matrix: BloomMatrix,
    inside: Vec<HashSet<u16>>,
}

impl Run {
    fn digests(&self, keys: &[u16]) -> Vec<Digest> {
        keys.iter().map(|key| self.matrix.digest(key)).collect()
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let sets = self.matrix.num_sets();
        match step {
            Step::Insert(set, key) => {
                let before = self.matrix.contains(set % sets, &key);
                prop_assert_eq!(self.matrix.insert(set % sets, &key), !before);
                self.inside[set % sets].insert(key);
            }
            Step::InsertBatch(set, keys) => {
                let new = self.matrix.insert_batch(set % sets, &keys);
                for (key, new) in keys.into_iter().zip(new.iter()) {
                    let first = self.inside[set % sets].insert(key);
                    prop_assert!(first || !new, "{key} is new twice");
                }
            }
            Step::Remove(set) => {
                self.matrix.remove_set(set % sets);
                self.inside[set % sets].clear();
            }
            Step::Replace(set, keys) => {
                let digests = self.digests(&keys);
                self.matrix.replace_set(set % sets, digests).unwrap();
                self.inside[set % sets] = keys.into_iter().collect();
            }
            Step::SetColumns(set, columns) => self.set_columns(set % sets, &columns)?,
            Step::Add(more) => {
                self.matrix.add_sets(more).unwrap();
                self.inside.resize(sets + more, HashSet::new());
            }
            Step::Reopen => {
                let bytes = native::encode(&self.matrix, "lower=true\n");
                let (copy, header) = native::decode_as::<BloomMatrix>(&bytes, None).unwrap();
                prop_assert_eq!(header.key_options(), "lower=true\n");
                prop_assert!(native::encode(&copy, header.key_options()) == bytes);
                self.matrix = copy;
            }
            Step::Clear => {
                self.matrix.clear();
                self.inside.fill(HashSet::new());
            }
        }
        Ok(())
    }

    fn set_columns(&mut self, first: usize, columns: &[Vec<u16>]) -> Result<(), TestCaseError> {
        let columns = &columns[..columns.len().min(self.matrix.num_sets() - first)];
        if self.matrix.num_hashes() < 8 {
            prop_assert!(self.matrix.column(first).is_err());
            return Ok(());
        }
        let params = *self.matrix.column(first).unwrap().params();
        let filters: Vec<_> = columns
            .iter()
            .map(|keys| {
                let function = *self.matrix.digest_function();
                let mut filter = BlockedBloomFilter::empty(params, function).unwrap();
                filter.insert_batch(keys);
                filter
            })
            .collect();
        self.matrix.set_columns_from(first, &filters.iter().collect::<Vec<_>>()).unwrap();
        for (inside, keys) in self.inside[first..].iter_mut().zip(columns) {
            *inside = keys.iter().copied().collect();
        }
        Ok(())
    }

    /// Exactly the rows of the keys inside, so no set lacks a bit or has one of another's; and the
    /// calls agree with the rows.
    fn check(&self) -> Result<(), TestCaseError> {
        let (sets, k) = (self.matrix.num_sets(), self.matrix.num_hashes());
        let mut fresh = matrix(sets, k, self.matrix.expected_items());
        for (set, keys) in self.inside.iter().enumerate() {
            let keys: Vec<u16> = keys.iter().copied().collect();
            fresh.insert_batch(set, &keys);
        }
        prop_assert!(self.matrix.panels().eq(fresh.panels()));
        let mut which = Sets::new();
        for key in 0..20u16 {
            self.matrix.which_into(&key, &mut which);
            prop_assert_eq!(which.num_sets(), sets);
            for (set, keys) in self.inside.iter().enumerate() {
                prop_assert!(which.contains(set) || !keys.contains(&key), "a false negative");
                prop_assert_eq!(which.contains(set), self.matrix.contains(set, &key));
            }
            prop_assert!(which.iter().eq((0..sets).filter(|&set| which.contains(set))));
            prop_assert_eq!(which.count(), which.iter().count());
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn no_history_makes_a_set_forget_or_invent(
        sets in prop_oneof![1..5usize, Just(511), Just(512), 513..520usize],
        k in prop::sample::select(&ROWS_PER_KEY),
        items in 1..200u64,
        steps in steps(),
    ) {
        let mut run = Run { matrix: matrix(sets, k, items), inside: vec![HashSet::new(); sets] };
        for step in steps {
            run.step(step)?;
        }
        run.check()?;
    }

    #[test]
    fn a_set_of_8_or_16_rows_per_key_is_a_blocked_filter(
        digests in digests(300),
        k in prop::sample::select(&[8u32, 16]),
        set in 0..600usize,
    ) {
        let mut matrix = matrix(600, k, 100);
        let new = matrix.insert_digests(set, &digests);
        let column = matrix.column(set).unwrap();
        let function = *matrix.digest_function();
        let mut filter = BlockedBloomFilter::empty(*column.params(), function).unwrap();
        prop_assert_eq!(filter.insert_digests(&digests), new);
        prop_assert!(column.storage().as_ref() == filter.storage().as_ref());
        prop_assert_eq!(column.inserted_items(), filter.inserted_items());
        prop_assert_eq!(matrix.fill_ratio(set), filter.fill_ratio());
        prop_assert_eq!(matrix.estimated_items(set), filter.estimated_items());
        prop_assert_eq!(matrix.health(set), filter.health());
        let fpps = matrix.estimated_fpps();
        prop_assert!((fpps[set] - filter.estimated_fpp()).abs() < 1e-12);
        let others = fpps.iter().enumerate().filter(|(other, _)| *other != set);
        prop_assert!(others.into_iter().all(|(_, fpp)| *fpp == 0.0));
    }
}

#[test]
fn a_batch_says_what_single_calls_say() {
    // 2 MiB and more, so that rows are fetched ahead; and a small one, where they are not.
    for (sets, k, items) in [(1, 5, 15_000), (1100, 3, 8_000), (700, 16, 100)] {
        let items = if cfg!(miri) { items.min(100) } else { items };
        let mut matrix = matrix(sets, k, items);
        for set in (0..sets).step_by(37) {
            matrix.insert_batch(set, &(0..200).map(|i| i * 7 + set).collect::<Vec<_>>());
        }
        let keys: Vec<usize> = (0..1500).collect();
        let mut seen = Vec::new();
        matrix.which_batch(&keys, |i, sets| {
            assert_eq!(*sets, matrix.which(&keys[i]), "key {i}");
            seen.push(i);
        });
        assert_eq!(seen, keys, "each key once and in order");
        let digests: Vec<Digest> = keys.iter().map(|key| matrix.digest(key)).collect();
        let mut found = mayhap::Bitmap::new();
        for set in [0, sets - 1] {
            matrix.contains_digests_into(set, &digests, &mut found);
            assert!(found.iter().eq(keys.iter().map(|key| matrix.contains(set, key))));
        }
        matrix.which_batch::<usize>(&[], |_, _| panic!("no keys, no answers"));
    }
}

/// Counted per set from the panels alone: any mistake in placing or transposing columns shows.
#[test]
fn many_filters_become_a_matrix_and_come_back() {
    let filters: Vec<BlockedBloomFilter> = (0..1100u64)
        .map(|set| {
            let builder = BlockedBloomFilter::builder().expected_items(300).target_fpp(0.01);
            let mut filter = builder.seed(5).build().unwrap();
            filter.insert_batch(&(0..set % 90).map(|i| i << 32 | set).collect::<Vec<_>>());
            filter
        })
        .collect();
    let refs: Vec<&BlockedBloomFilter> = filters.iter().collect();
    let mut matrix = BloomMatrix::from_filters(&refs).unwrap();
    assert_eq!((matrix.num_sets(), matrix.num_hashes()), (1100, 8));
    assert_eq!(matrix.num_bytes(), 3 * 64 * filters[0].params().num_bits());
    let total: u64 = matrix.panels().map(ones).sum();
    assert_eq!(total, filters.iter().map(|filter| ones(filter.storage().as_ref())).sum::<u64>());
    for (set, filter) in filters.iter().enumerate() {
        let column = matrix.column(set).unwrap();
        assert!(column.storage().as_ref() == filter.storage().as_ref(), "set {set}");
        assert_eq!(matrix.inserted_items(set), filter.inserted_items());
    }
    // Over the border of two panels, in the middle of words.
    matrix.set_columns_from(500, &refs[..40]).unwrap();
    for set in 490..550 {
        let expected = if (500..540).contains(&set) { set - 500 } else { set };
        let column = matrix.column(set).unwrap();
        assert!(column.storage().as_ref() == filters[expected].storage().as_ref(), "set {set}");
    }
    matrix.set_column_from(1099, &filters[3]).unwrap();
    assert!(matrix.contains(1099, &(2u64 << 32 | 3)));
}

#[test]
fn filters_of_another_shape_or_digest_are_refused() {
    let build = |items, seed| {
        let builder = BlockedBloomFilter::builder().expected_items(items).target_fpp(0.01);
        builder.seed(seed).build().unwrap()
    };
    let (a, longer, other_seed) = (build(100, 1), build(200, 1), build(100, 2));
    let parameter = |error| match error {
        Error::Incompatible { parameter, .. } => parameter,
        other => panic!("{other}"),
    };
    assert_eq!(parameter(BloomMatrix::from_filters(&[&a, &longer]).unwrap_err()), "num_bits");
    let error = BloomMatrix::from_filters(&[&a, &other_seed]).unwrap_err();
    assert_eq!(parameter(error), "digest seed or key");
    assert!(BloomMatrix::from_filters::<OwnedBlocks>(&[]).is_err());

    let builder = BloomMatrix::builder().num_sets(2).expected_items(100).target_fpp(0.01);
    let mut fewer_rows = builder.seed(1).num_hashes(5).build().unwrap();
    assert_eq!(parameter(fewer_rows.set_column_from(0, &a).unwrap_err()), "num_hashes");
    assert!(matches!(fewer_rows.column(0), Err(Error::OutOfRange { .. })));
    // With k = 4 and the same m: the lanes of a filter are twice as wide as a set's.
    let mut four = matrix(2, 4, 512);
    let m = four.num_bits();
    let filter = BlockedBloomFilter::builder().num_bits(m).num_hashes(4).expected_items(512);
    let filter = filter.seed(5).build().unwrap();
    assert_eq!((filter.params().num_bits(), filter.params().num_hashes()), (m, 4));
    assert!(matches!(BloomMatrix::from_filters(&[&filter]), Err(Error::OutOfRange { .. })));
    assert!(matches!(four.set_column_from(0, &filter), Err(Error::OutOfRange { .. })));
    assert!(matches!(four.column(0), Err(Error::OutOfRange { .. })));
    let standard = mayhap::sizing::for_items(Layout::Standard, 100, 0.01).unwrap();
    let error = BloomMatrix::builder().num_sets(2).like(&standard).build().unwrap_err();
    assert_eq!(parameter(error), "layout");
}

#[test]
fn limits_hold_and_change_nothing() {
    let builder = || BloomMatrix::builder().expected_items(100).target_fpp(0.01);
    assert!(matches!(builder().build(), Err(Error::Missing { parameter: "num_sets" })));
    assert!(matches!(builder().num_sets(0).build(), Err(Error::OutOfRange { .. })));
    let too_many = builder().num_sets(BloomMatrix::MAX_SETS + 1).build();
    assert!(matches!(too_many, Err(Error::OutOfRange { .. })));
    assert!(builder().num_hashes(9).num_sets(1).build().is_err());
    let panel = builder().num_sets(1).build().unwrap().num_bytes();
    assert!(builder().num_sets(1).max_bytes(panel - 1).build().is_err());

    let mut matrix = builder().num_sets(512).max_bytes(panel).build().unwrap();
    matrix.insert(511, "key");
    let before = native::encode(&matrix, "");
    for more in [1, usize::MAX] {
        assert!(matrix.add_sets(more).is_err());
        assert!(native::encode(&matrix, "") == before);
    }
    matrix.set_max_bytes(2 * panel);
    matrix.add_sets(512).unwrap();
    assert!(matrix.contains(511, "key") && !matrix.contains(512, "key"));
}

#[test]
#[should_panic(expected = "set 3 of a matrix of 3")]
fn a_set_that_is_not_there_is_the_callers_mistake() {
    matrix(3, 5, 10).insert(3, "key");
}

#[test]
fn each_set_knows_its_own_load() {
    let builder = BloomMatrix::builder().num_sets(520).expected_items(1000).target_fpp(0.01);
    let mut matrix = builder.seed(1).build().unwrap();
    for (set, items) in [(0usize, 500u64), (200, 950), (519, 2000)] {
        matrix.insert_batch(set, &(0..items).map(|i| i << 20 | set as u64).collect::<Vec<_>>());
    }
    for (set, items, health) in [
        (0, 500.0, mayhap::Health::Ok),
        (200, 950.0, mayhap::Health::NearCapacity),
        (519, 2000.0, mayhap::Health::OverCapacity),
        (1, 0.0, mayhap::Health::Ok),
    ] {
        let estimate = matrix.estimated_items(set);
        assert!(estimate.low <= items && items <= estimate.high, "{set}: {estimate:?}");
        assert_eq!(matrix.health(set), health);
    }
    let wrong = matrix.expected_wrong_sets();
    let expected: f64 = [500, 950, 2000].iter().map(|&items| matrix.expected_fpp(items)).sum();
    assert!((wrong / expected - 1.0).abs() < 0.05, "{wrong} {expected}");
    assert!((matrix.estimated_wrong_sets() / expected - 1.0).abs() < 0.15);
    assert_eq!(matrix.estimated_fpps().len(), 520);
}

fn fields(num_bits: u64, num_hashes: u32, num_sets: u64) -> Fields {
    Fields {
        layout: 0,
        num_bits,
        num_hashes,
        expected_items: 10,
        target_fpp: 0.01,
        inserted_items: 0,
        extra: [num_sets, 0, 0, 0, 0, 0, 0],
        layers: Vec::new(),
    }
}

fn empty(fields: &Fields) -> BloomMatrix {
    let blocks = BloomMatrix::segment_blocks(fields).unwrap();
    let segments = blocks.into_iter().map(|blocks| OwnedBlocks::zeroed(blocks).unwrap()).collect();
    BloomMatrix::from_segments(fields, DigestFunction::xxh3(0), segments).unwrap()
}

/// The worked example of `crates/mayhap/NATIVE-FORMAT.md`.
#[test]
fn rows_are_those_of_the_specification() {
    for (num_bits, k, rows) in [
        (1280, 5, &[960, 1037, 1119, 1187, 1239][..]),
        (4096, 8, &[3584, 3661, 3743, 3811, 3863, 3908, 3992, 4065]),
        (
            4096,
            16,
            &[
                3584, 3610, 3661, 3665, 3714, 3743, 3784, 3811, 3863, 3869, 3908, 3961, 3992, 4025,
                4042, 4065,
            ],
        ),
    ] {
        let mut matrix = empty(&fields(num_bits, k, 1000));
        assert!(matrix.insert(700, "a"));
        let panel = matrix.panels().nth(1).unwrap();
        // Set 700 is bit 188 of the second panel's rows: bit 60 of word 2.
        let found: Vec<usize> =
            (0..panel.len()).filter(|&row| panel[row].0[2] >> 60 & 1 == 1).collect();
        assert_eq!(found, rows);
        assert_eq!(matrix.panels().map(ones).sum::<u64>(), rows.len() as u64);
    }
}

type Forge = fn(&mut Fields);

#[test]
fn forged_fields_and_contents_are_refused() {
    let good = fields(1280, 5, 600);
    assert_eq!(BloomMatrix::segment_blocks(&good).unwrap(), [1280, 1280, 75]);
    let bad: [(&str, Forge); 13] = [
        ("layout", |f| f.layout = 2),
        ("k 0", |f| f.num_hashes = 0),
        ("k 9", |f| f.num_hashes = 9),
        ("no groups", |f| f.num_bits = 0),
        ("half a group", |f| f.num_bits = 1281),
        ("k for other lanes", |f| f.num_hashes = 6),
        ("too long", |f| f.num_bits = 1 << 60),
        ("no sets", |f| f.extra[0] = 0),
        ("too many sets", |f| f.extra[0] = u64::MAX),
        ("extra", |f| f.extra[6] = 1),
        ("layers", |f| f.layers.push([0; 4])),
        ("n", |f| f.expected_items = 0),
        ("p", |f| f.target_fpp = f64::NAN),
    ];
    for (what, forge) in bad {
        let mut fields = good.clone();
        forge(&mut fields);
        assert!(BloomMatrix::segment_blocks(&fields).is_err(), "{what}");
    }

    let from = |inserted_items, forge: &dyn Fn(&mut [OwnedBlocks])| {
        let fields = Fields { inserted_items, ..good.clone() };
        let mut segments: Vec<OwnedBlocks> =
            [1280, 1280, 75].map(|blocks| OwnedBlocks::zeroed(blocks).unwrap()).into();
        forge(&mut segments);
        BloomMatrix::from_segments(&fields, DigestFunction::xxh3(0), segments)
    };
    assert!(from(0, &|_| ()).is_ok());
    assert!(from(1, &|_| ()).is_err(), "a count that is not the sum");
    assert!(from(0, &|s| s[1].as_mut()[7].0[1] = 1 << 23).is_ok(), "the last set");
    for (word, bit) in [(1, 24), (1, 63), (2, 0), (7, 63)] {
        assert!(from(0, &|s| s[1].as_mut()[7].0[word] = 1 << bit).is_err(), "a set past the last");
    }
    let overflow = |s: &mut [OwnedBlocks]| s[2].as_mut()[0].0 = [u64::MAX; 8];
    assert!(from(7, &overflow).is_err());
    assert!(from(u64::MAX, &overflow).is_ok());
    assert!(from(0, &|s| s[1] = OwnedBlocks::zeroed(1279).unwrap()).is_err());

    let last_count = Fields { extra: [601, 0, 0, 0, 0, 0, 0], ..good };
    let mut segments: Vec<OwnedBlocks> =
        [1280, 1280, 76].map(|blocks| OwnedBlocks::zeroed(blocks).unwrap()).into();
    segments[2].as_mut()[75].0[1] = 1;
    let found = BloomMatrix::from_segments(&last_count, DigestFunction::xxh3(0), segments);
    assert!(found.is_err(), "a count past the last");
}
