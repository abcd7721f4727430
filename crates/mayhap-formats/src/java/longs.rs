//! Bits as an array of longs.

use crate::{Bits, Error, Limits, Reader};

/// Reads a number of longs L and L longs, the end of the streams of `writeTo` in Guava and Spark.
pub(crate) fn read_longs(reader: &mut Reader<'_>, limits: &Limits) -> Result<(u32, Bits), Error> {
    let num_longs = reader.i32_be("number of longs")?;
    let num_longs = u32::try_from(num_longs)
        .map_err(|_| Error::bad("number of longs", "1 to 2147483647", num_longs))?;
    let bits = Bits::read_be_words(reader, u64::from(num_longs) * 64, limits)?;
    Ok((num_longs, bits))
}
