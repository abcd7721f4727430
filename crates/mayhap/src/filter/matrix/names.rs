//! The names of sets, if they have any.

use super::BloomMatrix;
use crate::Error;
use crate::bits::{Block, block};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Names of sets, and their form in a file: UTF-8 with a zero byte after each, in blocks that are
/// filled up with zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    list: Vec<String>,
    blocks: Vec<Block>,
    num_bytes: u64,
}

fn check_name(name: &str) -> Result<(), Error> {
    let max = BloomMatrix::MAX_NAME_BYTES as u64;
    Error::check_range("bytes of a name", 0..=max, name.len() as u64)?;
    match name.bytes().position(|byte| byte == 0) {
        Some(at) => Error::bad_field("zero byte in a name", at as u64),
        None => Ok(()),
    }
}

impl Names {
    /// Names for this number of sets, or none.
    pub(super) fn new<T: AsRef<str>>(num_sets: usize, names: &[T]) -> Result<Self, Error> {
        if !names.is_empty() {
            let num_sets = num_sets as u64;
            Error::check_range("names", num_sets..=num_sets, names.len() as u64)?;
        }
        for name in names {
            check_name(name.as_ref())?;
        }
        Ok(Self::of(names.iter().map(|name| name.as_ref().into()).collect()))
    }

    pub(super) fn get(&self, set: usize) -> Option<&str> {
        self.list.get(set).map(String::as_str)
    }

    fn of(names: Vec<String>) -> Self {
        let num_bytes: usize = names.iter().map(|name| name.len() + 1).sum();
        let mut blocks = vec![Block::default(); num_bytes.div_ceil(Block::BYTES)];
        let words = block::words_mut(&mut blocks);
        let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
        for (i, byte) in bytes.enumerate() {
            words[i / 8] |= u64::from(byte) << (i % 8 * 8);
        }
        Self { list: names, blocks, num_bytes: num_bytes as u64 }
    }

    /// Extends the names, if there are any, to this many sets, with "" for new ones.
    pub(super) fn grow(&mut self, num_sets: usize) {
        if !self.list.is_empty() {
            let mut names = core::mem::take(&mut self.list);
            names.resize(num_sets, String::new());
            *self = Self::of(names);
        }
    }

    /// The number of bytes in a file, without the padding of the last block; 0 without names.
    pub(super) const fn num_bytes(&self) -> u64 {
        self.num_bytes
    }

    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The blocks of this many bytes of names for `num_sets` sets, checked before anything is
    /// allocated for them.
    pub(super) fn num_blocks(num_bytes: u64, num_sets: usize) -> Result<u64, Error> {
        let (least, most) = (num_sets as u64, num_sets as u64 * MAX_NAME_AND_ZERO);
        let fits = num_bytes == 0 || (least..=most).contains(&num_bytes);
        Error::check_field(fits, "name_bytes", num_bytes)?;
        Ok(num_bytes.div_ceil(Block::BYTES as u64))
    }

    /// Reads the names of a file.
    pub(super) fn decode(blocks: &[Block], num_bytes: u64, num_sets: usize) -> Result<Self, Error> {
        if num_bytes == 0 {
            return Ok(Self::default());
        }
        let bytes: Vec<u8> =
            block::words(blocks).iter().flat_map(|word| word.to_le_bytes()).collect();
        let (bytes, rest) = bytes.split_at(num_bytes as usize);
        let bad = |field, found: usize| Error::bad_field(field, found as u64);
        if let Some(at) = rest.iter().position(|byte| *byte != 0) {
            return bad("bytes past the names", at);
        }
        let Some((0, bytes)) = bytes.split_last() else {
            return bad("end of the last name", num_bytes as usize);
        };
        let mut names = Vec::new();
        for name in bytes.split(|byte| *byte == 0) {
            let Ok(name) = core::str::from_utf8(name) else {
                return bad("name that is no UTF-8", names.len());
            };
            check_name(name)?;
            names.push(String::from(name));
        }
        Error::check_field(names.len() == num_sets, "number of names", names.len() as u64)?;
        Ok(Self::of(names))
    }
}

/// The most bytes that a name takes in a file.
const MAX_NAME_AND_ZERO: u64 = BloomMatrix::MAX_NAME_BYTES as u64 + 1;
