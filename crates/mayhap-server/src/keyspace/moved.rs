//! The places of filters in scans.
//!
//! Filters stand in the order of their ids. One that is renamed goes behind all that are there, or
//! a scan that is past it would miss its new name, which another filter may have had all the while.
//! Its id is what the log calls it, and stays.

use super::Entry;
use super::lock::locked;
use super::names::Named;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The ids of filters that were renamed, by their places. Changed with the index locked for
/// writing, and read with it locked.
#[derive(Debug, Default)]
pub(super) struct Moved(Mutex<BTreeMap<u64, u64>>);

impl Moved {
    /// Gives a filter a place behind all others, in place of the one that it has.
    pub(super) fn put(&self, entry: &Entry, place: u64) {
        let mut moved = locked(&self.0);
        let before = entry.move_to(place);
        moved.remove(&before);
        moved.insert(place, entry.id);
    }

    /// Removes a filter from the index.
    pub(super) fn remove(&self, by_id: &mut BTreeMap<u64, Named>, id: u64) {
        let Some(named) = by_id.remove(&id) else { return };
        if named.entry.place() != id {
            locked(&self.0).remove(&named.entry.place());
        }
    }

    pub(super) fn clear(&self) {
        locked(&self.0).clear();
    }

    /// The next filters from a place on, with their places; `None` from `take` ends it.
    pub(super) fn walk(
        &self,
        by_id: &BTreeMap<u64, Named>,
        from: u64,
        mut take: impl FnMut(u64, &Named) -> Option<()>,
    ) {
        let moved = locked(&self.0);
        let edges = moved.range(from..).map(|(place, id)| (*place, by_id.get(id)));
        let mut start = from;
        // A place is above the id of the filter that has it, so behind the last one nobody moved.
        for (place, moved) in edges.chain([(u64::MAX, None)]) {
            let stayed = by_id.range(start..place).filter(|(id, it)| it.entry.place() == **id);
            let all = stayed.map(|(id, named)| (*id, named)).chain(moved.map(|it| (place, it)));
            for (place, named) in all {
                if take(place, named).is_none() {
                    return;
                }
            }
            start = place.saturating_add(1);
        }
    }
}
