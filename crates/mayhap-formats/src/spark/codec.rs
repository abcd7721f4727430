//! The file: the stream of `writeTo`, or the same in the blocks of a Java object stream.
//!
//! The class writes only its own contents, whatever fields its descriptor declares; a JVM splits
//! them into blocks of 1,024 bytes. The serialVersionUID changes with each release, so a JVM with
//! another release rejects such a file: use `writeTo` for exchange.

use super::scheme::{SparkScheme, SparkVersion};
use crate::java::{MAGIC, Stream, read_longs};
use crate::{Error, Limits, Reader, Scheme, SchemeFilter};

/// The size of a JVM's blocks, and the largest size of a short one.
const BLOCK: usize = 1024;
const SHORT_BLOCK: usize = 255;

/// The form in which a filter was read and is written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// `writeTo`.
    Stream,
    /// `ObjectOutputStream`: the bytes before the first block.
    Serialized { head: Vec<u8> },
}

/// Reads a whole file in one of the forms.
pub(super) fn read(
    bytes: &[u8],
    limits: &Limits,
) -> Result<(SchemeFilter<SparkScheme>, Form), Error> {
    if bytes.starts_with(&MAGIC) {
        return read_serialized(bytes, limits);
    }
    Ok((read_all(bytes, limits)?, Form::Stream))
}

/// Reads the output of `writeTo` and nothing after it.
fn read_all(bytes: &[u8], limits: &Limits) -> Result<SchemeFilter<SparkScheme>, Error> {
    let mut reader = Reader::new(bytes);
    let filter = read_stream(&mut reader, limits)?;
    reader.finish()?;
    Ok(filter)
}

/// Reads the output of `writeTo`, which any bytes may follow.
pub(super) fn read_stream(
    reader: &mut Reader<'_>,
    limits: &Limits,
) -> Result<SchemeFilter<SparkScheme>, Error> {
    const HASHES: &str = "number of hash functions";
    let version = reader.i32_be("version")?;
    Error::check(version == 1 || version == 2, "version", "1 or 2", version)?;
    let num_hashes = reader.i32_be(HASHES)?;
    let Ok(num_hashes) = u32::try_from(num_hashes) else {
        return Err(Error::bad(HASHES, "1 and more", num_hashes));
    };
    limits.check_hashes(HASHES, u64::from(num_hashes))?;
    let version = match version {
        1 => SparkVersion::V1,
        _ => SparkVersion::V2 { seed: reader.i32_be("seed")? },
    };
    let (num_longs, bits) = read_longs(reader, limits)?;
    let scheme = SparkScheme::new(version, num_hashes, num_longs)?;
    Ok(SchemeFilter { scheme, bits })
}

fn read_serialized(
    bytes: &[u8],
    limits: &Limits,
) -> Result<(SchemeFilter<SparkScheme>, Form), Error> {
    let is_filter =
        |name: &str| name.ends_with(".BloomFilterImpl") || name.ends_with(".BloomFilterImplV2");
    let (stream, root) = Stream::read(bytes, is_filter)?;
    let class = stream.class(root.class)?.name;
    let allowed = "BloomFilterImpl or BloomFilterImplV2";
    Error::check(is_filter(class), "Java class", allowed, class)?;
    let contents: Vec<u8> =
        root.blocks.iter().flat_map(|block| &bytes[block.clone()]).copied().collect();
    // Not `read`: an object within an object is not from Spark, and each would nest the calls
    // deeper.
    let filter = read_all(&contents, limits)?;
    let first = root.blocks.first().map_or(0, |block| block.start);
    let token_bytes = if contents.len() > SHORT_BLOCK { 5 } else { 2 };
    let form = Form::Serialized { head: bytes[..first - token_bytes].to_vec() };
    let is_same = form.encode(&filter) == bytes;
    Error::check(is_same, "blocks", "1024 bytes each but the last", "others")?;
    Ok((filter, form))
}

/// The output of `writeTo`.
pub(super) fn to_stream(filter: &SchemeFilter<SparkScheme>) -> Vec<u8> {
    let SchemeFilter { scheme, bits } = filter;
    let mut out = Vec::with_capacity(16 + bits.words().len() * 8);
    out.extend(scheme.version().number().to_be_bytes());
    out.extend(scheme.num_hashes().to_be_bytes());
    if let SparkVersion::V2 { seed } = scheme.version() {
        out.extend(seed.to_be_bytes());
    }
    out.extend((bits.words().len() as u32).to_be_bytes());
    bits.write_be_words(&mut out);
    out
}

impl Form {
    /// The file of a filter.
    pub(super) fn encode(&self, filter: &SchemeFilter<SparkScheme>) -> Vec<u8> {
        let stream = to_stream(filter);
        let Self::Serialized { head } = self else { return stream };
        let mut out = head.clone();
        for block in stream.chunks(BLOCK) {
            if block.len() > SHORT_BLOCK {
                out.push(0x7A);
                out.extend((block.len() as u32).to_be_bytes());
            } else {
                out.extend([0x77, block.len() as u8]);
            }
            out.extend_from_slice(block);
        }
        out.push(0x78);
        out
    }
}
