//! The definition: plane by plane.

use super::kernel::{Lines, PlaneKernel};

pub(super) struct Scalar;

impl PlaneKernel for Scalar {
    #[inline(always)]
    fn agrees(
        words: &[u64],
        lines: Lines,
        shift: u32,
        coefficients: u64,
        fingerprint: u32,
    ) -> bool {
        lines.check(words);
        let [low, high] = [lines.low, lines.high].map(|at| &words[at..][..lines.planes]);
        let (mut differ, mut done) = (0, 0);
        // As many as there are, in loops of a length that the compiler knows.
        macro_rules! some_planes {
            ($($planes:literal)*) => {
                $(if let (Some(low), Some(high)) =
                    (low[done..].first_chunk::<$planes>(), high[done..].first_chunk())
                {
                    differ |= differ_in(low, high, shift, coefficients, fingerprint >> done);
                    done += $planes;
                })*
            };
        }
        some_planes!(8 4 2 1);
        let _ = done;
        differ & 1 == 0
    }
}

/// Whether a sum of slots is not the fingerprint, in the lowest bit.
#[inline(always)]
fn differ_in<const N: usize>(
    low: &[u64; N],
    high: &[u64; N],
    shift: u32,
    coefficients: u64,
    fingerprint: u32,
) -> u32 {
    let mut differ = 0;
    for i in 0..N {
        // Twice, since a shift by 64 is none.
        let slots = low[i] >> shift | high[i] << 1 << (63 - shift);
        differ |= (slots & coefficients).count_ones() ^ (fingerprint >> i);
    }
    differ
}
