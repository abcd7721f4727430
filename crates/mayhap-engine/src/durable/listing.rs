//! Which filters a checkpoint lists.

use super::image::ImageOf;
use super::list::Record;
use super::lists::{self, ListOf, Touch};
use super::previous::{Checkpoints, ImagesById};
use super::{Error, Filters, Saved, Store};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The filters to list, apart from their images.
pub(super) struct Listing {
    /// How many lists stay; with none, all filters are listed.
    pub(super) staying: usize,
    /// The filters of lists that do not stay, and those changed since.
    touched: BTreeMap<u64, Touch>,
    /// The touched filters that are listed with name and expiry, or all filters; in order.
    saved: Vec<Saved>,
}

impl Listing {
    /// `changed` is the approximate number of filters that were inserted into; without it, no list
    /// may stay. The ids are the existing filters, and those whose names or expiries were set.
    pub(super) fn new(
        checkpoints: &Checkpoints,
        filters: &dyn Filters,
        (ids, listed): (&[u64], &HashSet<u64>),
        changed: Option<usize>,
    ) -> Self {
        let lists = &checkpoints.manifest.lists;
        let is_new = |&(_, of): &(u64, Option<ImageOf>)| of.is_none();
        let new: Vec<u64> = checkpoints.images_of(ids).filter(is_new).map(|(id, _)| id).collect();
        let gone = checkpoints.images.len() + new.len() - ids.len();
        // Most new or renamed filters were inserted into, too.
        let changed = changed.map(|changed| changed.max(listed.len()).max(new.len()) + gone);
        let staying = changed.map_or(0, |changed| lists::staying(lists, changed as u64));
        if staying == 0 {
            return Self { staying, touched: BTreeMap::new(), saved: filters.list() };
        }
        let mut touched = lists::taken_in(&lists[staying..]);
        let whole = touched.iter().filter(|(_, touch)| **touch == Touch::All).map(|(id, _)| *id);
        let whole: BTreeSet<u64> = whole.chain(new).chain(listed.iter().copied()).collect();
        let saved: Vec<Saved> = whole.into_iter().filter_map(|id| filters.saved(id)).collect();
        touched.extend(saved.iter().map(|saved| (saved.id, Touch::All)));
        Self { staying, touched, saved }
    }

    /// Writes a list of the filters that are not in the lists that stay, if there are any. `due`
    /// got new images, and `now` has the images of all filters.
    pub(super) fn write(
        self,
        store: &Store,
        number: u64,
        checkpoints: &Checkpoints,
        due: impl Iterator<Item = u64>,
        now: &ImagesById,
    ) -> Result<Option<ListOf>, Error> {
        let image = |id: u64| now.binary_search_by_key(&id, |(id, _)| *id).map(|at| now[at].1).ok();
        let Self { staying, mut touched, saved } = self;
        if staying == 0 {
            let all = saved.iter().filter_map(|of| Some(Record::Filter(of, image(of.id)?)));
            return lists::write(store, number, all);
        }
        for id in due {
            touched.entry(id).or_insert(Touch::Image);
        }
        touched.extend(checkpoints.missing_in(now).map(|id| (id, Touch::All)));
        let changes = touched.iter().map(|(&id, touch)| {
            let place = saved.binary_search_by_key(&id, |saved| saved.id);
            match (image(id), touch, place) {
                (None, ..) => Record::Gone(id),
                (Some(of), Touch::All, Ok(place)) => Record::Filter(&saved[place], of),
                (Some(of), ..) => Record::Image(id, of),
            }
        });
        let written = lists::write(store, number, changes)?;
        Ok(written.map(|of| ListOf { touched: touched.into_iter().collect(), ..of }))
    }
}

/// Writes a list of filters that are gone.
pub(super) fn write_gone(
    store: &Store,
    number: u64,
    gone: &[u64],
) -> Result<Option<ListOf>, Error> {
    let written = lists::write(store, number, gone.iter().map(|&id| Record::Gone(id)))?;
    let touched = gone.iter().map(|&id| (id, Touch::All)).collect();
    Ok(written.map(|of| ListOf { touched, ..of }))
}
