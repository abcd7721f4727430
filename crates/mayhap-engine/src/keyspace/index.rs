//! The filters by id, in the order of scans.
//!
//! Filters are in the order of their ids. A renamed one moves behind all existing ones, or a scan
//! that is past it would miss its new name, which another filter may have had all the while. Its id
//! in the log does not change.

use super::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most filters of a part.
pub(super) const MAX_COUNT: usize = 10_000;
/// The bytes of names after which a part ends: a page of names is never too large for an answer.
const MAX_PART_BYTES: usize = 1 << 20;

/// A filter and its current name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: Arc<[u8]>,
    pub(super) entry: Arc<Entry>,
}

/// The filters by id, in the order of scans.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_id: BTreeMap<u64, Named>,
    /// The ids of renamed filters, by their places.
    moved: BTreeMap<u64, u64>,
}

impl Index {
    /// Of filters in the order of their ids.
    pub(super) fn new(filters: Vec<(u64, Named)>) -> Self {
        Self { by_id: filters.into_iter().collect(), moved: BTreeMap::new() }
    }

    pub(super) fn get(&self, id: u64) -> Option<&Named> {
        self.by_id.get(&id)
    }

    /// In the order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Named)> {
        self.by_id.iter().map(|(id, named)| (*id, named))
    }

    /// Adds a filter, or gives it another name or contents.
    pub(super) fn insert(&mut self, named: Named) {
        self.by_id.insert(named.entry.id, named);
    }

    /// Moves a filter to a place behind all others.
    pub(super) fn move_to(&mut self, entry: &Entry, place: u64) {
        let before = entry.move_to(place);
        self.moved.remove(&before);
        self.moved.insert(place, entry.id);
    }

    pub(super) fn remove(&mut self, id: u64) {
        let Some(named) = self.by_id.remove(&id) else { return };
        if named.entry.place() != id {
            self.moved.remove(&named.entry.place());
        }
    }

    /// Removes all filters but those that stay, none of which was renamed.
    pub(super) fn retain(&mut self, stays: impl Fn(&Named) -> bool) {
        self.by_id.retain(|_, named| stays(named));
        self.moved.clear();
    }

    /// The next filters from a place on: at least 1 and at most [`MAX_COUNT`]; and where to
    /// continue, 0 at the end.
    pub(super) fn part(&self, from: u64, count: usize) -> (Vec<Named>, u64) {
        let count = count.clamp(1, MAX_COUNT);
        let (mut part, mut bytes, mut next) = (Vec::new(), 0, 0);
        self.walk(from, |place, named| {
            if part.len() == count || bytes >= MAX_PART_BYTES {
                next = place;
                return None;
            }
            bytes += named.name.len();
            part.push(named.clone());
            Some(())
        });
        (part, next)
    }

    /// Visits the next filters from a place on, with their places; `None` from `take` ends it.
    fn walk(&self, from: u64, mut take: impl FnMut(u64, &Named) -> Option<()>) {
        let by_id = &self.by_id;
        let edges = self.moved.range(from..).map(|(place, id)| (*place, by_id.get(id)));
        let mut start = from;
        // A moved filter's place is above its id, so no filter beyond the last is a moved one.
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
