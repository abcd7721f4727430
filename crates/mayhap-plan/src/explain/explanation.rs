//! The array of bits, and the keys that set them; `text.rs` draws it.

mod text;

use super::{ExplainError, Subject};
use mayhap::{DigestFunction, Layout, sizing};
use serde::Serialize;
use std::collections::BTreeMap;

/// The longest array that is drawn or listed bit by bit.
const MAX_DRAWN_BITS: u64 = 4096;

/// An array of m bits that keys set one after the other, and which is then queried.
///
/// Memory grows with the keys, not with m. An array may be shorter than a filter can be
/// ([`mayhap::positions`]); with 64 bits or more it has the bits that a filter with the same digest
/// function has.
///
/// # Examples
///
/// ```
/// use mayhap::{DigestFunction, Layout};
/// use mayhap_plan::explain::{Explanation, Subject};
///
/// let mut array = Explanation::new(Layout::Standard, 20, 3, DigestFunction::default())?;
/// array.insert(&Subject::given("A", [0, 5, 7]))?;
/// array.insert(&Subject::given("B", [2, 8, 13]))?;
/// assert_eq!(array.bits().unwrap(), "10100101100001000000");
/// assert!(array.query(&Subject::given("X", [0, 8, 13]))?.maybe_present);
/// assert_eq!(array.query(&Subject::given("C", [0, 4, 7]))?.clear, [4]);
/// # Ok::<(), mayhap_plan::explain::ExplainError>(())
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    layout: &'static str,
    num_bits: u64,
    num_hashes: u32,
    digest: &'static str,
    digest_seed: Option<u64>,
    num_ones: u64,
    fill_ratio: f64,
    /// Exact for these bits; `None` for layouts with blocks, where it depends on the blocks.
    estimated_fpp: Option<f64>,
    /// `None` above [`MAX_DRAWN_BITS`].
    bits: Option<String>,
    keys: Vec<Insertion>,
    queries: Vec<Lookup>,
    #[serde(skip)]
    shape: Layout,
    #[serde(skip)]
    function: DigestFunction,
    /// The keys that set a bit, by their place in `subjects`.
    #[serde(skip)]
    set_by: BTreeMap<u64, Vec<usize>>,
    #[serde(skip)]
    subjects: Vec<Subject>,
}

/// The effect of inserting a key.
#[derive(Debug, Clone, Serialize)]
pub struct Insertion {
    /// The key.
    pub key: String,
    /// Whether its positions were given, not computed.
    pub given: bool,
    /// Its k positions, in the order of the formulas.
    pub positions: Vec<u64>,
    /// The bits that it changed from 0 to 1.
    pub new: Vec<u64>,
    /// The bits that other keys had set before.
    pub already_set: Vec<SetBit>,
    /// The whole array after it, if it is short.
    pub bits: Option<String>,
}

/// A bit that is 1, and the keys that set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetBit {
    /// The position.
    pub position: u64,
    /// The keys that have it.
    pub by: Vec<String>,
}

/// The result of a query.
#[derive(Debug, Clone, Serialize)]
pub struct Lookup {
    /// The key.
    pub key: String,
    /// Whether its positions were given, not computed.
    pub given: bool,
    /// Its k positions, in the order of the formulas.
    pub positions: Vec<u64>,
    /// The filter's answer: all of these bits are 1.
    pub maybe_present: bool,
    /// The truth: the key was inserted.
    pub inserted: bool,
    /// The bits that are 0, each of which proves that the key is absent.
    pub clear: Vec<u64>,
    /// The bits that are 1.
    pub set: Vec<SetBit>,
}

impl Explanation {
    /// An array of `num_bits` zeros.
    ///
    /// # Errors
    ///
    /// [`ExplainError::Shape`] for an m or k that the layout cannot have.
    pub fn new(
        layout: Layout,
        num_bits: u64,
        num_hashes: u32,
        function: DigestFunction,
    ) -> Result<Self, ExplainError> {
        // Any digest will do: only the shape is checked.
        mayhap::positions(layout, num_bits, num_hashes, function.digest("")).map(drop)?;
        let mut array = Self {
            layout: layout.name(),
            num_bits,
            num_hashes,
            digest: function.name(),
            digest_seed: (function.name() == "xxh3").then(|| function.parameter()),
            num_ones: 0,
            fill_ratio: 0.0,
            estimated_fpp: None,
            bits: None,
            keys: Vec::new(),
            queries: Vec::new(),
            shape: layout,
            function,
            set_by: BTreeMap::new(),
            subjects: Vec::new(),
        };
        array.count();
        Ok(array)
    }

