//! The short form: a file of a small plain filter, smaller than a page.
//!
//! ```text
//! offset   bytes         what
//! 0        64            the first 64 bytes of a header, with version 5 and kind 1
//! 64       o             key options, o = `key_options_bytes`
//! 64 + o   ceil(m / 8)   the bits
//! end − 8  8             XXH3-64 (seed 0) of all before it
//! ```
//!
//! A file has at most 4095 bytes, so it is never taken for one with pages. Readers lengthen it, in
//! memory, to the file with pages that has the same filter, and read that one.

use super::checksum::checksum_of;
use super::kind::{Kind, PAGE_BYTES};
use super::packed::{PACKED_MAGIC, unpack};
use super::place::{
    CHECKSUM, HEADER_BYTES, KEY_OPTIONS, MAGIC, MAX_KEY_OPTIONS_BYTES, TABLE_CHECKSUM, u16_at,
    u64_at,
};
use super::version::{SHORT_VERSION, VERSION};
use crate::Error;
use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

/// The most bytes of a short file: one less than a page.
pub const MAX_SHORT_BYTES: usize = PAGE_BYTES - 1;

/// The bytes of a header before its checksums.
pub(super) const FIELDS_BYTES: usize = TABLE_CHECKSUM;
pub(super) const CHECKSUM_BYTES: usize = 8;
const TABLE: usize = HEADER_BYTES + PAGE_BYTES;

/// Whether these are the first bytes of a short file.
///
/// # Examples
///
/// ```
/// use mayhap::{AnyFilter, native};
///
/// let filter = AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
/// assert!(native::is_short(&native::encode_short(&filter, "")?));
/// assert!(!native::is_short(&native::encode(&filter, "")));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn is_short(start: &[u8]) -> bool {
    start.starts_with(&MAGIC) && start.get(8..10) == Some(&SHORT_VERSION.to_le_bytes())
}

/// The file with pages that has the same filter as a short file. Its fields and bits are as
/// unchecked as those of any other file; the bytes of the short file are those that were written.
///
/// # Errors
///
/// [`Error::NotAFilter`] for bytes that are not [short](is_short), [`Error::ShortDamaged`] for
/// those that are not in the form of a short file. Three pages are allocated, after all these
/// checks.
///
/// # Examples
///
/// ```
/// use mayhap::{AnyFilter, native};
///
/// let mut filter = AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
/// filter.insert("key");
/// let short = native::encode_short(&filter, "trim=true\n")?;
/// assert_eq!(native::lengthen(&short)?, native::encode(&filter, "trim=true\n"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn lengthen(short: &[u8]) -> Result<Vec<u8>, Error> {
    if !is_short(short) {
        return Err(Error::NotAFilter);
    }
    let (fields, rest) = checked(short).ok_or(Error::ShortDamaged)?;
    let options_bytes = usize::from(u16_at(fields, 36));
    let (key_options, bits) = rest.split_at(options_bytes);
    let mut file = vec![0; TABLE + 8];
    file[..FIELDS_BYTES].copy_from_slice(fields);
    file[8..10].copy_from_slice(&VERSION.to_le_bytes());
    file[KEY_OPTIONS..KEY_OPTIONS + options_bytes].copy_from_slice(key_options);
    file[HEADER_BYTES..HEADER_BYTES + bits.len()].copy_from_slice(bits);
    for (part, checksum) in
        [(HEADER_BYTES..TABLE, TABLE), (TABLE..TABLE + 8, TABLE_CHECKSUM), (0..CHECKSUM, CHECKSUM)]
    {
        let sum = checksum_of(&file[part]);
        file[checksum..checksum + 8].copy_from_slice(&sum.to_le_bytes());
    }
    Ok(file)
}

/// The fields, and the key options and bits, if length and checksum are those of a short file.
fn checked(short: &[u8]) -> Option<(&[u8; FIELDS_BYTES], &[u8])> {
    let (body, checksum) = short.split_last_chunk()?;
    let (fields, rest) = body.split_first_chunk()?;
    let options_bytes = usize::from(u16_at(fields, 36));
    let is_sound = short.len() <= MAX_SHORT_BYTES
        && checksum_of(body) == u64::from_le_bytes(*checksum)
        && u16_at(fields, 10) == Kind::Bloom.id()
        && options_bytes <= MAX_KEY_OPTIONS_BYTES
        && short_bytes(options_bytes, u64_at(fields, 24)) == short.len() as u64;
    is_sound.then_some((fields, rest))
}

/// The bytes of a file with pages, for one of either form.
pub(crate) fn lengthened(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    Ok(if is_short(bytes) { Cow::Owned(lengthen(bytes)?) } else { Cow::Borrowed(bytes) })
}

/// The file with pages for one of any form: a [short](is_short) file is lengthened and a [packed]
/// one unpacked, other bytes are returned as they are.
///
/// # Errors
///
/// Same as [`lengthen`] and [`unpack`].
///
/// # Examples
///
/// ```
/// use mayhap::{AnyFilter, native};
///
/// let filter = AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
/// let file = native::encode(&filter, "");
/// for form in [native::encode_short(&filter, "")?, native::pack(&file).unwrap(), file.clone()] {
///     assert!(native::paged(&form)? == file);
/// }
/// # Ok::<(), mayhap::Error>(())
/// ```
///
/// [packed]: super::pack
pub fn paged(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    if !bytes.starts_with(&PACKED_MAGIC) {
        return lengthened(bytes);
    }
    let file = unpack(bytes)?;
    Ok(Cow::Owned(if is_short(&file) { lengthen(&file)? } else { file }))
}

/// The bytes of the short file of a filter.
pub(super) const fn short_bytes(key_options_bytes: usize, num_bits: u64) -> u64 {
    (FIELDS_BYTES + key_options_bytes + CHECKSUM_BYTES) as u64 + num_bits.div_ceil(8)
}
