//! Maps names to values, looked up without a lock.
//!
//! The map keeps removed entries while it moves to another table, and entries removed during other
//! threads' lookups until a later removal. So it holds cells: one for each time that a name is
//! assigned, full until it is removed from the map, and empty ever after. Its contents are freed at
//! once, or with the last reader; a reader that finds an empty cell looks the name up again.

use arc_swap::ArcSwapOption;
use papaya::Equivalent;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A name in the table. Its hash covers only its bytes, without their number, which would cost as
/// much as the cell does.
#[derive(Debug, PartialEq, Eq)]
struct Name(Arc<[u8]>);

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

/// A name that is looked up.
struct LookedUp<'a>(&'a [u8]);

impl Hash for LookedUp<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0);
    }
}

impl Equivalent<Name> for LookedUp<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        *self.0 == *name.0
    }
}

/// Names and their values. Nothing else touches the map.
#[derive(Debug)]
pub(super) struct Table<T> {
    cells: papaya::HashMap<Name, ArcSwapOption<T>>,
}

impl<T> Table<T> {
    /// A table without names, with room for `names` of them.
    pub(super) fn with_room(names: usize) -> Self {
        Self { cells: papaya::HashMap::with_capacity(names) }
    }

    /// The value of this name.
    #[inline]
    pub(super) fn get(&self, name: &[u8]) -> Option<Arc<T>> {
        let cells = self.cells.pin();
        loop {
            if let Some(found) = cells.get(&LookedUp(name))?.load_full() {
                return Some(found);
            }
        }
    }

    /// Calls `f` with the value of this name: like [`Table::get`] without its reference count,
    /// which threads that look up one name would all write to.
    #[inline]
    pub(super) fn with<R>(&self, name: &[u8], f: impl FnOnce(&T) -> R) -> Option<R> {
        let cells = self.cells.pin();
        loop {
            if let Some(found) = &*cells.get(&LookedUp(name))?.load() {
                return Some(f(found));
            }
        }
    }

    /// The number of names.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Assigns a value to a name, and returns the previous one. Concurrent lookups find one of the
    /// two.
    pub(super) fn insert(&self, name: Arc<[u8]>, it: Arc<T>) -> Option<Arc<T>> {
        self.cells.pin().insert(Name(name), ArcSwapOption::new(Some(it)))?.swap(None)
    }

    /// Removes a name, and returns its value.
    pub(super) fn remove(&self, name: &[u8]) -> Option<Arc<T>> {
        self.cells.pin().remove(&LookedUp(name))?.swap(None)
    }
}
