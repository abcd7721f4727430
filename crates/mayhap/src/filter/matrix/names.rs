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

impl BloomMatrix {
    /// The most bytes that the name of a set may have: 4,096.
    pub const MAX_NAME_BYTES: usize = 4096;

    /// The name of a set; `None` if the sets have none ([`BloomMatrix::set_names`]).
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    pub fn name(&self, set: usize) -> Option<&str> {
        self.place(set);
        self.names.list.get(set).map(String::as_str)
    }

    /// Names all sets, in order: those of files, servers or days. Files keep them; answers do not
    /// depend on them. Sets that are added later are named "". An empty list takes the names away.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless there is a name for each set, of at most
    /// [`BloomMatrix::MAX_NAME_BYTES`]; [`Error::BadField`] for one with a zero byte. The names are
    /// as before.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::BloomMatrix;
    ///
    /// let builder = BloomMatrix::builder().num_sets(2).expected_items(100).target_fpp(0.01);
    /// let mut caches = builder.build()?;
    /// assert_eq!(caches.name(1), None);
    /// caches.set_names(&["east", "west"])?;
    /// caches.insert(1, "https://example.org/logo.png");
    /// let which = caches.which("https://example.org/logo.png");
    /// assert_eq!(which.iter().filter_map(|set| caches.name(set)).collect::<Vec<_>>(), ["west"]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn set_names<T: AsRef<str>>(&mut self, names: &[T]) -> Result<(), Error> {
        let (num_sets, found) = (self.num_sets() as u64, names.len() as u64);
        if found != 0 && found != num_sets {
            let parameter = "names";
            return Err(Error::OutOfRange { parameter, min: num_sets, max: num_sets, found });
        }
        for name in names {
            check_name(name.as_ref())?;
        }
        self.names = Names::of(names.iter().map(|name| name.as_ref().into()).collect());
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let (max, found) = (BloomMatrix::MAX_NAME_BYTES as u64, name.len() as u64);
    if found > max {
        return Err(Error::OutOfRange { parameter: "bytes of a name", min: 0, max, found });
    }
    match name.bytes().position(|byte| byte == 0) {
        Some(at) => Err(Error::BadField { field: "zero byte in a name", found: at as u64 }),
        None => Ok(()),
    }
}

impl Names {
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

    /// Names for this many sets, "" for new ones, if there are names at all.
    pub(super) fn grow(&mut self, num_sets: usize) {
        if !self.list.is_empty() {
            let mut names = core::mem::take(&mut self.list);
            names.resize(num_sets, String::new());
            *self = Self::of(names);
        }
    }

    /// The bytes in a file, without those that fill up the last block; 0 without names.
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
        if num_bytes != 0 && !(least..=most).contains(&num_bytes) {
            return Err(Error::BadField { field: "name_bytes", found: num_bytes });
        }
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
        let bad = |field, found: usize| Err(Error::BadField { field, found: found as u64 });
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
        if names.len() != num_sets {
            return bad("number of names", names.len());
        }
        Ok(Self::of(names))
    }
}

/// The most bytes that a name takes in a file.
const MAX_NAME_AND_ZERO: u64 = BloomMatrix::MAX_NAME_BYTES as u64 + 1;