    /// Inserts a key.
    ///
    /// # Errors
    ///
    /// [`ExplainError::NotK`], [`ExplainError::PastTheEnd`] for positions that are given; the array
    /// is as before.
    pub fn insert(&mut self, subject: &Subject) -> Result<&Insertion, ExplainError> {
        let positions = self.positions_of(subject)?;
        let (already_set, new) = self.set_and_clear(&positions);
        let place = self.subjects.len();
        self.subjects.push(subject.clone());
        for position in once_each(&positions) {
            self.set_by.entry(position).or_default().push(place);
        }
        self.count();
        let (key, given) = (subject.shown(), subject.positions().is_some());
        let bits = self.bits.clone();
        self.keys.push(Insertion { key, given, positions, new, already_set, bits });
        Ok(&self.keys[place])
    }

    /// Looks a key up among those inserted so far. A key that was inserted with positions of its
    /// own has the same ones here.
    ///
    /// # Errors
    ///
    /// [`ExplainError::NotK`], [`ExplainError::PastTheEnd`] for positions that are given.
    pub fn query(&mut self, subject: &Subject) -> Result<&Lookup, ExplainError> {
        let same = self.subjects.iter().find(|other| other.bytes() == subject.bytes());
        let inserted = same.is_some();
        let subject = match (same, subject.positions()) {
            (Some(same), None) => same.clone(),
            _ => subject.clone(),
        };
        let positions = self.positions_of(&subject)?;
        let (set, clear) = self.set_and_clear(&positions);
        let (key, given) = (subject.shown(), subject.positions().is_some());
        let maybe_present = clear.is_empty();
        let answer = Lookup { key, given, positions, maybe_present, inserted, clear, set };
        self.queries.push(answer);
        Ok(&self.queries[self.queries.len() - 1])
    }

    /// The array from bit 0 on, as `0` and `1`; `None` above 4,096 bits.
    pub fn bits(&self) -> Option<&str> {
        self.bits.as_deref()
    }

    /// The set bits among these positions, with the keys that set them, and the others; each once.
    fn set_and_clear(&self, positions: &[u64]) -> (Vec<SetBit>, Vec<u64>) {
        let (mut set, mut clear) = (Vec::new(), Vec::new());
        for position in once_each(positions) {
            let Some(by) = self.set_by.get(&position) else {
                clear.push(position);
                continue;
            };
            let by = by.iter().map(|&place| self.subjects[place].shown()).collect();
            set.push(SetBit { position, by });
        }
        (set, clear)
    }

    fn positions_of(&self, subject: &Subject) -> Result<Vec<u64>, ExplainError> {
        let Some(given) = subject.positions() else {
            let digest = self.function.digest(subject.bytes());
            return Ok(
                mayhap::positions(self.shape, self.num_bits, self.num_hashes, digest)?.collect()
            );
        };
        let Self { num_bits, num_hashes, .. } = *self;
        if given.len() != num_hashes as usize {
            let (key, found) = (subject.shown(), given.len());
            return Err(ExplainError::NotK { key, found, num_hashes });
        }
        if let Some(&found) = given.iter().find(|&&position| position >= num_bits) {
            return Err(ExplainError::PastTheEnd { key: subject.shown(), found, num_bits });
        }
        Ok(given.into())
    }

    /// The numbers that follow from the bits.
    fn count(&mut self) {
        self.num_ones = self.set_by.len() as u64;
        self.fill_ratio = self.num_ones as f64 / self.num_bits as f64;
        self.estimated_fpp = (self.shape == Layout::Standard)
            .then(|| sizing::estimated_fpp(self.num_ones, self.num_bits, self.num_hashes));
        let bit = |position| if self.set_by.contains_key(&position) { '1' } else { '0' };
        self.bits =
            (self.num_bits <= MAX_DRAWN_BITS).then(|| (0..self.num_bits).map(bit).collect());
    }
}

