//! A filter from which keys can be removed: counters in place of bits.
//!
//! `lanes.rs` is the arithmetic of a block, `batch.rs` the batch calls, `stats.rs` the statistics,
//! `builder.rs` how one is built and the width of counters, `native.rs` the file.

mod batch;
mod builder;
mod lanes;
mod native;
mod stats;

pub use builder::{CounterBits, CountingBuilder};

use crate::bits::{Block, OwnedBlocks};
use crate::positions;
use crate::{AnyFilter, Digest, DigestFunction, Error, FilterParams, Key, Layout};
use lanes::Lanes;

/// A Bloom filter with removal: counters of 4 or 8 bits in place of bits, all of a key in one line.
///
/// A block is one cache line of 8 lanes, with 16 counters of 4 bits or 8 of 8 bits each. Inserting
/// raises one counter in each lane (k = 8), removing lowers them, and a key may be present while
/// none of its counters is 0 (Fan, Cao, Almeida & Broder 2000, *Summary Cache*). Where the counters
/// are: block `mulhi(digest, num_blocks)`, and in lane `i` the 4 (or 3) bits from the top of
/// `digest · 0x9E3779B97F4A7C15` that follow the first 4·i (or 3·i).
///
/// | counters | bytes per key at 5 % / 1 % / 0.1 % | largest count |
/// |---|---|---|
/// | 4 bits | 3.80 / 5.72 / 9.70 | 14 |
/// | 8 bits | 8.39 / 13.43 / 25.34 | 254 |
///
/// Memory: see the table. Every call touches one cache line. One thread writes or many read.
///
/// # What counting means
///
/// Every insertion counts, even that of a key that is already present: a key inserted twice is
/// present until it is removed twice. A key may share counters with others, so:
///
/// * **Removing a key that is present** never makes another one absent.
/// * **Removing a key that is surely absent** has no effect: `remove` returns `false`.
/// * **Removing a key that was never inserted but is answered "maybe"** (a false positive) cannot
///   be distinguished from a legitimate removal. It takes counts that belong to other keys, so that
///   *one or more of them may be answered "surely absent" though they were never removed*. The same
///   applies to removing a key more often than it was inserted. Remove only keys that are known to
///   have been inserted.
/// * **A saturated counter** (15, or 255) means "this many or more" and stays forever, since
///   lowering it could lose a key. Keys that share it are still removed, by their other counters: a
///   removal that lowers one counter is the removal of one copy. A key all of whose counters are
///   saturated *stays*: `remove` returns `false`, [`CountingBloomFilter::contains`] still answers
///   "maybe", and its copies still count as inserted. With distinct keys that is rare: at the
///   design load of 1 %, a 4-bit counter saturates with probability 2e-15. Repeated insertions of
///   one key do it quickly: 15 of them are never undone.
///   [`CountingBloomFilter::saturated_counters`] returns the number of such counters.
///
/// # Examples
///
/// ```
/// use mayhap::CountingBloomFilter;
///
/// let mut online = CountingBloomFilter::builder().expected_items(100).target_fpp(0.001).build()?;
/// assert!(online.insert("ann") && online.insert("ben"));
/// assert!(online.remove("ann")); // was present
/// assert!(!online.contains("ann") && online.contains("ben"));
/// assert!(!online.remove("ann")); // refused: surely absent
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct CountingBloomFilter {
    blocks: OwnedBlocks,
    /// The parameters of the plain filter with a bit for each counter; its layout determines the
    /// bits of a counter.
    params: FilterParams,
    digest_function: DigestFunction,
    /// Insertions less removals that lowered a counter.
    inserted_items: u64,
}

/// Calls a function of [`Lanes`] with the filter's counter bits.
macro_rules! with_lanes {
    ($filter:expr, $lanes:ident => $call:expr) => {
        match $filter.params.layout() {
            Layout::Blocked64 => {
                type $lanes = Lanes<8>;
                $call
            }
            _ => {
                type $lanes = Lanes<4>;
                $call
            }
        }
    };
}
use with_lanes;

impl CountingBloomFilter {
    /// Returns a builder for a filter.
    pub fn builder() -> CountingBuilder {
        CountingBuilder::new()
    }

    /// An empty filter with a counter for each bit of `params`: of 4 bits for the layout
    /// `blocked128`, of 8 bits for `blocked64`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Incompatible`] if the layout differs.
    pub fn empty(params: FilterParams, digest_function: DigestFunction) -> Result<Self, Error> {
        check_layout(&params)?;
        let blocks = OwnedBlocks::zeroed(num_blocks(&params))?;
        Ok(Self { blocks, params, digest_function, inserted_items: 0 })
    }

    /// Assembles a filter from its parts, as read from a file.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] if the layout is not `blocked128` or `blocked64`;
    /// [`Error::WrongLength`] unless there is a block of 512 bits for each block of `params`.
    pub fn from_parts(
        params: FilterParams,
        digest_function: DigestFunction,
        blocks: OwnedBlocks,
        inserted_items: u64,
    ) -> Result<Self, Error> {
        check_layout(&params)?;
        let found = blocks.as_ref().len() as u64 * 64;
        Error::check_length("body", num_blocks(&params) * 64, found)?;
        Ok(Self { blocks, params, digest_function, inserted_items })
    }

