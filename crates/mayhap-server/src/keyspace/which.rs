//! Several keys looked up in several filters: `BF.WHICH`, and the same over HTTP.

use super::{Keyspace, Unreadable};
use crate::Turn;
use crate::resp::Words;
use mayhap::Bitmap;

/// Filters times keys of one request, so that one request does not hold up all others.
pub const MAX_PROBES: usize = 1 << 20;

/// Which of several filters may have each of several keys.
#[derive(Debug)]
pub struct Which<'a> {
    /// Those that there are, as often as they were named, and a bit for each key.
    filters: Vec<(&'a [u8], Bitmap)>,
    /// How many of them may have each key.
    counts: Vec<usize>,
}

/// Why keys were not looked up in filters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhichError {
    /// More filters times keys than [`MAX_PROBES`].
    TooMany,
    /// The file of a filter cannot be used.
    Unreadable {
        /// The filter.
        name: Box<[u8]>,
        /// What is wrong with it.
        why: Unreadable,
    },
}

impl Keyspace {
    /// Looks keys up in the filters of these names; a name without a filter has nothing.
    ///
    /// # Errors
    ///
    /// [`WhichError`].
    pub fn which<'a>(
        &self,
        names: impl ExactSizeIterator<Item = &'a [u8]>,
        keys: Words<'_>,
        turn: &mut Turn,
    ) -> Result<Which<'a>, WhichError> {
        if names.len().saturating_mul(keys.len()) > MAX_PROBES {
            return Err(WhichError::TooMany);
        }
        let (mut filters, mut counts) = (Vec::new(), vec![0; keys.len()]);
        for name in names {
            let Some(entry) = self.get(name, turn.now) else { continue };
            entry.contains_many(keys, turn);
            let unreadable = |why| WhichError::Unreadable { name: name.into(), why };
            entry.check_file().map_err(unreadable)?;
            let found = std::mem::take(&mut turn.answers);
            turn.counts.checked(keys.len(), found.count_ones());
            found.iter_ones().for_each(|key| counts[key] += 1);
            filters.push((name, found));
        }
        Ok(Which { filters, counts })
    }
}

impl<'a> Which<'a> {
    /// The filters that there are, by name.
    pub fn names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.filters.iter().map(|(name, _)| *name)
    }

    /// For each key how many filters may have it.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The filters that may have a key, by their places in [`Which::names`].
    pub fn filters_of(&self, key: usize) -> impl Iterator<Item = usize> {
        let filters = self.filters.iter().enumerate();
        filters.filter(move |(_, (_, found))| found.get(key)).map(|(at, _)| at)
    }

    /// The bytes of an answer that has a list for each key, of `list` bytes and for each name in it
    /// as many as `name` says of its place: known before the answer is built.
    pub fn answer_bytes(&self, list: usize, name: impl Fn(usize) -> usize) -> u64 {
        let filters = self.filters.iter().enumerate();
        let names = filters.map(|(at, (_, found))| found.count_ones() as u64 * name(at) as u64);
        names.sum::<u64>() + self.counts.len() as u64 * list as u64
    }
}
