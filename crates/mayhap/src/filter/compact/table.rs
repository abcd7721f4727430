//! All buckets of a filter and its attic: where a fingerprint is, and the order that holds between
//! the levels.
//!
//! A bucket that is not full has all fingerprints of its domain; a full one has the smallest, and
//! the others are in the bucket above it, by the same rule. So what the body holds follows from the
//! multiset of fingerprints alone, whatever was inserted and removed in whatever order.

use super::bucket::{Frame, Local, Run};
use crate::Digest;
use crate::positions::mulhi;
use crate::simd::{BUCKET_GROUP, BucketKernel, Fronts, Words, prefetch};
use crate::sizing::compact::{CompactParams, FRONTS, NUM_LEVELS};

/// The copies of a fingerprint that are counted. From this number on they stay for ever.
pub(super) const MAX_COPIES: u32 = 15;

/// Where the buckets and the attic are in the words of the body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    num_fronts: u64,
    /// Fingerprints of a front bucket.
    of_front: u64,
    frames: [Frame; NUM_LEVELS],
    /// The first bucket of each level.
    first: [usize; NUM_LEVELS],
    /// The word with the length of the attic; its entries follow.
    attic: usize,
}

/// A fingerprint and where it belongs on the first level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint {
    pub(super) front: usize,
    pub(super) local: Local,
}

/// What was found in the front bucket of a fingerprint.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    run: Run,
    smaller: u32,
    copies: u32,
}

