//! The offer of one kind.

use super::MemorySizes;
use super::size::Size;
use crate::Layout;
use crate::native::Kind;
use crate::sizing::window::spans;

/// Cache lines that a query touches, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheLines {
    /// For a key that is present.
    pub hit: f64,
    /// For a key that is absent.
    pub miss: f64,
}

impl CacheLines {
    /// The mean, if this share of the queries is for absent keys.
    pub fn mean(&self, absent_share: f64) -> f64 {
        absent_share * self.miss + (1.0 - absent_share) * self.hit
    }
}

/// The nearest memory that holds the whole filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fits {
    /// The second-level cache.
    L2,
    /// The third-level cache.
    L3,
    /// Main memory.
    Ram,
    /// None: it is larger than the memory.
    Nothing,
}

impl Fits {
    /// The memory in which this many bytes fit.
    pub const fn of(bytes: u64, memory: &MemorySizes) -> Self {
        // A cache may be larger than the memory that a container has.
        if bytes > memory.ram_bytes {
            Self::Nothing
        } else if bytes <= memory.l2_bytes {
            Self::L2
        } else if bytes <= memory.l3_bytes {
            Self::L3
        } else {
            Self::Ram
        }
    }
}

/// A kind of filter and its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KindName {
    /// The kind.
    pub kind: Kind,
    /// The layout, of [`Kind::Bloom`].
    pub layout: Option<Layout>,
}

impl KindName {
    /// A plain filter of a layout.
    pub const fn bloom(layout: Layout) -> Self {
        Self { kind: Kind::Bloom, layout: Some(layout) }
    }

    /// A kind that has only one layout.
    pub const fn only(kind: Kind) -> Self {
        Self { kind, layout: None }
    }

    /// `standard` and `blocked` for the layouts of the plain filter, otherwise the kind's name.
    pub const fn name(self) -> &'static str {
        match self.layout {
            Some(layout) => layout.name(),
            None => self.kind.name(),
        }
    }
}

/// A kind, sized for the wish.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The kind.
    pub kind: KindName,
    /// n, per set; for [`Kind::Scalable`] the keys of its first layer.
    pub items: u64,
    /// p: the rate it is sized for. Only [`Kind::Scalable`] keeps it beyond n keys.
    pub target_fpp: f64,
    /// Bits of memory, per set: m, or 4 m for [`Kind::Counting`]. [`Kind::Scalable`] grows: see
    /// [`Candidate::num_bytes_after`].
    pub num_bits: u64,
    /// k: bits (or counters) of a key, the 3 slots of [`Kind::Fuse`], or 1.
    pub num_hashes: u32,
    /// The number of sets: this many filters side by side, or in one matrix.
    pub sets: u64,
    /// Bytes of memory, all sets together.
    pub num_bytes: u64,
    /// The predicted rate with n keys, per set.
    pub expected_fpp: f64,
    /// For [`Kind::Window`]: whether it is a time window.
    pub by_time: bool,
    /// The rate with 2 n keys, `None` for a kind that accepts no more than n.
    pub fpp_at_2x: Option<f64>,
    /// The rate with 10 n keys, likewise.
    pub fpp_at_10x: Option<f64>,
    /// Cache lines per query, all sets together.
    pub cache_lines: CacheLines,
    /// The memory in which it fits.
    pub fits: Fits,
}

impl Candidate {
    /// One set of a kind; the planner sets `sets`, `fits` and the rates ([`Candidate::predicted`]).
    pub(super) fn new(kind: KindName, size: Size, cache_lines: CacheLines) -> Self {
        let Size { items, target_fpp, num_bits, num_hashes } = size;
        Self {
            kind,
            items,
            target_fpp,
            num_bits,
            num_hashes,
            sets: 1,
            num_bytes: num_bits.div_ceil(512) * 64,
            expected_fpp: 0.0,
            by_time: false,
            fpp_at_2x: None,
            fpp_at_10x: None,
            cache_lines,
            fits: Fits::Nothing,
        }
    }

    /// The same candidate as a time window.
    pub(super) fn of_time(self) -> Self {
        Self { by_time: true, ..self }
    }

    /// The number of keys, as counted, that a time window remembers in the best case out of `items`
    /// that arrive in its span: all up to n, and hardly more than that. `None` for other kinds.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::plan::{Needs, plan};
    /// let needs = Needs { target_fpp: Some(0.01), ..Needs::for_items(54_000) };
    /// let day = plan(&Needs { forget: true, by_time: true, ..needs })?.best.unwrap();
    /// assert_eq!(day.items_kept_of(54_000), Some(54_000));
    /// assert_eq!(day.items_kept_of(540_000), Some(55_000));
    /// assert!(day.fpp_at_10x.unwrap() <= 0.01); // it forgets and does not answer wrongly
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn items_kept_of(&self, items: u64) -> Option<u64> {
        self.by_time.then(|| items.min(spans::most_items(self.items)))
    }

    /// The kind's name.
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Bits per key of one set.
    pub fn bits_per_item(&self) -> f64 {
        self.num_bits as f64 / self.items as f64
    }

    /// The mean number of sets wrongly found for an absent key: p · sets.
    pub fn expected_wrong_sets(&self) -> f64 {
        self.expected_fpp * self.sets as f64
    }
}
