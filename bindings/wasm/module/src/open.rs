//! Bytes to a filter.

use crate::contents::Contents;
use crate::native::Kept;
use crate::{Fault, foreign};
#[cfg(feature = "full")]
use mayhap::native::{Header, Kind, Native};
use mayhap::native::{MAGIC, decode_as};
use mayhap::{AnyFilter, SecretKey};
#[cfg(feature = "full")]
use mayhap::{
    BinaryFuse, BloomMatrix, CountingBloomFilter, ScalableBloomFilter, WindowBloomFilter,
};

/// Opens a file of ours, or of another system, by what it begins with; checks every byte of ours.
pub(crate) fn open(bytes: &[u8], key: Option<&[u8]>) -> Result<Box<dyn Contents>, Fault> {
    if !bytes.starts_with(&MAGIC) {
        return foreign::open(bytes);
    }
    let key = match key.map(<[u8; 16]>::try_from) {
        None => None,
        Some(Ok(key)) => Some(SecretKey::new(key)),
        Some(Err(_)) => return Err(Fault::new("WrongKey", "")),
    };
    #[cfg(feature = "full")]
    match Header::decode(bytes)?.kind() {
        Kind::Bloom => {}
        Kind::Counting => return kept::<CountingBloomFilter>(bytes, key),
        Kind::Scalable => return kept::<ScalableBloomFilter>(bytes, key),
        Kind::Window => return kept::<WindowBloomFilter>(bytes, key),
        Kind::Matrix => return kept::<BloomMatrix>(bytes, key),
        Kind::Fuse => return kept::<BinaryFuse>(bytes, key),
        kind => return Err(Fault::new("WrongKind", kind.name())),
    }
    let (filter, header) = decode_as::<AnyFilter>(bytes, key)?;
    Ok(Box::new(Kept { filter, key_options: header.key_options().into() }))
}

#[cfg(feature = "full")]
fn kept<F>(bytes: &[u8], key: Option<SecretKey>) -> Result<Box<dyn Contents>, Fault>
where
    F: Native + crate::native::Answers + crate::create::Fill + 'static,
{
    let (filter, header) = decode_as::<F>(bytes, key)?;
    Ok(Box::new(Kept { filter, key_options: header.key_options().into() }))
}
