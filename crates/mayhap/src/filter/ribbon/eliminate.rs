//! Digests in order → equations over neighbouring slots, each where its first coefficient is.
//!
//! A key's equation reaches over 64 slots, so equations that begin before the keys that are left
//! never change again. Of a layer only a chunk of them is in memory; those before it are put away.

use super::external::{Scratch, SortedDigests, out_of_memory};
use super::layer::{BUCKET, CODES, Row, THRESHOLDS};
use crate::Error;
use crate::filter::fuse::try_filled;
use crate::sizing::ribbon::{code_words, expected_bumped};
use alloc::vec::Vec;

/// Segments whose equations are put away together: 3 MiB of them.
pub(super) const CHUNK_SEGMENTS: usize = 4096;
const CHUNK: usize = 64 * CHUNK_SEGMENTS;
const _: () = assert!(CHUNK.is_multiple_of(BUCKET), "a bucket is in one chunk");
/// Slots in memory past the chunk: sums of equations end where the last of them does, at most 63
/// slots past a place in the chunk.
const MARGIN: usize = 64;
/// Digests that are read together.
const READ: u64 = 1 << 16;

/// Equations of a layer, each where its first coefficient is that is not 0.
struct Rows {
    /// The slot of the first equation that is here; those before it are put away.
    first: usize,
    /// All slots of the layer.
    slots: usize,
    coefficients: Vec<u64>,
    fingerprints: Vec<u32>,
    /// The bits of a fingerprint that count.
    mask: u32,
    /// A chunk as it is put away.
    chunk: Vec<u64>,
}

impl Rows {
    fn new(slots: usize, bits: u32) -> Result<Self, Error> {
        let here = slots.min(CHUNK + MARGIN);
        Ok(Self {
            first: 0,
            slots,
            coefficients: try_filled(0, here)?,
            fingerprints: try_filled(0, here)?,
            mask: u32::MAX >> (32 - bits),
            chunk: try_filled(0, chunk_words(slots.min(CHUNK)))?,
        })
    }

    /// Adds an equation; returns whether it agrees with those before it. If it takes a slot, the
    /// slot is added to `taken`.
    #[inline(always)]
    fn insert(&mut self, place: usize, row: Row, taken: &mut Vec<usize>) -> bool {
        let (mut at, mut coefficients) = (place - self.first, row.coefficients);
        let mut fingerprint = row.fingerprint & self.mask;
        loop {
            let known = self.coefficients[at];
            if known == 0 {
                self.coefficients[at] = coefficients;
                self.fingerprints[at] = fingerprint;
                taken.push(at);
                return true;
            }
            coefficients ^= known;
            fingerprint ^= self.fingerprints[at];
            if coefficients == 0 {
                return fingerprint == 0;
            }
            let zeros = coefficients.trailing_zeros();
            coefficients >>= zeros;
            at += zeros as usize;
        }
    }

    fn remove(&mut self, taken: &[usize]) {
        for &at in taken {
            self.coefficients[at] = 0;
            self.fingerprints[at] = 0;
        }
    }

    /// Puts the equations of whole chunks before this slot away.
    fn put_away_before<E>(&mut self, slot: usize, scratch: &mut impl Scratch<E>) -> Result<(), E> {
        while self.first + CHUNK <= slot {
            self.put_away(CHUNK, scratch)?;
            let rest = self.coefficients.len() - CHUNK;
            self.coefficients.copy_within(CHUNK.., 0);
            self.fingerprints.copy_within(CHUNK.., 0);
            self.coefficients[rest..].fill(0);
            self.fingerprints[rest..].fill(0);
        }
        Ok(())
    }

    /// Puts all that are left away.
    fn put_rest_away<E>(mut self, scratch: &mut impl Scratch<E>) -> Result<(), E> {
        self.put_away_before(self.slots, scratch)?;
        match self.slots - self.first {
            0 => Ok(()),
            slots => self.put_away(slots, scratch),
        }
    }

    fn put_away<E>(&mut self, slots: usize, scratch: &mut impl Scratch<E>) -> Result<(), E> {
        let chunk = &mut self.chunk[..chunk_words(slots)];
        let (coefficients, fingerprints) = chunk.split_at_mut(slots);
        coefficients.copy_from_slice(&self.coefficients[..slots]);
        bytemuck::cast_slice_mut(fingerprints).copy_from_slice(&self.fingerprints[..slots]);
        self.first += slots;
        scratch.put(chunk)
    }
}

/// The words of the equations of this many slots, an even number: coefficients of 64 bits each,
/// then fingerprints of 32.
pub(super) const fn chunk_words(slots: usize) -> usize {
    slots + slots / 2
}

