//! Messages for the user of a filter that is opened.

use crate::key_set::KeySet;
use crate::keys::KeyTypes;
use std::path::Path;

/// A message for the user of a filter that is opened.
#[derive(Debug)]
pub enum Note<'a> {
    /// The type of its keys was guessed among several.
    GuessedKeys {
        /// The file, or the URL without the password.
        name: &'a str,
        /// The system.
        format: &'a str,
        /// The types.
        types: KeyTypes,
    },
    /// Its log is missing, as was allowed: the log's keys are missing, too.
    LogMissing {
        /// The filter.
        path: &'a Path,
        /// Its log.
        log: &'a Path,
    },
    /// The file in the place of its log belongs to another filter.
    LogOfAnother {
        /// The log.
        log: &'a Path,
    },
}

impl<'a> Note<'a> {
    /// The note on a set whose keys may be of several types, if its type was guessed.
    pub fn of_guess(name: &'a str, set: &'a dyn KeySet) -> Option<Self> {
        Self::of_types(name, set.name(), set.texts()?.key_types())
    }

    /// The note on a filter of this system whose keys are of these types, if one was guessed.
    pub fn of_types(name: &'a str, format: &'a str, types: KeyTypes) -> Option<Self> {
        types.is_guess.then_some(Self::GuessedKeys { name, format, types })
    }
}
