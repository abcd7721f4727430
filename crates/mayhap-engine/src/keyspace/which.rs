//! Several keys looked up in several filters: `BF.WHICH`, and the same over HTTP.

use super::{Keyspace, Unreadable};
use crate::Work;
use crate::words::Words;
use mayhap::{Bitmap, BloomMatrix, Digest};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Filters times keys of one request, so that one request does not delay all others. 64 sets of a
/// matrix, or fewer, count as one more.
pub const MAX_PROBES: usize = 1 << 20;

/// A filter, or a set of a matrix, by its name, and the keys that it may have.
type Found<'a> = (Cow<'a, [u8]>, Bitmap);

/// Which of several filters may have each of several keys.
#[derive(Debug)]
pub struct Which<'a> {
    /// The existing filters, as often as they were named, and a bit for each key. Of a matrix, the
    /// sets that may have any.
    filters: Vec<Found<'a>>,
    /// How many of them may have each key.
    counts: Vec<usize>,
}

/// Why keys were not looked up in filters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WhichError {
    /// More filters times keys than [`MAX_PROBES`].
    #[error("filters times items must be at most {}", MAX_PROBES)]
    TooMany,
    /// The file of a filter cannot be used.
    #[error("{}: {why}", .name.escape_ascii())]
    Unreadable {
        /// The filter.
        name: Box<[u8]>,
        /// The problem.
        why: Unreadable,
    },
}

impl<'a> Which<'a> {
    /// Looks keys up in the filters of these names; a name without a filter has nothing. The sets
    /// of a matrix have its name, a slash and their own name or number. `checked` gets, for each
    /// filter that was queried, the number of keys and how many it may have.
    ///
    /// # Errors
    ///
    /// [`WhichError`].
    pub fn look_up(
        keyspace: &Keyspace,
        names: impl ExactSizeIterator<Item = &'a [u8]>,
        keys: Words<'_>,
        work: &mut Work,
        mut checked: impl FnMut(usize, usize),
    ) -> Result<Self, WhichError> {
        let mut probes = names.len().saturating_mul(keys.len());
        let (mut filters, mut counts) = (Vec::new(), vec![0; keys.len()]);
        for name in names {
            if probes > MAX_PROBES {
                return Err(WhichError::TooMany);
            }
            let Some(entry) = keyspace.get(name, work.now) else { continue };
            if let (Some(matrix), Some(function)) =
                (entry.filter().matrix(), entry.digest_function())
            {
                let more = matrix.num_sets().div_ceil(64).saturating_mul(keys.len());
                probes = probes.saturating_add(more);
                if probes > MAX_PROBES {
                    return Err(WhichError::TooMany);
                }
                work.digest(keys, *function);
                let (sets, found) = sets_of(name, matrix, &work.digests, &mut counts);
                checked(keys.len(), found);
                filters.extend(sets);
                continue;
            }
            let unreadable = |why| WhichError::Unreadable { name: name.into(), why };
            entry.check_keys(keys.iter()).map_err(unreadable)?;
            entry.contains_many(keys, work);
            entry.check_file().map_err(unreadable)?;
            let found = std::mem::take(&mut work.answers);
            checked(keys.len(), found.count_ones());
            found.iter_ones().for_each(|key| counts[key] += 1);
            filters.push((name.into(), found));
        }
        Ok(Self { filters, counts })
    }
}

/// The sets of a matrix that may have one of these keys, with their keys, counted for each key; and
/// how many keys any of them may have.
fn sets_of<'a>(
    name: &[u8],
    matrix: &BloomMatrix,
    digests: &[Digest],
    counts: &mut [usize],
) -> (Vec<Found<'a>>, usize) {
    let mut any = 0;
    let mut found: BTreeMap<usize, Bitmap> = BTreeMap::new();
    matrix.which_digests(digests, |key, sets| {
        any += usize::from(!sets.is_empty());
        for set in sets.iter() {
            let keys = found.entry(set).or_insert_with(|| {
                let mut keys = Bitmap::new();
                keys.clear_to(digests.len());
                keys
            });
            keys.set(key);
            counts[key] += 1;
        }
    });
    let named = |(set, keys): (usize, Bitmap)| {
        let own = matrix.name(set).map_or_else(|| set.to_string(), str::to_owned);
        let name = [name, b"/", own.as_bytes()].concat();
        (name.into(), keys)
    };
    (found.into_iter().map(named).collect(), any)
}

impl Which<'_> {
    /// The existing filters, by name.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.filters.iter().map(|(name, _)| &**name)
    }

    /// For each key how many filters may have it.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The filters that may have a key, by their indices in [`Which::names`].
    pub fn filters_of(&self, key: usize) -> impl Iterator<Item = usize> {
        let filters = self.filters.iter().enumerate();
        filters.filter(move |(_, (_, found))| found.get(key)).map(|(at, _)| at)
    }

    /// The size in bytes of an answer that has a list for each key, of `list` bytes and for each
    /// name in it `name` of its index: known before the answer is built.
    pub fn answer_bytes(&self, list: usize, name: impl Fn(usize) -> usize) -> u64 {
        let filters = self.filters.iter().enumerate();
        let names = filters.map(|(at, (_, found))| found.count_ones() as u64 * name(at) as u64);
        names.sum::<u64>() + self.counts.len() as u64 * list as u64
    }
}
