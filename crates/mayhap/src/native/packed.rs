//! The packed form: a small file without its zeros, for memory and messages.
//!
//! A file has whole pages, so that of a filter for ten keys has 8,200 bytes, nearly all of them 0.
//! Only [`pack`] makes this form and only [`unpack`] reads it: files are never packed.
//!
//! ```text
//! offset   bytes   what
//! 0        8       magic: 89 6D 61 79 68 61 70 50
//! 8        2       version: 1
//! 10       2       reserved: 0
//! 12       4       bytes of the file, at most 2^20
//! 16       …       runs: how many zeros, how many other bytes (both LEB128), these bytes
//! end − 8  8       XXH3-64 (seed 0) of all before it
//! ```

use super::checksum::checksum_of;
use crate::Error;
use alloc::vec::Vec;

/// The first bytes of a packed file.
pub const PACKED_MAGIC: [u8; 8] = *b"\x89mayhapP";

/// The length of a file up to which it is packed: beyond, its bits are nearly all of it.
pub const MAX_PACKED_BYTES: usize = 1 << 20;

const VERSION: u16 = 1;
const HEADER_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 8;
/// Fewer zeros than these are part of a run of other bytes.
const MIN_ZEROS: usize = 4;

/// Packs a file of the native format; `None` if it is longer than [`MAX_PACKED_BYTES`].
///
/// # Examples
///
/// ```
/// use mayhap::{AnyFilter, native};
///
/// let mut filter = AnyFilter::builder().expected_items(10).target_fpp(0.01).build()?;
/// filter.insert("key");
/// let file = native::encode(&filter, "");
/// let packed = native::pack(&file).unwrap();
/// assert!(file.len() == 8200 && packed.len() < 200);
/// assert_eq!(native::unpack(&packed)?, file);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn pack(file: &[u8]) -> Option<Vec<u8>> {
    let file_bytes = u32::try_from(file.len()).ok()?;
    if file.len() > MAX_PACKED_BYTES {
        return None;
    }
    let mut packed = PACKED_MAGIC.to_vec();
    packed.extend(VERSION.to_le_bytes());
    packed.extend([0; 2]);
    packed.extend(file_bytes.to_le_bytes());
    let mut rest = file;
    while !rest.is_empty() {
        let (zeros, others) = first_run(rest);
        push_number(&mut packed, zeros);
        push_number(&mut packed, others);
        packed.extend(&rest[zeros..zeros + others]);
        rest = &rest[zeros + others..];
    }
    packed.extend(checksum_of(&packed).to_le_bytes());
    Some(packed)
}

/// Reverses [`pack`], and checks that the input is exactly its output. The file itself is as
/// unchecked as any other.
///
/// # Errors
///
/// [`Error::NotAFilter`], [`Error::NewerVersion`], [`Error::TooLarge`], [`Error::PackedDamaged`].
/// At most [`MAX_PACKED_BYTES`] are allocated.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Error> {
    if !packed.starts_with(&PACKED_MAGIC) {
        return Err(Error::NotAFilter);
    }
    if packed.len() < HEADER_BYTES + CHECKSUM_BYTES {
        return Err(Error::PackedDamaged);
    }
    let (body, checksum) = packed.split_at(packed.len() - CHECKSUM_BYTES);
    if checksum_of(body).to_le_bytes() != checksum {
        return Err(Error::PackedDamaged);
    }
    let version = u16::from_le_bytes([body[8], body[9]]);
    if version > VERSION {
        return Err(Error::NewerVersion { found: version, supported: VERSION });
    }
    let file_bytes = u32::from_le_bytes([body[12], body[13], body[14], body[15]]) as usize;
    Error::check_limit("file_bytes", MAX_PACKED_BYTES as u64, file_bytes as u64)?;
    let file = expand(&body[HEADER_BYTES..], file_bytes).ok_or(Error::PackedDamaged)?;
    // One file has one packed form: reserved bytes are 0, and runs are cut as `pack` cuts them.
    if pack(&file).as_deref() == Some(packed) { Ok(file) } else { Err(Error::PackedDamaged) }
}

/// The length that [`unpack`] would allocate for a packed file, as its bytes say; `None` for bytes
/// that are not packed.
pub fn packed_file_bytes(start: &[u8]) -> Option<u32> {
    let length = start.get(12..HEADER_BYTES)?.first_chunk()?;
    start.starts_with(&PACKED_MAGIC).then(|| u32::from_le_bytes(*length))
}

/// The zeros that bytes begin with, and the bytes after them up to the next zeros that count.
fn first_run(bytes: &[u8]) -> (usize, usize) {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    let others = &bytes[zeros..];
    let end = others.windows(MIN_ZEROS).position(|window| window.iter().all(|&byte| byte == 0));
    (zeros, end.unwrap_or(others.len()))
}

