//! Names to what has them, looked up without a lock.
//!
//! The map keeps what is removed from it for as long as it moves to another table, and what is
//! removed while other threads look something up until a later removal. So it holds cells: one for
//! each time that a name is given away, full until the map has it no more, and empty ever after.
//! What was in it goes at once, or with the last one who looks at it; who finds an empty cell looks
//! the name up again.

use arc_swap::ArcSwapOption;
use papaya::Equivalent;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A name in the table. Its hash is that of its bytes alone, without their number, which costs as
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

/// Names, and what each of them stands for. Nothing else touches the map.
#[derive(Debug)]
pub(super) struct Table<T> {
    cells: papaya::HashMap<Name, ArcSwapOption<T>>,
}

impl<T> Table<T> {
    /// One without names, with room for so many.
    pub(super) fn with_room(names: usize) -> Self {
        Self { cells: papaya::HashMap::with_capacity(names) }
    }

    /// What has this name.
    #[inline]
    pub(super) fn get(&self, name: &[u8]) -> Option<Arc<T>> {
        let cells = self.cells.pin();
        loop {
            if let Some(found) = cells.get(&LookedUp(name))?.load_full() {
                return Some(found);
            }
        }
    }

    /// Calls `f` with what has this name: as [`Table::get`] without the count of its users, which
    /// threads that look up one name would all write to.
    #[inline]
    pub(super) fn with<R>(&self, name: &[u8], f: impl FnOnce(&T) -> R) -> Option<R> {
        let cells = self.cells.pin();
        loop {
            if let Some(found) = &*cells.get(&LookedUp(name))?.load() {
                return Some(f(found));
            }
        }
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Gives a name to something, and returns what had it. Those who look the name up find one of
    /// the two.
    pub(super) fn insert(&self, name: Arc<[u8]>, it: Arc<T>) -> Option<Arc<T>> {
        self.cells.pin().insert(Name(name), ArcSwapOption::new(Some(it)))?.swap(None)
    }

    /// Takes a name away, and returns what had it.
    pub(super) fn remove(&self, name: &[u8]) -> Option<Arc<T>> {
        self.cells.pin().remove(&LookedUp(name))?.swap(None)
    }
}
