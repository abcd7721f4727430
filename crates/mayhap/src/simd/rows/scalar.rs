//! Plain code, the definition.

use super::kernel::{FIRST, Kernel, Range, Row, place};
use crate::Digest;
use crate::positions::{self, PROBE_MULTIPLIERS};

pub(super) const fn kernel<R: Row>() -> Kernel<R> {
    Kernel { name: "scalar", near, far, first, rest, insert }
}

/// The places of a digest's rows.
#[inline(always)]
fn places<R: Row>(digest: Digest, range: Range) -> impl Iterator<Item = usize> {
    PROBE_MULTIPLIERS[..range.num_hashes as usize]
        .iter()
        .map(move |&multiplier| place::<R>(positions::standard(digest, multiplier, range.num_rows)))
}

fn near<R: Row>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    places::<R>(digest, range).fold(columns, |columns, place| columns & rows[place])
}

fn far<R: Row>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    let columns = first(rows, digest, range, columns);
    if columns == R::NONE { columns } else { rest(rows, digest, range, columns) }
}

fn first<R: Row>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    places::<R>(digest, range).take(FIRST).fold(columns, |columns, place| columns & rows[place])
}

fn rest<R: Row>(rows: &[R], digest: Digest, range: Range, columns: R) -> R {
    places::<R>(digest, range).skip(FIRST).fold(columns, |columns, place| columns & rows[place])
}

fn insert<R: Row>(rows: &mut [R], digest: Digest, range: Range, columns: R) -> R {
    places::<R>(digest, range).fold(R::ALL, |before, place| {
        let row = &mut rows[place];
        let before = before & *row;
        *row |= columns;
        before
    })
}
