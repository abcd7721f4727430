//! Names, their values, and when they expire.

use super::dialect::wrong_type;
use super::filter::Filter;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The value of a name.
#[derive(Debug)]
pub(super) enum Value {
    Filter(Filter),
    Text(Vec<u8>),
}

#[derive(Debug)]
struct Entry {
    value: Value,
    expires: Option<Instant>,
}

/// How long a value stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    NoValue,
    Forever,
    For(Duration),
}

/// The one database.
#[derive(Debug, Default)]
pub(super) struct Keyspace(HashMap<Vec<u8>, Entry>);

impl Keyspace {
    /// Removes expired values.
    pub(super) fn drop_expired(&mut self) {
        let now = Instant::now();
        self.0.retain(|_, entry| entry.expires.is_none_or(|expires| expires > now));
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&Value> {
        self.0.get(name).map(|entry| &entry.value)
    }

    /// The filter of a name, if it has any value.
    pub(super) fn filter(&mut self, name: &[u8]) -> Result<Option<&mut Filter>, String> {
        match self.0.get_mut(name).map(|entry| &mut entry.value) {
            None => Ok(None),
            Some(Value::Filter(filter)) => Ok(Some(filter)),
            Some(Value::Text(_)) => Err(wrong_type()),
        }
    }

    /// Replaces any value of this name; the new one does not expire.
    pub(super) fn insert(&mut self, name: &[u8], value: Value) {
        self.0.insert(name.to_vec(), Entry { value, expires: None });
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> bool {
        self.0.remove(name).is_some()
    }

    /// Moves a value, with its expiry, replacing any other; returns whether it existed.
    pub(super) fn rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        let entry = self.0.remove(from);
        entry.map(|entry| self.0.insert(to.to_vec(), entry)).is_some()
    }

    /// Sets when a value expires, or that it never does; returns how long it would have stayed.
    pub(super) fn expire(&mut self, name: &[u8], after: Option<Duration>) -> Left {
        let before = self.left(name);
        if let Some(entry) = self.0.get_mut(name) {
            entry.expires = after.and_then(|after| Instant::now().checked_add(after));
        }
        before
    }

    pub(super) fn left(&self, name: &[u8]) -> Left {
        match self.0.get(name).map(|entry| entry.expires) {
            None => Left::NoValue,
            Some(None) => Left::Forever,
            Some(Some(expires)) => Left::For(expires.saturating_duration_since(Instant::now())),
        }
    }

    /// All names, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        let mut names: Vec<String> = self.0.keys().map(name).collect();
        names.sort();
        names
    }
}
