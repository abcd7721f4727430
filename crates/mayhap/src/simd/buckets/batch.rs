//! Queries of many keys in steps, each for a group of them, so that neither the steps nor the cache
//! lines of one key wait for another.
//!
//! The lines of a front bucket are requested a group before they are read, and so are those of what
//! has to be looked up on a higher level.

use super::kernel::{BucketKernel, GROUP, Words};
use crate::Digest;
use crate::positions::mulhi;
use crate::simd::{fits_cache, prefetch};

/// Groups that are at work at once, each at another step.
const STEPS: usize = 4;

/// The numbers of a filter that its front buckets are queried with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fronts {
    pub(crate) buckets: u64,
    /// Fingerprints of a front bucket.
    pub(crate) fingerprints: u64,
    pub(crate) index_bits: u32,
    pub(crate) remainder_bits: u32,
    pub(crate) slots: u32,
    /// The lowest bit of each remainder in a word, and how many a word has.
    pub(crate) ones: u64,
    pub(crate) in_word: u32,
}

/// A key in a front bucket.
#[derive(Clone, Copy)]
pub(crate) struct InFront {
    pub(crate) front: usize,
    pub(crate) run: u32,
    pub(crate) remainder: u64,
}

/// What remains to be done for a key after its front bucket.
pub(crate) trait Above {
    /// Requests what [`Above::contains`] will read.
    fn request(&self, front: usize);

    /// Whether the key is in the filter: above its front bucket, or there, too, if its run is
    /// long.
    fn contains<K: BucketKernel>(&self, key: InFront, is_long: bool) -> bool;
}

/// A group of keys, step by step.
#[derive(Clone, Copy)]
struct Group {
    front: [usize; GROUP],
    run: [u32; GROUP],
    remainder: [u64; GROUP],
    /// The bit of the index at which the run starts.
    bit: [u32; GROUP],
    /// Those that are to be looked up otherwise, and of these those with long runs.
    left: u32,
    long: u32,
}

impl Fronts {
    /// Sets bit `i` of `found`, all zeros before, if `digests[i]` is in the filter.
    ///
    /// # Panics
    ///
    /// If there are fewer buckets than [`Fronts::buckets`].
    #[inline(always)]
    pub(crate) fn contains_each<K: BucketKernel>(
        &self,
        buckets: &[Words],
        digests: &[Digest],
        found: &mut [u64],
        above: &impl Above,
    ) {
        let fronts = &buckets[..self.buckets as usize];
        let is_near = fits_cache(fronts.len() * 2);
        let start = Group {
            front: [0; GROUP],
            run: [0; GROUP],
            remainder: [0; GROUP],
            bit: [0; GROUP],
            left: 0,
            long: 0,
        };
        let mut groups = [start; STEPS];
        let of = |step: usize| digests.get(step * GROUP..).unwrap_or_default();
        let of = |step: usize| &of(step)[..of(step).len().min(GROUP)];
        let num_groups = digests.len().div_ceil(GROUP);
        for step in 0..num_groups + STEPS - 1 {
            let group = &mut groups[step % STEPS];
            for (i, &digest) in of(step).iter().enumerate() {
                self.place(fronts, digest, i, group, is_near);
            }
            if let Some(i) = step.checked_sub(1)
                && i < num_groups
            {
                self.find::<K>(fronts, of(i).len(), &mut groups[i % STEPS]);
            }
            if let Some(i) = step.checked_sub(2)
                && i < num_groups
            {
                let group = &mut groups[i % STEPS];
                let bits = self.compare(fronts, of(i).len(), group);
                found[i / 2] |= u64::from(bits) << (i % 2 * 32);
                let mut left = group.left;
                while left != 0 {
                    above.request(group.front[left.trailing_zeros() as usize]);
                    left &= left - 1;
                }
            }
            if let Some(i) = step.checked_sub(3) {
                let group = &groups[i % STEPS];
                let mut left = group.left;
                while left != 0 {
                    let key = left.trailing_zeros() as usize;
                    let (front, run) = (group.front[key], group.run[key]);
                    let remainder = group.remainder[key];
                    let is_long = group.long >> key & 1 == 1;
                    let is_there = above.contains::<K>(InFront { front, run, remainder }, is_long);
                    found[i / 2] |= u64::from(is_there) << (i % 2 * 32 + key);
                    left &= left - 1;
                }
            }
        }
    }

