//! A scheme, key bytes → positions, and the bits to which they belong.

use crate::Bits;
use mayhap::Bitmap;
use mayhap::sizing::estimated_fpp;
use std::fmt;

/// Key bytes → positions of one filter.
pub trait Scheme: fmt::Debug + Send + Sync {
    /// Positions per key, k.
    fn num_hashes(&self) -> u32;

    /// Calls `each` with every position of a key, in the system's order, all below the number of
    /// bits of the filter; stops early when it returns `false`.
    fn positions(&self, key: &[u8], each: impl FnMut(u64) -> bool);

    /// Whether all bits of each of up to 64 keys are set: bit `i` is the answer for `keys[i]`. For
    /// schemes that can hash several keys at once.
    ///
    /// All words are read before any is tested, so that the k cache misses of a key overlap.
    /// `positions` is room to work in.
    #[inline]
    fn contains_each(&self, keys: &[&[u8]], bits: &Bits, positions: &mut Vec<u64>) -> u64 {
        positions.clear();
        for key in keys {
            self.positions(key, |position| {
                positions.push(position);
                true
            });
        }
        let mut found = 0;
        for (i, positions) in positions.chunks_exact(self.num_hashes() as usize).enumerate() {
            // Without a branch, so that the loads of the next keys do not wait for this answer.
            let all = positions.iter().fold(true, |all, &position| all & bits.get(position));
            found |= u64::from(all) << i;
        }
        found
    }
}

/// A scheme and its bits: the part that most formats share.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemeFilter<S> {
    /// Key bytes → positions.
    pub scheme: S,
    /// The bits.
    pub bits: Bits,
}

/// Keys queried together, so that many cache misses are in flight: a word of answers.
const BATCH_KEYS: usize = 64;

impl<S: Scheme> SchemeFilter<S> {
    /// Whether all bits of the key are set.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        let mut all = true;
        self.scheme.positions(key, |position| {
            all = self.bits.get(position);
            all
        });
        all
    }

    /// Sets all bits of the key; returns whether one of them was clear before.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        let mut new = false;
        self.scheme.positions(key, |position| {
            new |= self.bits.set(position);
            true
        });
        new
    }

    /// The rate of a random key: `(set bits / m)^k`. Reads all bits.
    pub fn fill_fpp(&self) -> f64 {
        estimated_fpp(self.bits.count_ones(), self.bits.num_bits(), self.scheme.num_hashes())
    }

    /// The textbook estimate of the distinct keys, `−m / k ln(1 − set bits / m)`; infinite when all
    /// bits are set. Reads all bits.
    pub fn fill_items(&self) -> f64 {
        let m = self.bits.num_bits() as f64;
        -m / f64::from(self.scheme.num_hashes()) * libm::log1p(-self.bits.fill_ratio())
    }

    /// Queries many keys: bit `i` of `found` is the answer for `keys[i]`.
    pub fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap) {
        found.clear_to(keys.len());
        let mut positions = Vec::with_capacity(BATCH_KEYS * self.scheme.num_hashes() as usize);
        for (group, keys) in keys.chunks(BATCH_KEYS).enumerate() {
            let answers = self.scheme.contains_each(keys, &self.bits, &mut positions);
            found.set_word(group, answers);
        }
    }
}

/// The counted keys of a filter that counts keys that changed a bit, unless its bits contradict the
/// count by more than 5 standard deviations: no file protects the count, and unions add or forget
/// counts.
pub(crate) fn items_by_bits(counted: u64, by_bits: f64) -> u64 {
    let spread = 5.0 * by_bits.sqrt() + 1.0;
    match by_bits {
        by_bits if by_bits.is_infinite() || (counted as f64 - by_bits).abs() <= spread => counted,
        by_bits => by_bits.round() as u64,
    }
}
