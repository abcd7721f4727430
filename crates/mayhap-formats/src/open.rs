//! Opens a filter of a given format from its bytes.

use crate::error::same;
use crate::java::MAGIC;
use crate::{
    BitsAndBloomsFilter, BloomFileter, DcsoFilter, Error, ForeignFilter, Format, GuavaFilter,
    Limits, MagnusFilter, PyBloomFilterMmap, PyBloomLiveFilter, PyBloomLiveRelease, RbloomFilter,
    RedisBloomFilter, RedissonFilter, SparkFilter, SplitBlockFilter,
};

/// The parameters that bare bitmaps do not record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// m, with the sign used by its creator.
    pub num_bits: i64,
    /// k.
    pub num_hashes: u32,
}

/// Opens a filter; [`crate::detect()`] lists the formats that bytes may have.
///
/// # Errors
///
/// The errors of the format's own `decode`; [`Error::Unsupported`] for a bare bitmap, which
/// [`open_with`] opens.
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
        Format::BloomFileter => Box::new(BloomFileter::decode(bytes, limits)?),
        Format::Guava => Box::new(GuavaFilter::decode(bytes, limits)?),
        Format::MagnusS => Box::new(MagnusFilter::decode(bytes, limits)?),
        Format::MagnusRedis | Format::Redisson => return Err(without_shape(format)),
        Format::BitsAndBlooms => Box::new(BitsAndBloomsFilter::decode(bytes, limits)?),
        Format::WillfFnv => Box::new(BitsAndBloomsFilter::decode(bytes, limits)?.of_willf()),
        Format::Dcso => Box::new(DcsoFilter::decode(bytes, limits)?),
        Format::Parquet => Box::new(SplitBlockFilter::decode(bytes, limits)?),
        Format::PyBloomFilterMmap => Box::new(PyBloomFilterMmap::decode(bytes, limits)?),
        Format::PyBloomFilterMmap03 => {
            Box::new(PyBloomFilterMmap::decode(bytes, limits)?.of_release_03())
        }
        Format::PyBloomLive3 => {
            Box::new(PyBloomLiveFilter::decode(bytes, PyBloomLiveRelease::V3, limits)?)
        }
        Format::PyBloomLive4 => {
            Box::new(PyBloomLiveFilter::decode(bytes, PyBloomLiveRelease::V4, limits)?)
        }
        Format::Rbloom => Box::new(RbloomFilter::decode(bytes, limits)?),
        Format::RedisBloom => Box::new(RedisBloomFilter::decode(bytes, limits)?),
        Format::Spark => Box::new(SparkFilter::decode(bytes, limits)?),
    })
}

/// Opens a bare bitmap, for which the caller knows m and k; other formats as [`open`], with m and k
/// that must match the file.
///
/// # Errors
///
/// The errors of the format's own `decode`; [`Error::Incompatible`] if the file has another m or k.
pub fn open_with(
    format: Format,
    bytes: &[u8],
    shape: Shape,
    limits: &Limits,
) -> Result<Box<dyn ForeignFilter>, Error> {
    let Shape { num_bits, num_hashes } = shape;
    let int = || i32::try_from(num_bits).map_err(|_| Error::bad("m", "a Java int", num_bits));
    Ok(match format {
        Format::MagnusS if is_magnuss_object(bytes) => {
            of_shape(open(format, bytes, limits)?, shape)?
        }
        Format::MagnusS => {
            Box::new(MagnusFilter::decode_bitset(bytes, int()?, num_hashes, limits)?)
        }
        Format::MagnusRedis => {
            Box::new(MagnusFilter::decode_redis(bytes, int()?, num_hashes, limits)?)
        }
        Format::Redisson => {
            Box::new(RedissonFilter::decode_bare(bytes, num_bits, num_hashes, limits)?)
        }
        _ => of_shape(open(format, bytes, limits)?, shape)?,
    })
}

/// Whether bytes begin like a Java object of the class, even if damaged or truncated; bits may
/// begin like any Java object. [`MagnusFilter::decode_bitset`] treats both as bits.
fn is_magnuss_object(bytes: &[u8]) -> bool {
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    bytes.starts_with(&MAGIC) && (has(b"bitSetSize") || has(b"numberOfAddedElements"))
}

/// The filter, if it has this m and k.
fn of_shape(filter: Box<dyn ForeignFilter>, shape: Shape) -> Result<Box<dyn ForeignFilter>, Error> {
    same("number of bits", &shape.num_bits.unsigned_abs(), &filter.num_bits())?;
    same("number of hash functions", &shape.num_hashes, &filter.num_hashes())?;
    Ok(filter)
}

/// Whether files of this format may record neither m nor k, so that [`open_with`] has to be given
/// both.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Format, needs_shape};
///
/// assert!(needs_shape(Format::Redisson) && !needs_shape(Format::Guava));
/// ```
pub fn needs_shape(format: Format) -> bool {
    matches!(format, Format::MagnusS | Format::MagnusRedis | Format::Redisson)
}

fn without_shape(format: Format) -> Error {
    Error::Unsupported {
        format: format.name(),
        operation: "opening it without m and k",
        reason: "a bare bitmap does not say them; give both",
    }
}