    /// First step: where the fingerprints belong.
    #[inline(always)]
    fn place(&self, fronts: &[Words], digest: Digest, i: usize, group: &mut Group, is_near: bool) {
        let front = mulhi(digest.get(), self.buckets) as usize;
        let rest = digest.get().wrapping_mul(self.buckets);
        let within = mulhi(rest, self.fingerprints);
        group.front[i] = front;
        group.run[i] = (within >> self.remainder_bits) as u32;
        group.remainder[i] = within & ((1 << self.remainder_bits) - 1);
        if !is_near {
            // Both lines: the second is needed by two keys of three.
            prefetch(fronts, front);
            prefetch(front_of(fronts, front), 8);
        }
    }

    /// Second step: their runs.
    #[inline(always)]
    fn find<K: BucketKernel>(&self, fronts: &[Words], len: usize, group: &mut Group) {
        let Group { front, run, bit: bits, .. } = group;
        K::find_runs(
            fronts,
            &front[..len],
            self.index_bits,
            &run[..len],
            #[inline(always)]
            |i, bit, _| bits[i] = bit,
        );
    }

    /// Third step: which of them are there; the others of which that is not certain are left.
    #[inline(always)]
    fn compare(&self, fronts: &[Words], len: usize, group: &mut Group) -> u32 {
        let bits = self.remainder_bits;
        // Without remainders, as after many doublings, a run is all that there is to know.
        let high = if bits == 0 { 1 } else { self.ones << (bits - 1) };
        let low = if bits == 0 { 0 } else { high - self.ones };
        let (mut found, mut left, mut long) = (0, 0, 0);
        for i in 0..len {
            let (words, bit) = (front_of(fronts, group.front[i]), group.bit[i]);
            let (slot, keys) = (bit - group.run[i], bits_from(words, bit).trailing_ones());
            let word = bits_from(words, self.index_bits + slot * bits);
            let difference = word ^ group.remainder[i].wrapping_mul(self.ones);
            // Without their highest bits the fields add without a carry into each other.
            let equal = !((difference & low).wrapping_add(low) | difference) & high;
            let equal = equal & below(keys * bits.max(1));
            let is_found = equal != 0;
            // Without branches: as bits.
            let (is_found, is_last) = (u32::from(is_found), u32::from(slot + keys == self.slots));
            let is_long = u32::from(keys > self.in_word);
            let is_left = is_last & !is_found | is_long;
            found |= (is_found & !is_left) << i;
            left |= is_left << i;
            long |= is_long << i;
        }
        (group.left, group.long) = (left, long);
        found
    }
}

/// The bits below this one, all from 64 on.
#[inline(always)]
const fn below(bit: u32) -> u64 {
    if bit < 64 { (1 << bit) - 1 } else { u64::MAX }
}

/// The front bucket of this number.
#[inline(always)]
fn front_of(fronts: &[Words], front: usize) -> &Words {
    debug_assert!(front < fronts.len(), "front bucket {front} of {}", fronts.len());
    // SAFETY: `Fronts::place` computed it as `mulhi(_, buckets)`, which is below the length of
    // the same slice; groups that were never placed have front bucket 0, and there is one wherever
    // there is a digest.
    unsafe { fronts.get_unchecked(front) }
}

/// At least 57 bits from this one on; what is behind the bucket is 0.
#[inline(always)]
fn bits_from(words: &Words, bit: u32) -> u64 {
    // One load, of bytes in the order of the bits, which ends with the bucket.
    let byte = (bit / 8).min(120);
    let shift = bit - byte * 8;
    if cfg!(target_endian = "little") {
        // SAFETY: bytes 120 to 127 are the last of a bucket.
        let word = unsafe {
            words.as_ptr().cast::<u8>().add(byte as usize).cast::<u64>().read_unaligned()
        };
        return if shift < 64 { word >> shift } else { 0 };
    }
    let (word, shift) = (bit as usize / 64, bit % 64);
    let low = words.get(word).map_or(0, |low| low >> shift);
    let high = words.get(word + 1).map_or(0, |high| high << 1 << (63 - shift));
    low | high
}
