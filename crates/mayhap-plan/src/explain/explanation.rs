//! The array of bits, and who set which.

use super::{ExplainError, Subject};
use mayhap::{DigestFunction, Layout, sizing};
use serde::Serialize;
use std::collections::BTreeMap;

/// The longest array that is drawn or listed bit by bit.
const MAX_DRAWN_BITS: u64 = 4096;

/// An array of m bits in which keys set theirs one after the other, and which is then queried.
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

/// What inserting a key did.
#[derive(Debug, Clone, Serialize)]
pub struct Insertion {
    /// The key.
    pub key: String,
    /// Whether its positions were given, not computed.
    pub given: bool,
    /// Its k positions, in the order of the formulas.
    pub positions: Vec<u64>,
    /// Those that it changed from 0 to 1.
    pub new: Vec<u64>,
    /// Those that others had set before.
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

/// What a query found.
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
        // Any digest will do: what is checked is the shape.
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
        let (mut new, mut already_set) = (Vec::new(), Vec::new());
        let place = self.subjects.len();
        for position in once_each(&positions) {
            match self.set_bit(position) {
                Some(set) => already_set.push(set),
                None => new.push(position),
            }
        }
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
        let (mut set, mut clear) = (Vec::new(), Vec::new());
        for position in once_each(&positions) {
            match self.set_bit(position) {
                Some(bit) => set.push(bit),
                None => clear.push(position),
            }
        }
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

    /// The keys in the order of their insertion.
    pub fn keys(&self) -> &[Insertion] {
        &self.keys
    }

    /// The queries in their order.
    pub fn queries(&self) -> &[Lookup] {
        &self.queries
    }

    /// m and k.
    pub fn shape(&self) -> (u64, u32) {
        (self.num_bits, self.num_hashes)
    }

    /// The bits that are 1, and their share of m.
    pub fn fill(&self) -> (u64, f64) {
        (self.num_ones, self.fill_ratio)
    }

    /// The rate at which absent keys are taken for present ones by these bits: (X/m)^k with X ones,
    /// exact for `standard` and `None` for layouts with blocks, where it depends on the blocks.
    pub fn estimated_fpp(&self) -> Option<f64> {
        self.estimated_fpp
    }

    /// The layout and the digest function, by name.
    pub(super) fn origin(&self) -> (&'static str, &'static str, Option<u64>) {
        (self.layout, self.digest, self.digest_seed)
    }

    /// A bit that is set, with the keys that have it.
    fn set_bit(&self, position: u64) -> Option<SetBit> {
        let by = self.set_by.get(&position)?;
        let by = by.iter().map(|&place| self.subjects[place].shown()).collect();
        Some(SetBit { position, by })
    }

    fn positions_of(&self, subject: &Subject) -> Result<Vec<u64>, ExplainError> {
        let Some(given) = subject.positions() else {
            let digest = self.function.digest(subject.bytes());
            return Ok(
                mayhap::positions(self.shape, self.num_bits, self.num_hashes, digest)?.collect()
            );
        };
        let (num_bits, num_hashes) = self.shape();
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

/// The positions without those that come again.
fn once_each(positions: &[u64]) -> impl Iterator<Item = u64> {
    let is_first = |(i, position): &(usize, &u64)| !positions[..*i].contains(position);
    positions.iter().enumerate().filter(is_first).map(|(_, position)| *position)
}
