//! The names of the filters in the store, found among its keys.

use super::{Error, Front};
use crate::lock::lock;
use mayhap::DigestFunction;
use mayhap_redis::Listed;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// More filters are not listed.
pub(crate) const MAX_NAMES: usize = 100_000;
/// A list is used again for this many times as long as it took, so that a store is busy with lists
/// a tenth of the time however many clients request them.
const REUSE: u32 = 10;
/// Bits of a place: JavaScript has no larger whole numbers.
const PLACE_BITS: u32 = 53;

/// The list of the names that was made last.
#[derive(Debug, Default)]
pub(super) struct Names {
    latest: Mutex<Option<Arc<List>>>,
    /// One list at a time.
    making: tokio::sync::Mutex<()>,
    /// Filters that this server has created or deleted.
    changes: AtomicU64,
}

impl Names {
    /// The list that was made last has to be made again.
    pub(super) fn change(&self) {
        // ORDERING: Relaxed. The mutex of the list orders what its readers see; a client that has
        // the answer to its change sends its next request after that.
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    fn latest(&self) -> Option<Arc<List>> {
        lock(&self.latest).clone()
    }
}

/// The filters in the store at a time.
#[derive(Debug)]
pub(crate) struct List {
    /// Names by their places, which are the same at every server whatever other filters there are:
    /// each page may be of another list.
    names: Vec<(u64, Box<str>)>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
    /// Filters whose names are not UTF-8.
    pub(crate) unnamed: u64,
    ended: Instant,
    took: Duration,
    /// Of [`Names::changes`], before it was begun.
    changes: u64,
}

impl List {
    fn new(listed: Listed, began: Instant, changes: u64) -> Self {
        let Listed { filters, is_cut, unnamed } = listed;
        let place = |name: &str| {
            DigestFunction::xxh3(0).digest(name.as_bytes()).get() >> (u64::BITS - PLACE_BITS)
        };
        let names = filters.into_iter().map(|filter| (place(&filter.name), filter.name.into()));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        Self { names, is_cut, unnamed, ended: Instant::now(), took: began.elapsed(), changes }
    }

    /// Some names from a place on, 0 at first, and the place of the next ones. Names at one place
    /// are on one page, which is longer for them.
    pub(crate) fn page(
        &self,
        from: u64,
        limit: usize,
    ) -> (impl Iterator<Item = &str>, Option<u64>) {
        let start = self.names.partition_point(|&(place, _)| place < from);
        let rest = &self.names[start..];
        let last = rest.get(limit.max(1) - 1).map_or(u64::MAX, |&(place, _)| place);
        let (page, after) = rest.split_at(rest.partition_point(|&(place, _)| place <= last));
        (page.iter().map(|(_, name)| &**name), after.first().map(|&(place, _)| place))
    }
}

impl Front {
    /// The filters in the store: a list that was just made, or a new one, which takes as long as
    /// the store has keys.
    ///
    /// # Errors
    ///
    /// As [`Front::ask`], but without a time for the whole list; [`mayhap_redis::Error::Refused`]
    /// if the user may not `SCAN`.
    pub(crate) async fn list(&self) -> Result<Arc<List>, Error> {
        let _one = self.names.making.lock().await;
        // ORDERING: Relaxed, as in `change`.
        let changes = self.names.changes.load(Ordering::Relaxed);
        let is_new =
            |list: &Arc<List>| list.changes == changes && list.ended.elapsed() < list.took * REUSE;
        if let Some(list) = self.names.latest().filter(is_new) {
            return Ok(list);
        }
        let began = Instant::now();
        let listed = async {
            let listed = Box::pin(self.store.server()?.native_filters(MAX_NAMES)).await;
            self.noted(listed.map_err(Error::from))
        };
        // No filter has the empty name: in a cluster this circuit is that of all nodes.
        let listed = self.guarded("", 1, listed).await?;
        let list = Arc::new(List::new(listed, began, changes));
        *lock(&self.names.latest) = Some(Arc::clone(&list));
        Ok(list)
    }

    /// The number of filters in the list that was made last.
    pub(crate) fn num_listed(&self) -> Option<usize> {
        self.names.latest().map(|list| list.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_redis::{FilterScheme, NamedFilter};
    use std::collections::BTreeSet;

    fn list(names: impl Iterator<Item = String>) -> List {
        let filters = names.map(|name| NamedFilter { name, scheme: FilterScheme::Native });
        let listed = Listed { filters: filters.collect(), ..Listed::default() };
        List::new(listed, Instant::now(), 0)
    }

    /// All names of a list that is another one at each page.
    fn all(limit: usize, mut next_list: impl FnMut() -> List) -> Vec<String> {
        let (mut names, mut cursor) = (Vec::new(), Some(0));
        while let Some(from) = cursor {
            let list = next_list();
            let (page, next) = list.page(from, limit);
            names.extend(page.map(str::to_owned));
            cursor = next;
        }
        names
    }

    #[test]
    fn pages_have_each_filter_once_that_is_there_all_the_time() {
        let stays = |i: usize| format!("stays:{i}");
        for limit in [1, 7, 1000] {
            let mut turn = 0;
            let found = all(limit, || {
                turn += 1;
                let others = (0..turn % 50).map(|i| format!("comes and goes:{i}"));
                list((0..100).map(stays).chain(others))
            });
            let names: Vec<_> = found.iter().filter(|name| name.starts_with("stays")).collect();
            let different: BTreeSet<_> = names.iter().copied().cloned().collect();
            assert_eq!((names.len(), different), (100, (0..100).map(stays).collect()), "{limit}");
        }
        assert_eq!(all(10, || list(std::iter::empty())), Vec::<String>::new());
    }

    #[test]
    fn names_at_one_place_are_on_one_page() {
        let mut list = list(["a", "b", "c", "d"].map(String::from).into_iter());
        for (name, place) in list.names.iter_mut().zip([1, 2, 2, 2]) {
            name.0 = place;
        }
        let (page, next) = list.page(0, 2);
        assert_eq!((page.count(), next), (4, None));
        assert_eq!(list.page(0, 1).1, Some(2));
        assert_eq!(list.page(3, 1).0.count(), 0);
    }
}
