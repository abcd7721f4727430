//! A command being executed.

use super::dialect::{Dialect, not_found};
use super::filter::Filter;
use super::keyspace::{Keyspace, Value};
use super::reservation::{Bad, Reservation};

/// A command, and its context.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) dialect: Dialect,
    /// Its name in upper case.
    pub(super) name: &'a str,
    /// Its name as it was sent, and its arguments.
    pub(super) words: &'a [Vec<u8>],
    pub(super) keys: &'a mut Keyspace,
}

impl<'a> Call<'a> {
    /// The name that most commands operate on: commands without one never call this.
    pub(super) fn key(&self) -> &'a [u8] {
        self.words.get(1).map_or(&[], Vec::as_slice)
    }

    /// The words after the name that it operates on.
    pub(super) fn rest(&self) -> &'a [Vec<u8>] {
        self.words.get(2..).unwrap_or_default()
    }

    /// The filter, which has to exist.
    pub(super) fn filter(&mut self) -> Result<&mut Filter, String> {
        self.keys.filter(self.key())?.ok_or_else(not_found)
    }

    /// The filter; it is created if it does not exist.
    pub(super) fn filter_or_new(&mut self, made: &Reservation) -> Result<&mut Filter, String> {
        let key = self.key();
        if self.keys.filter(key)?.is_none() {
            let filter = Filter::reserve(self.dialect, made)?;
            self.keys.insert(key, Value::Filter(filter));
        }
        self.filter()
    }

    /// The error of these arguments.
    pub(super) fn refuse(&self, bad: Bad) -> String {
        match bad {
            Bad::Arity => self.dialect.wrong_arity(self.name),
            Bad::Words(words) => words,
        }
    }
}
