//! The file: the stream of `writeTo`, or a Java object stream.

use super::scheme::{GuavaScheme, GuavaStrategy};
use super::serialized::Serialized;
use crate::java::{MAGIC, read_longs};
use crate::{Error, Limits, Reader, Scheme, SchemeFilter};

/// Bytes before the longs.
const HEADER_BYTES: usize = 6;

/// The form in which a filter was read and is written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// `writeTo`.
    Stream,
    /// `ObjectOutputStream`.
    Serialized(Serialized),
}

/// Reads a whole file in one of the forms.
pub(super) fn read(
    bytes: &[u8],
    limits: &Limits,
) -> Result<(SchemeFilter<GuavaScheme>, Form), Error> {
    if bytes.starts_with(&MAGIC) {
        let (filter, around) = Serialized::read(bytes, limits)?;
        return Ok((filter, Form::Serialized(around)));
    }
    let mut reader = Reader::new(bytes);
    let filter = read_stream(&mut reader, limits)?;
    reader.finish()?;
    Ok((filter, Form::Stream))
}

/// Reads the output of `writeTo`, which any bytes may follow.
pub(super) fn read_stream(
    reader: &mut Reader<'_>,
    limits: &Limits,
) -> Result<SchemeFilter<GuavaScheme>, Error> {
    let strategy = match reader.u8("strategy")? {
        0 => GuavaStrategy::Mitz32,
        1 => GuavaStrategy::Mitz64,
        other => return Err(Error::bad("strategy", "0 or 1", other.cast_signed())),
    };
    let num_hashes = reader.u8("number of hash functions")?;
    limits.check_hashes("number of hash functions", u64::from(num_hashes))?;
    let (num_longs, bits) = read_longs(reader, limits)?;
    let scheme = GuavaScheme::new(strategy, num_hashes, num_longs)?;
    Ok(SchemeFilter { scheme, bits })
}

/// The output of `writeTo`.
pub(super) fn to_stream(filter: &SchemeFilter<GuavaScheme>) -> Vec<u8> {
    let SchemeFilter { scheme, bits } = filter;
    let mut out = Vec::with_capacity(HEADER_BYTES + bits.words().len() * 8);
    out.push(match scheme.strategy() {
        GuavaStrategy::Mitz32 => 0,
        GuavaStrategy::Mitz64 => 1,
    });
    out.push(scheme.num_hashes() as u8);
    out.extend((bits.words().len() as u32).to_be_bytes());
    bits.write_be_words(&mut out);
    out
}
