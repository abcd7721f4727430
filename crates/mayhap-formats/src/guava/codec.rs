//! The file: the stream of `writeTo`, or a Java object stream.

use super::filter::GuavaFilter;
use super::scheme::{GuavaScheme, GuavaStrategy};
use super::serialized::GuavaFunnel;
use crate::java::{MAGIC, read_longs};
use crate::{Error, Limits, Reader, Scheme, SchemeFilter};

/// Bytes before the longs.
pub(super) const HEADER_BYTES: usize = 6;

/// The form in which a filter was read and is written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// `writeTo`.
    Stream,
    /// `ObjectOutputStream`: the bytes before and after the longs.
    Serialized { head: Vec<u8>, tail: Vec<u8>, funnel: GuavaFunnel },
}

impl GuavaFilter {
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
    /// Those of [`GuavaFilter::decode`] without [`Error::TrailingBytes`].
    pub fn read_from(reader: &mut Reader<'_>, limits: &Limits) -> Result<Self, Error> {
        let strategy = match reader.u8("strategy")? {
            0 => GuavaStrategy::Mitz32,
            1 => GuavaStrategy::Mitz64,
            other => return Err(Error::bad("strategy", "0 or 1", other.cast_signed())),
        };
        let num_hashes = reader.u8("number of hash functions")?;
        limits.check_hashes("number of hash functions", u64::from(num_hashes))?;
        let (num_longs, bits) = read_longs(reader, limits)?;
        let scheme = GuavaScheme::new(strategy, num_hashes, num_longs)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, form: Form::Stream })
    }

    /// What `writeTo` writes.
    pub fn to_stream(&self) -> Vec<u8> {
        let words = self.bits().words();
        let mut out = Vec::with_capacity(HEADER_BYTES + words.len() * 8);
        out.push(match self.strategy() {
            GuavaStrategy::Mitz32 => 0,
            GuavaStrategy::Mitz64 => 1,
        });
        out.push(self.inner.scheme.num_hashes() as u8);
        out.extend((words.len() as u32).to_be_bytes());
        self.bits().write_be_words(&mut out);
        out
    }

    /// The funnel, if the file names it.
    pub fn funnel(&self) -> Option<&GuavaFunnel> {
        match &self.form {
            Form::Stream => None,
            Form::Serialized { funnel, .. } => Some(funnel),
        }
    }

    pub(super) fn to_file(&self) -> Vec<u8> {
        match &self.form {
            Form::Stream => self.to_stream(),
            Form::Serialized { head, tail, .. } => {
                let mut out = head.clone();
                self.bits().write_be_words(&mut out);
                out.extend_from_slice(tail);
                out
            }
        }
    }
}