/// The digests of a part, a bucket at a time.
pub(super) struct Keys<'a, D> {
    digests: &'a mut D,
    /// The number of digests that are not read yet.
    unread: u64,
    /// The smallest digest that can follow, and the largest.
    next: u64,
    largest: u64,
    buffer: Vec<u64>,
    /// The first digest in the buffer that is left.
    at: usize,
}

impl<'a, D> Keys<'a, D> {
    /// The next `count` digests of all, none below `smallest` or above `largest`.
    pub(super) const fn new(digests: &'a mut D, count: u64, smallest: u64, largest: u64) -> Self {
        Self { digests, unread: count, next: smallest, largest, buffer: Vec::new(), at: 0 }
    }

    /// The digests of the next bucket, and its number; `None` after the last.
    #[inline(always)]
    fn bucket<E: From<Error>>(
        &mut self,
        bucket_of: impl Fn(u64) -> usize,
    ) -> Result<Option<(usize, &[u64])>, E>
    where
        D: SortedDigests<E>,
    {
        if self.at == self.buffer.len() && !self.read_on()? {
            return Ok(None);
        }
        let bucket = bucket_of(self.buffer[self.at]);
        let mut len = 1;
        loop {
            let same = |key: &&u64| bucket_of(**key) == bucket;
            len += self.buffer[self.at + len..].iter().take_while(same).count();
            if self.at + len < self.buffer.len() || !self.read_on()? {
                break;
            }
        }
        self.at += len;
        Ok(Some((bucket, &self.buffer[self.at - len..self.at])))
    }

    /// Reads more digests after those that are left, if there are more.
    fn read_on<E: From<Error>>(&mut self) -> Result<bool, E>
    where
        D: SortedDigests<E>,
    {
        if self.unread == 0 {
            return Ok(false);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let known = self.buffer.len();
        self.digests.read(&mut self.buffer, self.unread.min(READ) as usize)?;
        let new = &self.buffer[known..];
        Error::check_range("digests", 1..=self.unread, new.len() as u64)?;
        for &digest in new {
            let range = self.next..=self.largest;
            let is_next = range.contains(&digest);
            Error::check_field(is_next, "order of digests", digest)?;
            // After the largest of all there is none: the count says so.
            self.next = digest.saturating_add(1);
        }
        self.unread -= new.len() as u64;
        Ok(true)
    }
}

/// A layer whose equations are put away.
pub(super) struct Eliminated {
    pub(super) segments: u64,
    pub(super) codes: Vec<u64>,
    /// The mixed digests that it leaves to the next.
    pub(super) bumped: Vec<u64>,
}

/// The equations of one layer for keys in the order of their places; `row` gives place and mixed
/// digest.
#[inline(always)]
pub(super) fn eliminate<E: From<Error>>(
    mut keys: Keys<'_, impl SortedDigests<E>>,
    segments: u64,
    bits: u32,
    row: impl Fn(u64) -> (usize, u64),
    scratch: &mut impl Scratch<E>,
) -> Result<Eliminated, E> {
    let no_room = |_| Error::OutOfMemory { bytes: segments.saturating_mul(64 * 12) };
    let slots = usize::try_from(segments.saturating_mul(64)).map_err(no_room)?;
    let mut rows = Rows::new(slots, bits)?;
    let mut codes = try_filled(0, code_words(segments) as usize)?;
    let (mut bumped, mut taken) = (Vec::new(), Vec::new());
    let expected = expected_bumped(keys.unread) as usize;
    bumped.try_reserve_exact(expected).map_err(|_| out_of_memory(expected))?;
    while let Some((bucket, mut own)) = keys.bucket(|key| row(key).0 / BUCKET)? {
        rows.put_away_before(bucket * BUCKET, scratch)?;
        // The last keys first: the keys of the bucket before have taken most of the first slots.
        let mut code = THRESHOLDS.len() - 1;
        while code > 0 {
            let limit = bucket * BUCKET + THRESHOLDS[code - 1];
            let from = own.iter().rposition(|&key| row(key).0 < limit).map_or(0, |last| last + 1);
            taken.clear();
            let fit = own[from..].iter().rev().all(|&key| {
                let (place, mixed) = row(key);
                rows.insert(place, Row::of(mixed), &mut taken)
            });
            if !fit {
                rows.remove(&taken);
                break;
            }
            own = &own[..from];
            code -= 1;
        }
        codes[bucket / CODES] |= (code as u64) << (3 * (bucket % CODES));
        let len = bumped.len() + own.len();
        bumped.try_reserve(own.len()).map_err(|_| out_of_memory(len))?;
        bumped.extend(own.iter().map(|&key| row(key).1));
    }
    rows.put_rest_away(scratch)?;
    Ok(Eliminated { segments, codes, bumped })
}