/// There is no room for a fingerprint on any level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl Table {
    pub(super) fn new(params: &CompactParams) -> Self {
        let mut first = [0; NUM_LEVELS];
        let mut buckets = 0;
        for (level, first) in first.iter_mut().enumerate() {
            *first = buckets;
            buckets += params.num_buckets(level) as usize;
        }
        Self {
            num_fronts: params.num_fronts(),
            of_front: params.front_fingerprints(),
            frames: core::array::from_fn(|level| Frame::new(params.shape(level))),
            first,
            attic: buckets * size_of::<Words>() / 8,
        }
    }

    /// The fingerprint of a digest: `floor(digest · U / 2^64)`, as a front bucket, a run and a
    /// remainder.
    #[inline(always)]
    pub(super) fn fingerprint(&self, digest: Digest) -> Fingerprint {
        let digest = digest.get();
        let front = mulhi(digest, self.num_fronts);
        let within = mulhi(digest.wrapping_mul(self.num_fronts), self.of_front);
        Fingerprint { front: front as usize, local: self.frames[0].local(within) }
    }

    /// The fingerprint as a number below U.
    pub(super) fn number(&self, at: Fingerprint) -> u64 {
        at.front as u64 * self.of_front + self.frames[0].number(at.local)
    }

    /// The inverse of [`Table::number`].
    pub(super) fn of_number(&self, number: u64) -> Fingerprint {
        let local = self.frames[0].local(number % self.of_front);
        Fingerprint { front: (number / self.of_front) as usize, local }
    }

    /// The bucket of a front bucket on a level, and the first number of its domain.
    #[inline(always)]
    fn bucket_of(&self, level: usize, front: u64) -> (usize, u64) {
        let bucket = front / FRONTS[level];
        (self.first[level] + bucket as usize, bucket * FRONTS[level] * self.of_front)
    }

    /// Whether a fingerprint is there.
    #[inline(always)]
    pub(super) fn contains<K: BucketKernel>(&self, body: &[u64], at: Fingerprint) -> bool {
        let (frame, words) = (&self.frames[0], &buckets(body)[at.front]);
        let run = frame.run::<K>(words, at.local.run);
        let found = frame.contains(words, run, at.local.remainder);
        // One branch, which is hardly ever taken.
        if !found & frame.ends_last(run) {
            return frame.may_be_above(words, run, at.local.remainder)
                && self.is_above::<K>(body, at);
        }
        found
    }

    /// What front buckets are queried with.
    pub(super) const fn fronts(&self) -> Fronts {
        self.frames[0].fronts(self.num_fronts)
    }

    /// Requests the bucket of the second level for what a front bucket leaves over.
    #[inline(always)]
    pub(super) fn request_above(&self, body: &[u64], front: usize) {
        let (bucket, _) = self.bucket_of(1, front as u64);
        prefetch(buckets(body), bucket);
        prefetch(body, bucket * 16 + 8);
    }

    /// Whether a fingerprint is on a level above the first.
    #[inline(always)]
    pub(super) fn is_above<K: BucketKernel>(&self, body: &[u64], at: Fingerprint) -> bool {
        let number = self.number(at);
        for level in 1..NUM_LEVELS {
            let (bucket, first) = self.bucket_of(level, at.front as u64);
            let (frame, words) = (&self.frames[level], &buckets(body)[bucket]);
            let local = frame.local(number - first);
            let run = frame.run::<K>(words, local.run);
            if frame.contains(words, run, local.remainder) {
                return true;
            }
            if !frame.may_be_above(words, run, local.remainder) {
                return false;
            }
        }
        self.attic(body).binary_search(&number).is_ok()
    }

    /// The copies of a fingerprint.
    #[inline(always)]
    pub(super) fn count<K: BucketKernel>(&self, body: &[u64], at: Fingerprint) -> u32 {
        let (frame, words) = (&self.frames[0], &buckets(body)[at.front]);
        let run = frame.run::<K>(words, at.local.run);
        let copies = frame.rank(words, run, at.local.remainder).1;
        if frame.may_be_above(words, run, at.local.remainder) {
            copies + self.count_above::<K>(body, at)
        } else {
            copies
        }
    }

    /// The copies of a fingerprint on the levels above the first.
    fn count_above<K: BucketKernel>(&self, body: &[u64], at: Fingerprint) -> u32 {
        let number = self.number(at);
        let mut copies = 0;
        for level in 1..NUM_LEVELS {
            let (bucket, first) = self.bucket_of(level, at.front as u64);
            let (frame, words) = (&self.frames[level], &buckets(body)[bucket]);
            let local = frame.local(number - first);
            let run = frame.run::<K>(words, local.run);
            copies += frame.rank(words, run, local.remainder).1;
            if !frame.may_be_above(words, run, local.remainder) {
                return copies;
            }
        }
        let attic = self.attic(body);
        let from = attic.partition_point(|&entry| entry < number);
        copies + attic[from..].iter().take_while(|&&entry| entry == number).count() as u32
    }

    /// Inserts a copy, unless there are [`MAX_COPIES`], or there is to be no room for more copies
    /// of any; returns how many were there before.
    ///
    /// # Errors
    ///
    /// [`Full`], changing nothing.
    #[inline(always)]
    pub(super) fn insert<K: BucketKernel>(
        &self,
        body: &mut [u64],
        at: Fingerprint,
        has_room: bool,
    ) -> Result<u32, Full> {
        if !has_room {
            let copies = self.count::<K>(body, at);
            return if copies < MAX_COPIES { Err(Full) } else { Ok(copies) };
        }
        let found = self.find::<K>(body, at);
        self.insert_found::<K>(body, at, found)
    }

    /// The run of a fingerprint in its front bucket, and the keys there that are smaller, or equal.
    #[inline(always)]
    pub(super) fn find<K: BucketKernel>(&self, body: &[u64], at: Fingerprint) -> Found {
        let (frame, words) = (&self.frames[0], &buckets(body)[at.front]);
        let run = frame.run::<K>(words, at.local.run);
        let (smaller, copies) = frame.rank(words, run, at.local.remainder);
        Found { run, smaller, copies }
    }

    /// [`Table::find`] for a group of fingerprints.
    #[inline(always)]
    pub(super) fn find_each<K: BucketKernel>(
        &self,
        body: &[u64],
        group: &[Fingerprint],
        found: &mut [Found; BUCKET_GROUP],
    ) {
        let (frame, fronts) = (&self.frames[0], buckets(body));
        let of = |i: usize| group.get(i).map_or((0, 0), |at| (at.front, at.local.run));
        let front: [_; BUCKET_GROUP] = core::array::from_fn(|i| of(i).0);
        let runs: [_; BUCKET_GROUP] = core::array::from_fn(|i| of(i).1);
        let (front, runs) = (&front[..group.len()], &runs[..group.len()]);
        frame.find_runs::<K>(fronts, front, runs, |i, run| found[i].run = run);
        for (found, at) in found.iter_mut().zip(group) {
            let words = &fronts[at.front];
            let run = found.run.with_len(words);
            let (smaller, copies) = frame.rank(words, run, at.local.remainder);
            *found = Found { run, smaller, copies };
        }
    }

    /// [`Table::insert`] where there is room, and its front bucket is as it was found.
    #[inline(always)]
    pub(super) fn insert_found<K: BucketKernel>(
        &self,
        body: &mut [u64],
        at: Fingerprint,
        Found { run, smaller, copies }: Found,
    ) -> Result<u32, Full> {
        let frame = &self.frames[0];
        if run.keys == frame.slots() {
            return self.insert_above::<K>(body, at);
        }
        if copies < MAX_COPIES {
            let words = &mut buckets_mut(body)[at.front];
            frame.insert_at::<K>(words, run, smaller, at.local.remainder);
        }
        Ok(copies)
    }

    /// Inserts a copy of a fingerprint whose front bucket is full.
    #[inline(never)]
    fn insert_above<K: BucketKernel>(
        &self,
        body: &mut [u64],
        at: Fingerprint,
    ) -> Result<u32, Full> {
        let copies = self.count::<K>(body, at);
        if copies >= MAX_COPIES {
            return Ok(copies);
        }
        let mut number = self.number(at);
        let attic = self.attic(body).len();
        if self.attic + 1 + attic == body.len() && self.path_is_full(body, at.front as u64) {
            return Err(Full);
        }
        for level in 0..NUM_LEVELS {
            let (bucket, first) = self.bucket_of(level, at.front as u64);
            let (frame, words) = (&self.frames[level], &mut buckets_mut(body)[bucket]);
            let local = frame.local(number - first);
            let run = frame.run::<K>(words, local.run);
            if run.keys < frame.slots() {
                frame.insert::<K>(words, run, local.remainder);
                return Ok(copies);
            }
            // The largest of all moves on, this one or that which was.
            if !frame.may_be_above(words, run, local.remainder) {
                let last = frame.pop_last::<K>(words);
                let run = frame.run::<K>(words, local.run);
                frame.insert::<K>(words, run, local.remainder);
                number = first + frame.number(last);
            }
        }
        let from = self.attic(body).partition_point(|&entry| entry < number);
        let entries = &mut body[self.attic + 1..];
        entries.copy_within(from..attic, from + 1);
        entries[from] = number;
        body[self.attic] += 1;
        Ok(copies)
    }

    /// Whether all buckets in which a fingerprint of this front bucket may be are full.
    fn path_is_full(&self, body: &[u64], front: u64) -> bool {
        (0..NUM_LEVELS).all(|level| {
            let (bucket, _) = self.bucket_of(level, front);
            let frame = &self.frames[level];
            frame.keys(&buckets(body)[bucket]) == frame.slots()
        })
    }

    /// Removes a copy, unless there are [`MAX_COPIES`]; that many were there before.
    #[inline(always)]
    pub(super) fn remove<K: BucketKernel>(&self, body: &mut [u64], at: Fingerprint) -> u32 {
        let found = self.find::<K>(body, at);
        self.remove_found::<K>(body, at, found)
    }

    /// [`Table::remove`] where its front bucket is as it was found.
    #[inline(always)]
    pub(super) fn remove_found<K: BucketKernel>(
        &self,
        body: &mut [u64],
        at: Fingerprint,
        Found { run, smaller, copies }: Found,
    ) -> u32 {
        let frame = &self.frames[0];
        if run.keys == frame.slots() {
            return self.remove_above::<K>(body, at);
        }
        if copies > 0 && copies < MAX_COPIES {
            frame.remove_at::<K>(&mut buckets_mut(body)[at.front], run, smaller);
        }
        copies
    }

    /// Removes a copy of a fingerprint whose front bucket is full.
    #[inline(never)]
    fn remove_above<K: BucketKernel>(&self, body: &mut [u64], at: Fingerprint) -> u32 {
        let copies = self.count::<K>(body, at);
        if copies == 0 || copies >= MAX_COPIES {
            return copies;
        }
        let number = self.number(at);
        let taken = self.take_first::<K>(body, 0, number, number + 1);
        debug_assert!(taken.is_some(), "it was counted");
        copies
    }

    /// Takes the smallest of the numbers `low..end`, which are of the domain of one bucket of this
    /// level, from this level or those above.
    fn take_first<K: BucketKernel>(
        &self,
        body: &mut [u64],
        level: usize,
        low: u64,
        end: u64,
    ) -> Option<u64> {
        if level == NUM_LEVELS {
            return self.take_from_attic(body, low, end);
        }
        let (bucket, first) = self.bucket_of(level, low / self.of_front);
        let (frame, words) = (&self.frames[level], &mut buckets_mut(body)[bucket]);
        let is_full = frame.keys(words) == frame.slots();
        match frame.first_from::<K>(words, frame.local(low - first)) {
            Some(local) if first + frame.number(local) < end => {
                let run = frame.run::<K>(words, local.run);
                let (smaller, _) = frame.rank(words, run, local.remainder);
                frame.remove_at::<K>(words, run, smaller);
                if is_full {
                    self.refill::<K>(body, level, low);
                }
                Some(first + frame.number(local))
            }
            None if is_full => self.take_first::<K>(body, level + 1, low, end),
            // There are larger ones here, or there is room: so there are none above.
            _ => None,
        }
    }

    /// Brings the smallest from above into the bucket of this number, from which one was taken.
    fn refill<K: BucketKernel>(&self, body: &mut [u64], level: usize, number: u64) {
        let (bucket, first) = self.bucket_of(level, number / self.of_front);
        let end = first.saturating_add(self.of_front.saturating_mul(FRONTS[level]));
        if let Some(taken) = self.take_first::<K>(body, level + 1, first, end) {
            let (frame, words) = (&self.frames[level], &mut buckets_mut(body)[bucket]);
            let local = frame.local(taken - first);
            let run = frame.run::<K>(words, local.run);
            frame.insert::<K>(words, run, local.remainder);
        }
    }

    fn take_from_attic(&self, body: &mut [u64], low: u64, end: u64) -> Option<u64> {
        let attic = self.attic(body);
        let (len, at) = (attic.len(), attic.partition_point(|&entry| entry < low));
        let taken = *attic.get(at).filter(|&&entry| entry < end)?;
        let entries = &mut body[self.attic + 1..];
        entries.copy_within(at + 1..len, at);
        entries[len - 1] = 0;
        body[self.attic] -= 1;
        Some(taken)
    }

    /// The entries of the attic, ascending.
    fn attic<'a>(&self, body: &'a [u64]) -> &'a [u64] {
        let entries = &body[self.attic + 1..];
        &entries[..(body[self.attic] as usize).min(entries.len())]
    }

    /// Calls `each` with the number of every fingerprint, ascending, a copy at a time.
    pub(super) fn for_each<K: BucketKernel>(&self, body: &[u64], mut each: impl FnMut(u64)) {
        for front in 0..self.num_fronts {
            let first = front * self.of_front;
            let end = first + self.of_front;
            let (frame, words) = (&self.frames[0], &buckets(body)[front as usize]);
            frame.for_each(words, |local| each(first + frame.number(local)));
            let mut is_full = frame.keys(words) == frame.slots();
            for level in 1..NUM_LEVELS {
                if !is_full {
                    break;
                }
                is_full = self.for_each_of(body, level, first, end, &mut each);
            }
            if is_full {
                let attic = self.attic(body);
                let from = attic.partition_point(|&entry| entry < first);
                attic[from..]
                    .iter()
                    .take_while(|&&entry| entry < end)
                    .for_each(|&entry| each(entry));
            }
        }
    }

    /// Calls `each` with the numbers `low..end` of the bucket of a level that has them; `true` if
    /// there may be more above.
    fn for_each_of(
        &self,
        body: &[u64],
        level: usize,
        low: u64,
        end: u64,
        mut each: impl FnMut(u64),
    ) -> bool {
        let (bucket, first) = self.bucket_of(level, low / self.of_front);
        let (frame, words) = (&self.frames[level], &buckets(body)[bucket]);
        let mut last = 0;
        frame.for_each(words, |local| {
            last = first + frame.number(local);
            if (low..end).contains(&last) {
                each(last);
            }
        });
        frame.keys(words) == frame.slots() && last < end
    }

    /// Whether the body is one that insertions and removals can leave: buckets and attic are
    /// sorted, and nothing is above a bucket that has room, or below what the bucket has.
    pub(super) fn is_sound<K: BucketKernel>(&self, body: &[u64]) -> bool {
        let entries = &body[self.attic + 1..];
        let attic = self.attic(body);
        let of_level = |level: usize| {
            let next = self.first.get(level + 1).copied();
            let end = next.unwrap_or(self.attic * 8 / size_of::<Words>());
            buckets(body)[self.first[level]..end].iter().map(move |words| (level, words))
        };
        let all = self.num_fronts * self.of_front;
        body[self.attic] <= entries.len() as u64
            && attic.is_sorted()
            && entries[attic.len()..].iter().all(|&entry| entry == 0)
            && (0..NUM_LEVELS)
                .flat_map(of_level)
                .all(|(level, words)| self.frames[level].is_sound(words))
            && attic
                .iter()
                .all(|&number| number < all && self.belongs_above(body, NUM_LEVELS, number))
            && (1..NUM_LEVELS).all(|level| self.level_is_sound(body, level, all))
    }

    /// Whether what the buckets of a level have belongs there.
    fn level_is_sound(&self, body: &[u64], level: usize, all: u64) -> bool {
        let frame = &self.frames[level];
        let num_buckets = self.num_fronts.div_ceil(FRONTS[level]);
        (0..num_buckets).all(|bucket| {
            let first = bucket * FRONTS[level] * self.of_front;
            let mut sound = true;
            frame.for_each(&buckets(body)[self.first[level] + bucket as usize], |local| {
                let number = first + frame.number(local);
                sound = sound && number < all && self.belongs_above(body, level, number);
            });
            sound
        })
    }

    /// Whether the bucket of the level below is full of numbers that are not larger.
    fn belongs_above(&self, body: &[u64], level: usize, number: u64) -> bool {
        let (bucket, first) = self.bucket_of(level - 1, number / self.of_front);
        let (frame, words) = (&self.frames[level - 1], &buckets(body)[bucket]);
        let mut last = 0;
        frame.for_each(words, |local| last = first + frame.number(local));
        frame.keys(words) == frame.slots() && last <= number
    }
}

/// The buckets of the body; the attic may be behind them.
#[inline(always)]
pub(super) fn buckets(body: &[u64]) -> &[Words] {
    body.as_chunks().0
}

#[inline(always)]
fn buckets_mut(body: &mut [u64]) -> &mut [Words] {
    body.as_chunks_mut().0
}