/// The bytes of all runs; `None` unless they are exactly `file_bytes`.
fn expand(mut runs: &[u8], file_bytes: usize) -> Option<Vec<u8>> {
    let mut file = Vec::with_capacity(file_bytes);
    while !runs.is_empty() {
        let (zeros, others) = (take_number(&mut runs)?, take_number(&mut runs)?);
        let end = file.len().checked_add(zeros)?.checked_add(others)?;
        if end > file_bytes || others > runs.len() {
            return None;
        }
        file.resize(file.len() + zeros, 0);
        let (bytes, rest) = runs.split_at(others);
        file.extend(bytes);
        runs = rest;
    }
    (file.len() == file_bytes).then_some(file)
}

/// LEB128: seven bits a byte, the least significant first.
fn push_number(packed: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        packed.push(number as u8 | 128);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// A number of at most 28 bits.
fn take_number(runs: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in [0, 7, 14, 21] {
        let (&byte, rest) = runs.split_first()?;
        *runs = rest;
        number |= usize::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Files with zeros of every length at every place that matters.
    fn files() -> Vec<Vec<u8>> {
        let mut files = vec![vec![], vec![0], vec![1], vec![0; 5000], vec![7; 5000]];
        for zeros in [1, 3, 4, 5, 127, 128, 4096, 20_000] {
            files.push([&[1][..], &vec![0; zeros], &[2]].concat());
            files.push([&vec![0; zeros][..], &[1, 0, 0, 0, 2], &vec![0; zeros]].concat());
        }
        files
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        for file in files() {
            let packed = pack(&file).unwrap();
            assert_eq!(unpack(&packed).as_ref(), Ok(&file));
            assert!(packed.len() <= file.len() + 40, "{} of {}", packed.len(), file.len());
        }
        assert_eq!(pack(&vec![1; MAX_PACKED_BYTES + 1]), None);
        let largest = vec![1; MAX_PACKED_BYTES];
        assert_eq!(unpack(&pack(&largest).unwrap()), Ok(largest));
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_an_error() {
        let packed = pack(&[&[9; 40][..], &[0; 300], &[8; 9]].concat()).unwrap();
        for bit in 0..packed.len() * 8 {
            let mut damaged = packed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            unpack(&damaged).unwrap_err();
        }
        for length in 0..packed.len() {
            unpack(&packed[..length]).unwrap_err();
        }
        unpack(&[&packed[..], &[0]].concat()).unwrap_err();
    }

    /// A packed form with a checksum that fits.
    fn sealed(file_bytes: u32, version: u16, reserved: u16, runs: &[u8]) -> Vec<u8> {
        let mut packed = PACKED_MAGIC.to_vec();
        packed.extend(version.to_le_bytes());
        packed.extend(reserved.to_le_bytes());
        packed.extend(file_bytes.to_le_bytes());
        packed.extend(runs);
        packed.extend(checksum_of(&packed).to_le_bytes());
        packed
    }

    #[test]
    fn other_forms_of_one_file_and_lengths_that_lie_are_errors() {
        let five = [0, 5, 1, 2, 3, 4, 5];
        assert_eq!(unpack(&sealed(5, 1, 0, &five)), Ok(vec![1, 2, 3, 4, 5]));
        for (packed, error) in [
            (sealed(5, 2, 0, &five), Error::NewerVersion { found: 2, supported: 1 }),
            (sealed(5, 1, 1, &five), Error::PackedDamaged),
            (sealed(6, 1, 0, &five), Error::PackedDamaged),
            (sealed(4, 1, 0, &five), Error::PackedDamaged),
            // Two runs where one would do, a number that is too long, and one without an end.
            (sealed(5, 1, 0, &[0, 2, 1, 2, 0, 3, 3, 4, 5]), Error::PackedDamaged),
            (sealed(5, 1, 0, &[128, 0, 5, 1, 2, 3, 4, 5]), Error::PackedDamaged),
            (sealed(5, 1, 0, &[128, 128, 128, 128]), Error::PackedDamaged),
            // Zeros beyond the allocation limit.
            (sealed(1 << 20, 1, 0, &[255, 255, 255, 127, 0]), Error::PackedDamaged),
            (
                sealed(u32::MAX, 1, 0, &[255, 255, 255, 127, 0]),
                Error::TooLarge { field: "file_bytes", limit: 1 << 20, found: u32::MAX.into() },
            ),
            (b"\x89mayhap\n".to_vec(), Error::NotAFilter),
        ] {
            assert_eq!(unpack(&packed), Err(error), "{packed:?}");
        }
    }
}
