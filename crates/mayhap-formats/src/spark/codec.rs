//! The file: the stream of `writeTo`, or the same in the blocks of a Java object stream.
//!
//! The class writes only its own contents, whatever fields its descriptor declares; a JVM splits
//! them into blocks of 1,024 bytes. The serialVersionUID changes with each release, so a JVM with
//! another release rejects such a file: use `writeTo` for exchange.

use super::filter::SparkFilter;
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

impl SparkFilter {
    /// Reads what `writeTo` or an `ObjectOutputStream` wrote.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`], [`Error::Truncated`], each before
    /// anything is allocated; [`Error::TrailingBytes`]; [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        if bytes.starts_with(&MAGIC) {
            return Self::decode_serialized(bytes, limits);
        }
        let mut reader = Reader::new(bytes);
        let filter = Self::read_from(&mut reader, limits)?;
        reader.finish()?;
        Ok(filter)
    }

    /// Reads what `writeTo` wrote and leaves what follows unread, as `readFrom` does.
    ///
    /// # Errors
    ///
    /// Those of [`SparkFilter::decode`] without [`Error::TrailingBytes`]. Spark itself accepts a k
    /// of 0 and less (and then answers yes to every query) and no longs (and then fails on the
    /// first query); both are rejected here.
    pub fn read_from(reader: &mut Reader<'_>, limits: &Limits) -> Result<Self, Error> {
        const HASHES: &str = "number of hash functions";
        let version = reader.i32_be("version")?;
        if version != 1 && version != 2 {
            return Err(Error::bad("version", "1 or 2", version));
        }
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
        Ok(Self { inner: SchemeFilter { scheme, bits }, form: Form::Stream })
    }

    /// What `writeTo` writes.
    pub fn to_stream(&self) -> Vec<u8> {
        let words = self.bits().words();
        let version = self.version();
        let mut out = Vec::with_capacity(16 + words.len() * 8);
        out.extend(version.number().to_be_bytes());
        out.extend(self.inner.scheme.num_hashes().to_be_bytes());
        if let SparkVersion::V2 { seed } = version {
            out.extend(seed.to_be_bytes());
        }
        out.extend((words.len() as u32).to_be_bytes());
        self.bits().write_be_words(&mut out);
        out
    }

    fn decode_serialized(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let is_filter =
            |name: &str| name.ends_with(".BloomFilterImpl") || name.ends_with(".BloomFilterImplV2");
        let (stream, root) = Stream::read(bytes, is_filter)?;
        let class = stream.class(root.class)?.name;
        if !is_filter(class) {
            return Err(Error::bad("Java class", "BloomFilterImpl or BloomFilterImplV2", class));
        }
        let contents: Vec<u8> =
            root.blocks.iter().flat_map(|block| &bytes[block.clone()]).copied().collect();
        // Not `decode`: an object within an object is none of Spark's, and a deeper call each.
        let mut reader = Reader::new(&contents);
        let mut filter = Self::read_from(&mut reader, limits)?;
        reader.finish()?;
        let first = root.blocks.first().map_or(0, |block| block.start);
        let token_bytes = if contents.len() > SHORT_BLOCK { 5 } else { 2 };
        filter.form = Form::Serialized { head: bytes[..first - token_bytes].to_vec() };
        if filter.to_file() != bytes {
            return Err(Error::bad("blocks", "1024 bytes each but the last", "others"));
        }
        Ok(filter)
    }

    pub(super) fn to_file(&self) -> Vec<u8> {
        match &self.form {
            Form::Stream => self.to_stream(),
            Form::Serialized { head } => {
                let mut out = head.clone();
                for block in self.to_stream().chunks(BLOCK) {
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
    }
}
