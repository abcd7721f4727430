//! Checks that the fields of both kinds of windows share.

use crate::Error;
use crate::native::Fields;
use crate::sizing::window::MIN_NUM_ROWS;
use crate::sizing::{MAX_NUM_HASHES, check_fpp};

pub(super) fn bad_field<T>(field: &'static str, found: u64) -> Result<T, Error> {
    Err(Error::BadField { field, found })
}

/// Checks the fields common to all tables: the layout, no more than `used` fields of `extra`, no
/// layers, numbers within their ranges.
///
/// # Errors
///
/// [`Error::BadField`] with the first wrong one; [`Error::FppOutOfRange`].
pub(super) fn check_fields<const COLUMNS: u32>(
    fields: &Fields,
    layout: u16,
    used: usize,
    max_rows: u64,
) -> Result<(), Error> {
    if fields.layout != layout {
        return bad_field("layout", fields.layout.into());
    }
    fields.check_extra_is_zero(used)?;
    if !fields.layers.is_empty() {
        return bad_field("layers", fields.layers.len() as u64);
    }
    let columns = u64::from(COLUMNS);
    let (min, max) = (MIN_NUM_ROWS * columns, max_rows * columns);
    if !(min..=max).contains(&fields.num_bits) || !fields.num_bits.is_multiple_of(columns) {
        return bad_field("num_bits", fields.num_bits);
    }
    if !(1..=MAX_NUM_HASHES).contains(&fields.num_hashes) {
        return bad_field("num_hashes", fields.num_hashes.into());
    }
    check_fpp(fields.target_fpp)
}