    /// Inserts a key; `true` if it is new: surely not in the filter before.
    ///
    /// Every call counts, whatever it returns: each needs its own removal.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.digest_function.digest(key);
        self.insert_digest(digest)
    }

    /// Like [`CountingBloomFilter::insert`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.inserted_items = self.inserted_items.saturating_add(1);
        let block = block_mut(&mut self.blocks, digest);
        with_lanes!(self, L => L::insert(block, digest))
    }

    /// Removes a key once; `true` if one of its counters was lowered. `false`, changing nothing, if
    /// the key is surely absent, or stays because all its counters are saturated: then
    /// [`CountingBloomFilter::contains`] still finds it.
    ///
    /// `true` for a key that was never inserted, or was removed more often than inserted, means
    /// damage: see [what counting means](CountingBloomFilter#what-counting-means).
    #[inline]
    #[must_use = "`false` says that the key was absent or stays, and nothing was removed"]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.digest_function.digest(key);
        self.remove_digest(digest)
    }

    /// Like [`CountingBloomFilter::remove`], for a key that is already a digest.
    #[inline]
    #[must_use = "`false` says that the key was absent or stays, and nothing was removed"]
    pub fn remove_digest(&mut self, digest: Digest) -> bool {
        let block = block_mut(&mut self.blocks, digest);
        let removed = with_lanes!(self, L => L::remove(block, digest));
        self.inserted_items = self.inserted_items.saturating_sub(u64::from(removed));
        removed
    }

    /// Whether the key may be present: `false` is certain, `true` is wrong with the filter's
    /// false-positive probability.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`CountingBloomFilter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.estimated_count_digest(digest) != 0
    }

    /// The number of insertions of the key less its removals, estimated as the minimum of its
    /// counters.
    ///
    /// It is never too low as long as only present keys are removed and it is below 15 (or 255),
    /// which is saturated and means "this many or more". It is too high with the false-positive
    /// probability.
    #[inline]
    pub fn estimated_count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.estimated_count_digest(self.digest_function.digest(key))
    }

    /// Like [`CountingBloomFilter::estimated_count`], for a key that is already a digest.
    #[inline]
    pub fn estimated_count_digest(&self, digest: Digest) -> u32 {
        let blocks = self.blocks.as_ref();
        let block = &blocks[positions::block(digest, blocks.len() as u64) as usize];
        with_lanes!(self, L => L::min(block, digest) as u32)
    }

    /// Adds the counters of another filter: this filter then holds the keys of both, and common
    /// keys twice.
    ///
    /// Sums beyond the largest count saturate.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`], changing nothing, if the filters differ in counter bits, number of
    /// counters or digest.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        self.check_compatible(other)?;
        let theirs = other.blocks.as_ref();
        for (block, other) in self.blocks.as_mut().iter_mut().zip(theirs) {
            with_lanes!(self, L => L::add(block, other));
        }
        self.inserted_items = self.inserted_items.saturating_add(other.inserted_items);
        Ok(())
    }

    /// Checks that `other` has the same layout (counter bits), number of counters, digest function,
    /// and seed or key.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] with the first parameter that differs.
    pub fn check_compatible(&self, other: &Self) -> Result<(), Error> {
        self.params.check_same_shape(&other.params)?;
        super::check_same_digest(&self.digest_function, &other.digest_function)
    }

    /// Forgets every key and resets saturated counters.
    pub fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
        self.inserted_items = 0;
    }

    /// A copy of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { blocks: OwnedBlocks::copy_of(self.blocks.as_ref())?, ..*self })
    }

    /// A plain filter with a bit for each counter that is not 0: a quarter (an eighth) of the
    /// memory, for when no more keys will be removed.
    ///
    /// It answers `contains` exactly as this filter does, has the same digest function, n and p,
    /// and derives [`AnyFilter::inserted_items`] from the fill. It is an [`AnyFilter`] because its
    /// layout, `blocked128` or `blocked64`, depends on the counter bits, which are known only at
    /// run time; and because that is the type that can be saved, mapped and united.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap::CountingBloomFilter;
    /// let builder = CountingBloomFilter::builder().expected_items(1_000).target_fpp(1e-4);
    /// let mut counting = builder.build()?;
    /// counting.insert_batch(&["a", "b"]);
    /// assert!(counting.remove("a"));
    /// let plain = counting.to_blocked()?;
    /// assert!(plain.contains("b") && !plain.contains("a"));
    /// assert!(plain.params().num_bytes().abs_diff(counting.num_bytes() / 4) < 64);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn to_blocked(&self) -> Result<AnyFilter, Error> {
        let mut bits = OwnedBlocks::zeroed(self.params.num_blocks())?;
        let words = crate::bits::block::words_mut(bits.as_mut());
        with_lanes!(self, L => {
            let words_per_block = (self.params.layout().block_bits() / 64) as usize;
            for (words, block) in words.chunks_mut(words_per_block).zip(self.blocks.as_ref()) {
                let block_bits = L::to_bits(block);
                words[0] = block_bits as u64;
                if let Some(second) = words.get_mut(1) {
                    *second = (block_bits >> 64) as u64;
                }
            }
        });
        let mut plain = AnyFilter::from_parts(self.params, self.digest_function, bits, 0)?;
        plain.settle_inserted_items();
        Ok(plain)
    }
}

#[inline(always)]
fn block_mut(blocks: &mut OwnedBlocks, digest: Digest) -> &mut Block {
    let blocks = blocks.as_mut();
    let index = positions::block(digest, blocks.len() as u64) as usize;
    &mut blocks[index]
}

/// Blocks of counters, of 512 bits each.
const fn num_blocks(params: &FilterParams) -> u64 {
    params.num_bits() / params.layout().block_bits()
}

fn check_layout(params: &FilterParams) -> Result<(), Error> {
    match params.layout() {
        Layout::Blocked64 => Ok(()),
        _ => params.check_layout(Layout::Blocked128),
    }
}
