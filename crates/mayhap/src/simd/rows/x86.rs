//! x86: k is known to the compiler, and the positions of a query in a near cache are computed side
//! by side. Their rows are loaded one by one, as in `probes/`.

use super::kernel::{FIRST, Kernel, Range, Row};
use crate::Digest;
use crate::positions::{self, PROBE_MULTIPLIERS};
use crate::simd::probes::positions_by_4;
#[cfg(not(miri))]
use crate::simd::probes::positions_by_8;

/// A kernel for each k from 1 to 20; above, all is scalar.
macro_rules! kernels {
    ($name:literal, $near:ident) => {
        kernels!($name, $near: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
    };
    ($name:literal, $near:ident: $($k:literal)*) => {
        [$(Kernel {
            name: $name,
            near: $near::<R, $k>,
            far: far::<R, $k>,
            first: first::<R, $k>,
            rest: rest::<R, $k>,
            insert: insert::<R, $k>,
        }),*]
    };
}

pub(super) const fn avx2_kernels<R: Row>() -> [Kernel<R>; 20] {
    kernels!("avx2", near_avx2)
}

#[cfg(not(miri))]
pub(super) const fn avx512_kernels<R: Row>() -> [Kernel<R>; 20] {
    kernels!("avx512", near_avx512)
}

/// The columns of `columns` that are in the rows at these positions. Rows are in memory in the
/// order of their numbers: x86 is little-endian.
///
/// # Safety
///
/// The positions are within the rows.
#[inline(always)]
unsafe fn and_at<R: Row>(rows: &[R], columns: R, positions: impl Iterator<Item = u64>) -> R {
    positions.fold(columns, |columns, position| {
        // SAFETY: as the caller promises.
        columns & unsafe { *rows.get_unchecked(position as usize) }
    })
}

/// # Safety
///
/// See [`Kernel`], as for all functions here.
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn near_avx2<R: Row, const K: usize>(
    rows: &[R],
    digest: Digest,
    range: Range,
    mut columns: R,
) -> R {
    for first in (0..K).step_by(4) {
        let positions = positions_by_4(digest, first, range.num_rows as u32);
        // SAFETY: positions are below `num_rows`, and the caller promises as many rows.
        columns = unsafe { and_at(rows, columns, positions.into_iter().take(K - first)) };
    }
    columns
}

#[cfg(not(miri))]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
unsafe fn near_avx512<R: Row, const K: usize>(
    rows: &[R],
    digest: Digest,
    range: Range,
    mut columns: R,
) -> R {
    for first in (0..K).step_by(8) {
        let positions = positions_by_8(digest, first, range.num_rows as u32);
        // SAFETY: as in `near_avx2`.
        columns = unsafe { and_at(rows, columns, positions.into_iter().take(K - first)) };
    }
    columns
}

/// The first rows of K, and the others.
const fn split<const K: usize>() -> (&'static [u64], &'static [u64]) {
    PROBE_MULTIPLIERS.split_at(K).0.split_at(if K < FIRST { K } else { FIRST })
}

#[inline]
#[target_feature(enable = "bmi1,bmi2")]
unsafe fn first<R: Row, const K: usize>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    // SAFETY: as the caller promises.
    unsafe { and(rows, digest, range, columns, split::<K>().0) }
}

#[inline]
#[target_feature(enable = "bmi1,bmi2")]
unsafe fn rest<R: Row, const K: usize>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    // SAFETY: as the caller promises.
    unsafe { and(rows, digest, range, columns, split::<K>().1) }
}

#[target_feature(enable = "bmi1,bmi2")]
unsafe fn far<R: Row, const K: usize>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    // SAFETY: as the caller promises.
    unsafe {
        let columns = first::<R, K>(rows, digest, range, columns);
        if columns == R::NONE { columns } else { rest::<R, K>(rows, digest, range, columns) }
    }
}

#[inline(always)]
unsafe fn and<R: Row>(
    rows: &[R],
    digest: Digest,
    range: Range,
    columns: R,
    multipliers: &[u64],
) -> R {
    let position = |&multiplier| positions::standard(digest, multiplier, range.num_rows);
    // SAFETY: as in `near_avx2`.
    unsafe { and_at(rows, columns, multipliers.iter().map(position)) }
}

/// All positions before the first write, so that no load of a number waits for it.
#[target_feature(enable = "bmi1,bmi2")]
unsafe fn insert<R: Row, const K: usize>(
    rows: &mut [R],
    digest: Digest,
    range: Range,
    columns: R,
) -> R {
    let positions: [u64; K] =
        core::array::from_fn(|i| positions::standard(digest, PROBE_MULTIPLIERS[i], range.num_rows));
    let mut before = R::ALL;
    for position in positions {
        // SAFETY: as in `near_avx2`.
        let row = unsafe { rows.get_unchecked_mut(position as usize) };
        before = before & *row;
        *row |= columns;
    }
    before
}
