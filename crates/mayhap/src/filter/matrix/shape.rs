//! Digest → rows.

use crate::bits::Block;
use crate::positions::{self, LANE_MULTIPLIERS, LANE_SHIFTS};
use crate::sizing::distinct::Intake;
use crate::sizing::matrix::{LANE_ROWS, lanes, num_bits};
use crate::{Digest, Error};

/// The numbers that all sets of a matrix share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) num_groups: u64,
    pub(super) num_hashes: u32,
    pub(super) expected_items: u64,
    pub(super) target_fpp: f64,
}

impl Shape {
    /// Lanes of 64 rows in a group.
    pub(super) const fn lanes(self) -> usize {
        lanes(self.num_hashes) as usize
    }

    /// The model of the bits that the keys of a set occupy.
    pub(super) const fn intake(self) -> Intake {
        Intake::lanes(self.num_groups, lanes(self.num_hashes), LANE_ROWS, self.num_hashes)
    }

    pub(super) const fn num_bits(self) -> u64 {
        num_bits(self.num_groups, self.num_hashes)
    }

    pub(super) const fn panel_bytes(self) -> u64 {
        self.num_bits().saturating_mul(Block::BYTES as u64)
    }

    /// [`Error::OutOfRange`] unless a set is a `blocked` filter, bit for bit. A set with k = 4 is
    /// not: the lanes of such a filter have 128 bits.
    pub(super) const fn check_blocks(self) -> Result<(), Error> {
        match self.num_hashes {
            8 | 16 => Ok(()),
            k => {
                let (parameter, found) = ("num_hashes (8 or 16)", k as u64);
                Err(Error::OutOfRange { parameter, min: 8, max: 16, found })
            }
        }
    }

    /// Calls `f` with each row of the digest: one per lane, two for k = 16.
    #[inline(always)]
    pub(super) fn for_each_row(self, digest: Digest, mut f: impl FnMut(usize)) {
        self.for_each_bit(digest, |lane, bit| f(lane * LANE_ROWS as usize + bit as usize));
    }

    /// Calls `f` with each lane of the panel that the digest has a row in, and the row's number
    /// there.
    #[inline(always)]
    pub(super) fn for_each_bit(self, digest: Digest, mut f: impl FnMut(usize, u64)) {
        let first_lane = positions::block(digest, self.num_groups) as usize * self.lanes();
        let passes = if self.num_hashes == 16 { 2 } else { 1 };
        for multiplier in &LANE_MULTIPLIERS[..passes] {
            let product = digest.get().wrapping_mul(*multiplier);
            for lane in 0..self.lanes() {
                f(first_lane + lane, row_in_lane(product, lane));
            }
        }
    }

    /// The AND of a digest's rows, with the numbers of lanes and of rows in each known to the
    /// compiler: the fewer instructions a query has, the more of them a CPU has in flight.
    #[inline(never)]
    pub(super) fn and_rows<const LANES: usize, const PASSES: usize>(
        self,
        rows: &[Block],
        digest: Digest,
        answer: &mut [u64; 8],
    ) {
        let rows_per_lane = LANE_ROWS as usize;
        let group = positions::block(digest, self.num_groups) as usize;
        let rows = &rows[group * LANES * rows_per_lane..][..LANES * rows_per_lane];
        *answer = [u64::MAX; 8];
        for multiplier in &LANE_MULTIPLIERS[..PASSES] {
            let product = digest.get().wrapping_mul(*multiplier);
            for lane in 0..LANES {
                let row = lane * rows_per_lane + row_in_lane(product, lane) as usize;
                for (answer, word) in answer.iter_mut().zip(rows[row].0) {
                    *answer &= word;
                }
            }
        }
    }
}

/// The row in a lane for a product of the digest and a multiplier.
#[inline(always)]
const fn row_in_lane(product: u64, lane: usize) -> u64 {
    product >> LANE_SHIFTS[lane] & (LANE_ROWS - 1)
}
