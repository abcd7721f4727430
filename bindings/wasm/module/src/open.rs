//! Bytes to a filter.

use crate::Fault;
use crate::contents::Contents;
#[cfg(feature = "native")]
use crate::native::Kept;
#[cfg(feature = "plain")]
use mayhap::AnyFilter;
#[cfg(feature = "native")]
use mayhap::SecretKey;
#[cfg(feature = "kinds")]
use mayhap::native::{Header, Kind};
#[cfg(feature = "native")]
use mayhap::native::{MAGIC, Native, decode_as};
#[cfg(feature = "kinds")]
use mayhap::{
    BinaryFuse, BloomMatrix, CountingBloomFilter, ScalableBloomFilter, WindowBloomFilter,
};

/// Opens a file of ours, or of another system, by its first bytes; checks every byte of ours.
pub(crate) fn open(bytes: &[u8], key: Option<&[u8]>) -> Result<Box<dyn Contents>, Fault> {
    #[cfg(feature = "native")]
    if bytes.starts_with(&MAGIC) {
        return ours(bytes, key);
    }
    #[cfg(not(feature = "native"))]
    let _ = key;
    #[cfg(feature = "foreign")]
    let other = crate::foreign::open(bytes);
    #[cfg(not(feature = "foreign"))]
    let other = Err(Fault::new("NotAFilter", ""));
    other
}

#[cfg(feature = "native")]
fn ours(bytes: &[u8], key: Option<&[u8]>) -> Result<Box<dyn Contents>, Fault> {
    let key = match key.map(<[u8; 16]>::try_from) {
        None => None,
        Some(Ok(key)) => Some(SecretKey::new(key)),
        Some(Err(_)) => return Err(Fault::new("WrongKey", "")),
    };
    #[cfg(feature = "kinds")]
    match Header::decode(bytes)?.kind() {
        Kind::Counting => return kept::<CountingBloomFilter>(bytes, key),
        Kind::Scalable => return kept::<ScalableBloomFilter>(bytes, key),
        Kind::Window => return kept::<WindowBloomFilter>(bytes, key),
        Kind::Matrix => return kept::<BloomMatrix>(bytes, key),
        Kind::Fuse => return kept::<BinaryFuse>(bytes, key),
        kind if cfg!(not(feature = "plain")) || kind != Kind::Bloom => {
            return Err(Fault::new("WrongKind", kind.name()));
        }
        _ => {}
    }
    #[cfg(feature = "plain")]
    let plain = kept::<AnyFilter>(bytes, key);
    #[cfg(not(feature = "plain"))]
    let plain = Err(Fault::new("WrongKind", ""));
    plain
}

#[cfg(feature = "native")]
fn kept<F>(bytes: &[u8], key: Option<SecretKey>) -> Result<Box<dyn Contents>, Fault>
where
    F: Native,
    Kept<F>: Contents + 'static,
{
    let (filter, header) = decode_as::<F>(bytes, key)?;
    Ok(Kept::boxed(filter, header.key_options()))
}
