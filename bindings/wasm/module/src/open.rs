//! Bytes to a filter.

use crate::contents::Contents;
use crate::native::Kept;
use crate::{Fault, foreign};
#[cfg(feature = "full")]
use mayhap::native::Native;
use mayhap::native::{Header, Kind, MAGIC, decode_as};
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
    match Header::decode(bytes)?.kind() {
        Kind::Bloom => {
            let (filter, header) = decode_as::<AnyFilter>(bytes, key)?;
            Ok(Box::new(Kept { filter, key_options: header.key_options().into() }))
        }
        #[cfg(feature = "full")]
        Kind::Counting => kept::<CountingBloomFilter>(bytes, key),
        #[cfg(feature = "full")]
        Kind::Scalable => kept::<ScalableBloomFilter>(bytes, key),
        #[cfg(feature = "full")]
        Kind::Window => kept::<WindowBloomFilter>(bytes, key),
        #[cfg(feature = "full")]
        Kind::Matrix => kept::<BloomMatrix>(bytes, key),
        #[cfg(feature = "full")]
        Kind::Fuse => kept::<BinaryFuse>(bytes, key),
        kind => Err(Fault::new("WrongKind", kind.name())),
    }
}

#[cfg(feature = "full")]
fn kept<F>(bytes: &[u8], key: Option<SecretKey>) -> Result<Box<dyn Contents>, Fault>
where
    F: Native + crate::native::Answers + crate::create::Fill + 'static,
{
    let (filter, header) = decode_as::<F>(bytes, key)?;
    Ok(Box::new(Kept { filter, key_options: header.key_options().into() }))
}