/// The positions without repeats.
fn once_each(positions: &[u64]) -> impl Iterator<Item = u64> {
    let is_first = |(i, position): &(usize, &u64)| !positions[..*i].contains(position);
    positions.iter().enumerate().filter(is_first).map(|(_, position)| *position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array() -> Explanation {
        let mut array =
            Explanation::new(Layout::Standard, 20, 3, DigestFunction::default()).unwrap();
        array.insert(&Subject::given("A", [0, 5, 7])).unwrap();
        array.insert(&Subject::given("B", [5, 2, 5])).unwrap();
        array
    }

    /// By hand: bits 0, 2, 5 and 7 are 4 of 20, and (4/20)³ = 0.008.
    #[test]
    fn the_numbers_follow_from_the_bits_and_each_bit_knows_its_keys() {
        let array = array();
        assert_eq!((array.num_ones, array.fill_ratio), (4, 0.2));
        assert_eq!(array.bits(), Some("10100101000000000000"));
        assert!((array.estimated_fpp.unwrap() - 0.008).abs() < 1e-12);
        let [a, b] = &array.keys[..] else { panic!() };
        assert_eq!((&a.new, a.already_set.len()), (&vec![0, 5, 7], 0));
        assert_eq!(a.bits.as_deref(), Some("10000101000000000000"));
        // The second 5 is its own.
        assert_eq!((&b.positions, &b.new), (&vec![5, 2, 5], &vec![2]));
        assert_eq!(b.already_set, [SetBit { position: 5, by: vec!["A".into()] }]);
    }

    #[test]
    fn a_query_names_the_bits_that_are_clear_and_tells_a_false_positive() {
        let mut array = array();
        let mixed = array.query(&Subject::given("C", [2, 9, 7])).unwrap();
        assert!(!mixed.maybe_present && !mixed.inserted);
        assert_eq!((&mixed.clear, mixed.set.len()), (&vec![9], 2));
        let wrong = array.query(&Subject::given("X", [0, 2, 5])).unwrap().clone();
        assert!(wrong.maybe_present && !wrong.inserted);
        assert_eq!(wrong.set[2], SetBit { position: 5, by: vec!["A".into(), "B".into()] });
        // The name alone has the positions that it was inserted with.
        let known = array.query(&Subject::key(b"B")).unwrap();
        assert!(known.maybe_present && known.inserted && known.given);
        assert_eq!(known.positions, [5, 2, 5]);
        assert_eq!((array.keys.len(), array.queries.len(), array.num_ones), (2, 3, 4));
    }

    #[test]
    fn positions_that_the_array_does_not_have_are_refused_and_change_nothing() {
        let mut array = array();
        for (positions, is_count) in
            [(&[1, 2][..], true), (&[1, 2, 3, 4], true), (&[1, 2, 20], false)]
        {
            let refused = array.insert(&Subject::given("D", positions)).unwrap_err();
            assert_eq!(matches!(refused, ExplainError::NotK { num_hashes: 3, .. }), is_count);
            let is_past =
                matches!(refused, ExplainError::PastTheEnd { found: 20, num_bits: 20, .. });
            assert_eq!(is_past, !is_count);
        }
        assert_eq!((array.num_ones, array.keys.len()), (4, 2));
        array.insert(&Subject::given("D", [19, 19, 19])).unwrap();
        assert_eq!(array.bits().unwrap().rfind('1'), Some(19));
    }

    /// A key that is not given has the bits of a filter in memory, of any layout.
    #[test]
    fn keys_have_the_bits_that_a_filter_has() {
        for (layout, num_bits) in [(Layout::Standard, 4_097), (Layout::Blocked, 4_096)] {
            let function = DigestFunction::default();
            let mut array = Explanation::new(layout, num_bits, 8, function).unwrap();
            let positions = array.insert(&Subject::key(b"key")).unwrap().positions.clone();
            let digest = function.digest(b"key");
            let expected = mayhap::positions(layout, num_bits, 8, digest).unwrap();
            assert_eq!(positions, expected.collect::<Vec<_>>());
            assert_eq!(array.bits().is_some(), num_bits <= 4_096, "{num_bits}");
            assert_eq!(array.estimated_fpp.is_some(), layout == Layout::Standard);
            let found = array.query(&Subject::key(b"key")).unwrap();
            assert!(found.inserted && !found.given);
        }
    }
}
