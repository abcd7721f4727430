//! Names to filters.
//!
//! Queries take no lock (`table.rs`). A change of names takes one, [`Names::change`], around the
//! lookup, the write to the log and the publication, so that changes become visible in the order of
//! the log. Checkpoints and scans iterate over the index by id; a filter is in it, and has its
//! name, once the log has its creation.

use super::Entry;
use super::index::{Index, Named};
use super::table::Table;
use crate::sync::unpoisoned;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};

/// The filters by name, and by id.
#[derive(Debug)]
pub(super) struct Names {
    table: Table<Entry>,
    index: RwLock<Index>,
    /// The id of the next filter.
    next_id: Mutex<u64>,
}

impl Names {
    /// None yet, with room for those of `filters` filters.
    pub(super) fn new(filters: usize, next_id: u64) -> Self {
        let (table, index) = (Table::with_room(filters), RwLock::default());
        Self { table, index, next_id: Mutex::new(next_id) }
    }

    /// See [`Keyspace::get`](super::Keyspace::get).
    #[inline]
    pub(super) fn get(&self, name: &[u8], now: u64) -> Option<Arc<Entry>> {
        self.table.get(name).filter(|entry| !entry.is_expired(now))
    }

    /// See [`Keyspace::with`](super::Keyspace::with).
    #[inline]
    pub(super) fn with<R>(&self, name: &[u8], now: u64, f: impl FnOnce(&Entry) -> R) -> Option<R> {
        self.table.with(name, |entry| (!entry.is_expired(now)).then(|| f(entry))).flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Locks all names for a change; with the id of the next filter.
    pub(super) fn change(&self) -> MutexGuard<'_, u64> {
        unpoisoned(self.next_id.lock())
    }

    /// The filters by id.
    pub(super) fn index(&self) -> RwLockReadGuard<'_, Index> {
        unpoisoned(self.index.read())
    }

    /// The filter of this id.
    pub(super) fn by_id(&self, id: u64) -> Option<Named> {
        self.index().get(id).cloned()
    }

    /// With names locked. A name is in the index once, even before [`Names::put`]; `place` is its
    /// place in scans if it differs from its id.
    pub(super) fn add_to_index(&self, name: &Arc<[u8]>, entry: &Arc<Entry>, place: Option<u64>) {
        let named = Named { name: name.clone(), entry: entry.clone() };
        let replaced = self.table.with(name, |entry| entry.id);
        let mut index = unpoisoned(self.index.write());
        if let Some(id) = replaced {
            index.remove(id);
        }
        index.insert(named);
        if let Some(place) = place {
            index.move_to(entry, place);
        }
    }

    /// Publishes a filter, replacing any other of that name.
    pub(super) fn put(&self, name: Arc<[u8]>, entry: Arc<Entry>) {
        if let Some(replaced) = self.table.insert(name, entry) {
            unpoisoned(self.index.write()).remove(replaced.id);
        }
    }

    /// Puts another filter in the place of one with the same name and id.
    pub(super) fn put_back(&self, Named { name, entry }: Named) {
        unpoisoned(self.index.write()).insert(Named { name: name.clone(), entry: entry.clone() });
        self.table.insert(name, entry);
    }

    /// With names locked.
    pub(super) fn remove(&self, name: &[u8], id: u64) {
        unpoisoned(self.index.write()).remove(id);
        self.table.remove(name);
    }

    /// Takes a name from a filter that has another one too.
    pub(super) fn remove_old(&self, name: &[u8]) {
        self.table.remove(name);
    }

    /// Removes all filters but files. With names locked.
    pub(super) fn clear(&self) {
        unpoisoned(self.index.write()).retain(|Named { name, entry }| {
            let stays = entry.is_read_only();
            if !stays {
                self.table.remove(name);
            }
            stays
        });
    }

    /// Indexes filters that have their names, in the order of their ids.
    pub(super) fn set_index(&self, all: Vec<(u64, Named)>) {
        *unpoisoned(self.index.write()) = Index::new(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::{Keyspace, Options, Spec};
    use mayhap::SecretKey;

    #[test]
    fn a_filter_has_one_place_whatever_names_it_has() {
        let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
        let create = |name: &[u8]| {
            keyspace.create(name, Spec::growing(10, 0.1, 2), 1, None).unwrap();
            keyspace.get(name, 1).unwrap()
        };
        let (first, second) = (create(b"a"), create(b"b"));
        let names = Names::new(2, 7);
        let name = |name: &[u8]| -> Arc<[u8]> { name.into() };
        for (key, entry) in [(b"a", &first), (b"b", &second)] {
            names.add_to_index(&name(key), entry, None);
            names.put(name(key), entry.clone());
        }
        // Renamed over the other one: for a moment it has both names, and one place.
        names.add_to_index(&name(b"b"), &first, Some(8));
        names.put(name(b"b"), first.clone());
        assert_eq!((names.len(), names.index().iter().count()), (2, 1));
        names.remove_old(b"a");
        assert!(names.get(b"a", 1).is_none() && names.by_id(second.id).is_none());
        assert_eq!(names.get(b"b", 1).unwrap().id, first.id);
        assert_eq!(&*names.by_id(first.id).unwrap().name, b"b");
        assert_eq!(names.index().part(8, 10).0.len(), 1);
        names.clear();
        assert_eq!((names.len(), names.index().iter().count(), *names.change()), (0, 0, 7));
    }
}
