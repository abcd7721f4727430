//! A filter of a named format, from its bytes.

use crate::{Error, ForeignFilter, Format, GuavaFilter, Limits, SparkFilter};

/// Opens a filter; [`crate::detect()`] tells of which format bytes may be.
///
/// # Errors
///
/// What the format's own `decode` gives.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Format, Limits};
///
/// // MITZ_64, k = 1, one long: bit 5 is set.
/// let bytes = [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 32];
/// let filter = mayhap_formats::open(Format::Guava, &bytes, &Limits::default())?;
/// assert_eq!((filter.num_bits(), filter.num_hashes(), filter.count_ones()), (64, 1, 1));
/// assert_eq!(filter.encode(), bytes);
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
pub fn open(
    format: Format,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Box<dyn ForeignFilter>, Error> {
    Ok(match format {
        Format::Guava => Box::new(GuavaFilter::decode(bytes, limits)?),
        Format::Spark => Box::new(SparkFilter::decode(bytes, limits)?),
    })
}
