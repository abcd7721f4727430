//! A compact filter that many threads fill, query and empty at once.

use super::{CompactFilter, CompactParams};
use crate::positions::mulhi;
use crate::sync::{AtomicU64, Guarded, Ordering};
use crate::{Digest, DigestFunction, Error, Key};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Keys of a shard, at least.
const FEWEST_ITEMS: u64 = 4096;
/// Shards, at most: more than twice as many threads as most machines have.
const MOST_SHARDS: u64 = 256;
/// Deviations of the keys of a shard for which it has room.
const DEVIATIONS: f64 = 7.0;

/// [`CompactFilter`] with `insert(&self)` and `remove(&self)`.
///
/// The fingerprints are cut into up to 256 shards, each a compact filter behind a lock that is held
/// for one key, or for the keys of a batch that belong to it. So two threads meet once in as many
/// calls as there are shards. A shard has room for 7 standard deviations more than its share of the
/// keys: 1.4 % more memory for 10 million keys.
///
/// Each call is atomic: it sees all of another or nothing. [`ConcurrentCompactFilter::into_filter`]
/// is the filter of one thread with the same fingerprints, to be saved.
///
/// # Examples
///
/// ```
/// use mayhap::{ConcurrentCompactFilter, DigestFunction};
///
/// let sessions = ConcurrentCompactFilter::new(10_000, 1e-4, DigestFunction::default())?;
/// std::thread::scope(|scope| {
///     for half in [0..5_000u64, 5_000..10_000] {
///         let sessions = &sessions;
///         scope.spawn(move || half.for_each(|id| assert!(sessions.insert(&id).is_ok())));
///     }
/// });
/// assert!(sessions.remove(&7u64) && !sessions.contains(&7u64));
/// assert_eq!(sessions.into_filter()?.inserted_items(), 9_999);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct ConcurrentCompactFilter {
    shards: Box<[Guarded<CompactFilter>]>,
    /// Of all shards together.
    params: CompactParams,
    digest_function: DigestFunction,
    /// Copies that are stored, or are about to be.
    taken: AtomicU64,
}

impl ConcurrentCompactFilter {
    /// An empty filter for `expected_items` copies of keys at `target_fpp`.
    ///
    /// # Errors
    ///
    /// Those of [`CompactParams::for_items`]; [`Error::OutOfMemory`].
    pub fn new(
        expected_items: u64,
        target_fpp: f64,
        digest_function: DigestFunction,
    ) -> Result<Self, Error> {
        let shards = (expected_items / FEWEST_ITEMS).clamp(1, MOST_SHARDS);
        let share = expected_items as f64 / shards as f64;
        let surplus = if shards == 1 { 0.0 } else { DEVIATIONS * libm::sqrt(share) };
        let of_shard = CompactParams::for_items(libm::ceil(share + surplus) as u64, target_fpp)?;
        let params = CompactParams::new(
            of_shard.num_fronts() * shards,
            of_shard.runs(),
            of_shard.remainder_bits(),
            expected_items.max(1),
            target_fpp,
        )?;
        let shards =
            (0..shards).map(|_| Ok(Guarded::new(CompactFilter::empty(of_shard, digest_function)?)));
        let shards = shards.collect::<Result<Vec<_>, Error>>()?.into_boxed_slice();
        Ok(Self { shards, params, digest_function, taken: AtomicU64::new(0) })
    }

    /// The shard of a digest, and the digest within it.
    fn shard(&self, digest: Digest) -> (&Guarded<CompactFilter>, Digest) {
        let (digest, shards) = (digest.get(), self.shards.len() as u64);
        let shard = &self.shards[mulhi(digest, shards) as usize];
        (shard, Digest::new(digest.wrapping_mul(shards)))
    }

    /// Stores a copy of a key; `true` if the key is new: surely not in the filter before.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], changing nothing.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        self.insert_digest(self.digest_function.digest(key))
    }

    /// Like [`ConcurrentCompactFilter::insert`], for a key that is already a digest.
    ///
    /// # Errors
    ///
    /// Same as [`ConcurrentCompactFilter::insert`].
    pub fn insert_digest(&self, digest: Digest) -> Result<bool, Error> {
        let most = self.params.expected_items();
        // ORDERING: Relaxed. A count alone: whoever takes the last place, the others find none.
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let (shard, digest) = self.shard(digest);
        let result = shard.with(|filter| {
            let stored = filter.inserted_items();
            // One with 15 copies takes no place.
            if before >= most && filter.count_digest(digest) < super::table::MAX_COPIES {
                return Err(filter.full());
            }
            let new = filter.insert_digest(digest)?;
            Ok((new, filter.inserted_items() > stored))
        });
        if !matches!(result, Ok((_, true))) {
            // ORDERING: as above.
            self.taken.fetch_sub(1, Ordering::Relaxed);
        }
        match result {
            Ok((new, _)) => Ok(new),
            Err(Error::Full { .. }) => {
                Err(Error::Full { expected_items: most, inserted_items: self.inserted_items() })
            }
            Err(error) => Err(error),
        }
    }

    /// Removes a copy of a key; `true` if it did: see [`CompactFilter::remove`].
    #[must_use = "`false` says that the key was absent or stays, and nothing was removed"]
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.remove_digest(self.digest_function.digest(key))
    }

    /// Like [`ConcurrentCompactFilter::remove`], for a key that is already a digest.
    #[must_use = "`false` says that the key was absent or stays, and nothing was removed"]
    pub fn remove_digest(&self, digest: Digest) -> bool {
        let (shard, digest) = self.shard(digest);
        let removed = shard.with(|filter| filter.remove_digest(digest));
        if removed {
            // ORDERING: Relaxed, as for an insertion: the place is free from now on.
            self.taken.fetch_sub(1, Ordering::Relaxed);
        }
        removed
    }

    /// Whether the key may be present: `false` is certain, `true` is wrong with the filter's
    /// false-positive probability.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`ConcurrentCompactFilter::contains`], for a key that is already a digest.
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let (shard, digest) = self.shard(digest);
        shard.with(|filter| filter.contains_digest(digest))
    }

    /// The copies of the key's fingerprint: see [`CompactFilter::count`].
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        let (shard, digest) = self.shard(self.digest_function.digest(key));
        shard.with(|filter| filter.count_digest(digest))
    }

    /// n, p and the numbers of the buckets of all shards together.
    pub const fn params(&self) -> &CompactParams {
        &self.params
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The copies that are stored, or are just being stored.
    pub fn inserted_items(&self) -> u64 {
        // ORDERING: Relaxed. A count alone.
        self.taken.load(Ordering::Relaxed).min(self.params.expected_items())
    }

    /// Bytes of memory.
    pub fn num_bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.with(|filter| filter.num_bytes())).sum()
    }

    /// The filter of one thread with the same copies of the same fingerprints. Takes the memory of
    /// both while it runs.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Full`] if the copies fit into the shards and not into one
    /// filter, which takes many copies of the same keys.
    pub fn into_filter(self) -> Result<CompactFilter, Error> {
        let mut whole = CompactFilter::empty(self.params, self.digest_function)?;
        let of_shard = self.params.num_fingerprints() / self.shards.len() as u64;
        for (first, shard) in (0..).step_by(of_shard as usize).zip(&self.shards) {
            // `floor(digest · S · U / 2^64)` is the shard times U, plus the number within it.
            shard.with(|filter| whole.insert_numbers_of(filter, first))?;
        }
        Ok(whole)
    }
}
