//! Checks that the fields of both kinds of windows share.

use crate::Error;
use crate::native::Fields;
use crate::sizing::window::MIN_NUM_ROWS;
use crate::sizing::{MAX_NUM_HASHES, check_fpp};

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
    let (bits, hashes) = (fields.num_bits, fields.num_hashes);
    Error::check_field(fields.layout == layout, "layout", fields.layout.into())?;
    fields.check_extra_is_zero(used)?;
    fields.check_no_layers()?;
    let columns = u64::from(COLUMNS);
    let (min, max) = (MIN_NUM_ROWS * columns, max_rows * columns);
    let is_whole = (min..=max).contains(&bits) && bits.is_multiple_of(columns);
    Error::check_field(is_whole, "num_bits", bits)?;
    Error::check_field((1..=MAX_NUM_HASHES).contains(&hashes), "num_hashes", hashes.into())?;
    check_fpp(fields.target_fpp)
}
