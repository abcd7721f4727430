//! The file: the stream of `writeTo`.

use super::filter::SparkFilter;
use super::scheme::{SparkScheme, SparkVersion};
use crate::{Bits, Error, Limits, Reader, Scheme, SchemeFilter};

/// How a filter was written, and is written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// `writeTo`.
    Stream,
}

impl SparkFilter {
    /// Reads what `writeTo` wrote.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`], [`Error::Truncated`], each before
    /// anything is allocated; [`Error::TrailingBytes`]; [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
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
    /// of 0 and less (and then answers yes to everything) and no longs (and then fails on the first
    /// query); they are refused here.
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
        let num_longs = reader.i32_be("number of longs")?;
        let num_longs = u32::try_from(num_longs)
            .map_err(|_| Error::bad("number of longs", "1 to 2147483647", num_longs))?;
        let bits = Bits::read_be_words(reader, u64::from(num_longs) * 64, limits)?;
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

    pub(super) fn to_file(&self) -> Vec<u8> {
        match self.form {
            Form::Stream => self.to_stream(),
        }
    }
}
