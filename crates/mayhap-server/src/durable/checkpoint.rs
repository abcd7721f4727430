//! Checkpoints: filters are saved as images and listed, so that the log before them can go.

use super::images::{Images, Packs, worn};
use super::list::Record;
use super::lists::{self, ListOf, Touch};
use super::manifest::{ImageOf, Manifest};
use super::previous::{Checkpoints, ImagesById};
use super::recorder::Unsafe;
use super::segment;
use super::shown::{counted, format_bytes};
use super::store::{FILTERS, LOG, MANIFEST, list_path, segment_path};
use super::trouble::Trouble;
use super::{Error, Filters, Log, Refused, Saved};
use crate::clock::unix_ms;
use crate::fail_point::{fail_point, fail_point_of};
use crate::sync::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::io;
use std::sync::PoisonError;
use std::time::Instant;

/// What a checkpoint did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Saves {
    /// Filters that were saved: those that had been changed.
    pub images: u64,
    /// Others that were saved again, to give back the room of old images.
    pub moved: u64,
    /// Bytes of all these images.
    pub image_bytes: u64,
    /// Bytes of the list of what was changed, or of all filters.
    pub list_bytes: u64,
    /// Bytes of log that are not needed any more.
    pub log_bytes: u64,
}

impl fmt::Display for Saves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, moved, image_bytes, list_bytes, log_bytes } = *self;
        write!(f, "{} saved", counted(images, "filter"))?;
        if moved > 0 {
            write!(f, " and {moved} moved")?;
        }
        let [image_bytes, list_bytes, log_bytes] =
            [image_bytes, list_bytes, log_bytes].map(format_bytes);
        write!(f, ": {image_bytes} of images, {list_bytes} of lists; {log_bytes} of log dropped")
    }
}

fn trouble() -> Refused {
    Refused("the log is in trouble".to_owned())
}

/// The log at the moment at which a checkpoint begins.
struct Begun {
    /// The log is not where it was: no image is taken to be where it was either.
    all: bool,
    /// How many turns had been refused.
    failures: u64,
    first_segment: u64,
    first_sequence: u64,
    first_previous: u64,
    next_id: u64,
    /// The filters that there are, in order.
    ids: Vec<u64>,
    listing: Listing,
    changed: HashSet<u64>,
    /// Filters whose names or times were set.
    listed: HashSet<u64>,
    unwritten: Vec<Unsafe>,
    old_bytes: u64,
}

/// What is to be listed, apart from images.
struct Listing {
    /// How many lists stay; with none, all filters are listed.
    staying: usize,
    /// What lists that do not stay have, and what was changed since.
    touched: BTreeMap<u64, Touch>,
    /// Those of them that are to be listed with name and time, or all; in order.
    saved: Vec<Saved>,
}

impl Listing {
    /// With `changed`, about so many filters were inserted into; without, no list may stay. The
    /// ids are those that there are, and those whose names or times were set.
    fn new(
        checkpoints: &Checkpoints,
        filters: &dyn Filters,
        (ids, listed): (&[u64], &HashSet<u64>),
        changed: Option<usize>,
    ) -> Self {
        let lists = &checkpoints.manifest.lists;
        let is_new = |&(_, of): &(u64, Option<ImageOf>)| of.is_none();
        let new: Vec<u64> = checkpoints.images_of(ids).filter(is_new).map(|(id, _)| id).collect();
        let gone = checkpoints.images.len() + new.len() - ids.len();
        // Most of those that are new, or have another name, were inserted into, too.
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
}

/// Filters with images of their own that are gone, in order.
pub(super) struct Gone(Vec<u64>);

impl Gone {
    /// Those of the lists, but for the `listed`.
    pub(super) fn new(
        checkpoints: &Checkpoints,
        filters: &dyn Filters,
        listed: &HashSet<u64>,
    ) -> Self {
        let ids: HashSet<u64> = filters.ids().into_iter().collect();
        let is_gone = |(id, of): &&(u64, ImageOf)| {
            let has_file = of.number != 0 && !of.is_packed();
            has_file && !ids.contains(id) && !listed.contains(id)
        };
        Self(checkpoints.images.iter().filter(is_gone).map(|(id, _)| *id).collect())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why a filter needs a new image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Changed,
    /// It was not changed, and its pack is to go.
    Moved,
}

impl Log {
    /// Saves all filters that were changed since they were saved last, and lets go of the log
    /// before that. Insertions go on meanwhile; operations wait for as long as it takes to list
    /// the filters whose names or times were changed, or once in a while all of them.
    ///
    /// Whatever happens on the way, the folder has all that is in the log: the old images and the
    /// old log are removed last. One at a time; a second one waits.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`] if the images cannot fit onto the disk: then nothing was begun;
    /// [`Error::Io`]; [`Error::Refused`] if the log may have lost something.
    pub fn checkpoint(&self, filters: &dyn Filters) -> Result<Saves, Error> {
        let mut checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let result = self.checkpoint_with(&mut checkpoints, filters);
        self.checkpoint_times.took(began.elapsed());
        let error = result.as_ref().err().map(ToString::to_string);
        self.publish_saved(&checkpoints, error);
        result
    }

    fn checkpoint_with(
        &self,
        checkpoints: &mut Checkpoints,
        filters: &dyn Filters,
    ) -> Result<Saves, Error> {
        if self.is_full() || self.check_room(checkpoints, filters).is_err() {
            self.drop_gone(checkpoints, filters)?;
        }
        self.check_room(checkpoints, filters)?;
        let mut begun = self.begin_checkpoint(checkpoints, filters)?;
        let mut made = Vec::new();
        match self.save(checkpoints, &mut begun, filters, &mut made) {
            Ok(mut saves) => {
                saves.log_bytes = begun.old_bytes;
                self.end_checkpoint(checkpoints, &begun);
                Ok(saves)
            }
            Err(error) => {
                checkpoints.garbage.append(&mut made);
                // A disk that is full is to be no fuller after each attempt.
                self.remove_garbage(checkpoints);
                let mut inner = self.lock();
                inner.filters.extend(begun.changed);
                inner.listed.extend(begun.listed);
                inner.unwritten.append(&mut begun.unwritten);
                inner.older_bytes += begun.old_bytes;
                Err(error)
            }
        }
    }

    /// Turns to a new segment. All that is in the old ones is in the filters by now.
    fn begin_checkpoint(
        &self,
        checkpoints: &mut Checkpoints,
        filters: &dyn Filters,
    ) -> Result<Begun, Error> {
        self.make_place(checkpoints)?;
        let number = self.lock().segment + 1;
        let (number, file) = match checkpoints.next.take() {
            Some((made, file)) if made == number => (made, file),
            _ => (number, segment::create(&self.store, checkpoints.identity(), number)?),
        };
        let lists = self.store.numbers(FILTERS, ".list")?;
        fail_point("checkpoint.begun");
        let _contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let _operations = self.operations.write().unwrap_or_else(PoisonError::into_inner);
        let (all, changed, listed) = {
            let mut inner = self.lock();
            let all = matches!(inner.trouble, Some(Trouble::Displaced { .. }));
            // Nothing is added to those that are listed while no operation is going on.
            (all, inner.filters.len(), std::mem::take(&mut inner.listed))
        };
        let ids = filters.ids();
        // A list that was removed is not relied on: all filters are listed anew.
        let has_lists =
            checkpoints.manifest.lists.iter().all(|of| lists.binary_search(&of.number).is_ok());
        let of = (has_lists && !all).then_some(changed);
        let listing = Listing::new(checkpoints, filters, (&ids, &listed), of);
        let mut inner = self.lock();
        let must_cut = match &inner.trouble {
            Some(Trouble::Write { must_cut, .. }) => *must_cut,
            Some(Trouble::Displaced { .. }) | None => false,
            Some(_) => true,
        };
        // Filters that are being put back have what no image may have.
        if must_cut || !inner.spoiled.is_empty() {
            checkpoints.next = Some((number, file));
            inner.listed = listed;
            return Err(Error::Refused(self.refuse(&inner).err().unwrap_or_else(trouble)));
        }
        let old_bytes = inner.older_bytes + inner.end;
        let old = std::mem::replace(&mut inner.file, file);
        inner.older.push(old);
        fail_point("checkpoint.rotated");
        (inner.segment, inner.end) = (number, segment::HEADER_BYTES as u64);
        // What was there before counts again only if this fails.
        inner.older_bytes = 0;
        Ok(Begun {
            all,
            failures: self.failures(),
            first_segment: number,
            first_sequence: inner.sequence,
            first_previous: inner.previous,
            next_id: inner.next_id,
            ids,
            listing,
            changed: std::mem::take(&mut inner.filters),
            listed,
            unwritten: std::mem::take(&mut inner.unwritten),
            old_bytes,
        })
    }

    /// Writes images of what was changed, a list of that, then the manifest that names it.
    fn save(
        &self,
        checkpoints: &mut Checkpoints,
        begun: &mut Begun,
        filters: &dyn Filters,
        made: &mut Vec<String>,
    ) -> Result<Saves, Error> {
        let due = self.images_due(checkpoints, begun)?;
        let next_image = checkpoints.manifest.next_image;
        let mut images = Images::new(&self.store, next_image, self.options.packed_bytes);
        let written = write_images(&mut images, begun, &due, filters).and_then(|done| {
            images.finish()?;
            Ok(done)
        });
        checkpoints.manifest.next_image = images.next;
        made.append(&mut images.made);
        let (mut saves, saved) = written?;
        fail_point("checkpoint.images_made");
        self.wait_for_turns(begun.failures).map_err(Error::Refused)?;
        let now = images_now(checkpoints, &begun.ids, &saved);
        let list = self.save_list(checkpoints, &mut begun.listing, &due, &now, made)?;
        saves.list_bytes = list.as_ref().map_or(0, |of| of.bytes);
        if list.is_none() {
            made.pop();
        }
        if !made.is_empty() {
            self.store.sync_dir(FILTERS)?;
        }
        let manifest = Manifest {
            identity: checkpoints.manifest.identity,
            made_at: unix_ms(),
            first_segment: begun.first_segment,
            first_sequence: begun.first_sequence,
            first_previous: begun.first_previous,
            next_id: begun.next_id,
            next_image: checkpoints.manifest.next_image,
            lists: checkpoints.staying(begun.listing.staying).chain(list).collect(),
            filters: Vec::new(),
        };
        self.store.prepare(MANIFEST, &manifest.encode())?;
        if matches!(self.store.disk.is_ours(), Ok(false)) {
            // Not into a folder that somebody put there meanwhile.
            return Err(Error::Displaced { folder: self.store.path(""), what: "it was replaced" });
        }
        // From here on the new manifest may be the one that a crash leaves: it needs its images.
        made.clear();
        self.store.put_in_place(MANIFEST)?;
        checkpoints.replace(manifest, now, images.packs);
        Ok(saves)
    }

    /// Writes a list of what is not in those that stay, if there is anything.
    fn save_list(
        &self,
        checkpoints: &mut Checkpoints,
        listing: &mut Listing,
        due: &[(u64, Due)],
        now: &ImagesById,
        made: &mut Vec<String>,
    ) -> Result<Option<ListOf>, Error> {
        let number = checkpoints.manifest.next_image;
        checkpoints.manifest.next_image += 1;
        // Removed should this fail, whether it is there by then or not.
        made.push(list_path(number));
        let image = |id: u64| now.binary_search_by_key(&id, |(id, _)| *id).map(|at| now[at].1).ok();
        let Listing { staying, touched, saved } = listing;
        if *staying == 0 {
            let all = saved.iter().filter_map(|of| Some(Record::Filter(of, image(of.id)?)));
            return lists::write(&self.store, number, all);
        }
        for (id, _) in due {
            touched.entry(*id).or_insert(Touch::Image);
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
        let written = lists::write(&self.store, number, changes)?;
        let touched = std::mem::take(touched).into_iter().collect();
        Ok(written.map(|of| ListOf { touched, ..of }))
    }

    /// Writes a list of filters that are gone, and the manifest that names it.
    pub(super) fn save_gone(
        &self,
        checkpoints: &mut Checkpoints,
        gone: &Gone,
    ) -> Result<(), Error> {
        let number = checkpoints.manifest.next_image;
        checkpoints.manifest.next_image += 1;
        let mut manifest = checkpoints.manifest.clone();
        let records = gone.0.iter().map(|&id| Record::Gone(id));
        let prepared = lists::write(&self.store, number, records).and_then(|list| {
            self.store.sync_dir(FILTERS)?;
            let touched = gone.0.iter().map(|&id| (id, Touch::All)).collect();
            manifest.lists.extend(list.map(|of| ListOf { touched, ..of }));
            self.store.prepare(MANIFEST, &manifest.encode())
        });
        if let Err(error) = prepared {
            checkpoints.garbage.push(list_path(number));
            self.remove_garbage(checkpoints);
            return Err(error);
        }
        if matches!(self.store.disk.is_ours(), Ok(false)) {
            return Err(Error::Displaced { folder: self.store.path(""), what: "it was replaced" });
        }
        self.store.put_in_place(MANIFEST)?;
        let is_gone = |id: &u64| gone.0.binary_search(id).is_ok();
        let images = checkpoints.images.iter().filter(|(id, _)| !is_gone(id)).copied().collect();
        checkpoints.replace(manifest, images, Packs::new());
        self.remove_garbage(checkpoints);
        Ok(())
    }

    /// The filters that need a new image, in order, and why.
    fn images_due(
        &self,
        checkpoints: &Checkpoints,
        begun: &Begun,
    ) -> Result<Vec<(u64, Due)>, Error> {
        // One whose image was removed is saved again, before the log that has the same goes.
        let mut there: HashSet<u64> = self.store.numbers(FILTERS, ".mayhap")?.into_iter().collect();
        there.extend(self.store.numbers(FILTERS, ".pack")?);
        let is_changed = |id: u64, of: &ImageOf| {
            let is_gone = of.number != 0 && !there.contains(&of.number);
            begun.all || is_gone || begun.changed.contains(&id)
        };
        let all = || checkpoints.images_of(&begun.ids).map(|(id, of)| (id, of.unwrap_or_default()));
        let staying = all().filter(|(id, of)| !is_changed(*id, of)).map(|(_, of)| of);
        let worn = worn(&checkpoints.packs, staying);
        let due = all().filter_map(|(id, of)| {
            let is_worn = of.is_packed() && worn.contains(&of.number);
            let moved = is_worn.then_some((id, Due::Moved));
            if is_changed(id, &of) { Some((id, Due::Changed)) } else { moved }
        });
        Ok(due.collect())
    }

    /// The new manifest is on the disk: lets go of what only the old one needed.
    fn end_checkpoint(&self, checkpoints: &mut Checkpoints, begun: &Begun) {
        begun.unwritten.iter().for_each(Unsafe::settle);
        let syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inner = self.lock();
        inner.older.clear();
        inner.first_segment = begun.first_segment;
        if begun.all {
            self.end_displaced(&mut inner);
        }
        self.set_synced(&mut inner, begun.first_sequence);
        drop(inner);
        drop(syncing);
        fail_point("checkpoint.settled");
        self.drop_segments(checkpoints, begun.first_segment);
        self.wake_waiting();
    }

    fn drop_segments(&self, checkpoints: &mut Checkpoints, first: u64) {
        // What cannot be removed now is tried again by the next one, or when the folder is opened.
        let numbers = self.store.numbers(LOG, ".log").unwrap_or_default();
        let old = numbers.into_iter().filter(|&number| number < first).map(segment_path);
        checkpoints.garbage.extend(old);
        checkpoints.garbage.sort_unstable();
        checkpoints.garbage.dedup();
        self.remove_garbage(checkpoints);
    }

    /// Removes what is needed no longer, but for what leases keep.
    pub(super) fn remove_garbage(&self, checkpoints: &mut Checkpoints) {
        // Who gets a lease has the checkpoints locked: there is none more before the end.
        let leased = self.leases().kept(self.options.clock.now());
        let mut kept_back = false;
        checkpoints.garbage.retain(|path| {
            if leased.is_some_and(|kept| kept.has(path)) {
                kept_back = true;
                return true;
            }
            fail_point_of("checkpoint.removing", path);
            let removed = self.store.disk.remove(path);
            fail_point_of("checkpoint.removed", path);
            removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
        });
        self.leases().kept_back = kept_back;
    }

    /// Requests a checkpoint from the thread that makes them.
    pub fn request_checkpoint(&self) {
        // ORDERING: Release, with the AcqRel of the thread that takes it: what was done before is
        // saved.
        self.checkpoint_requested.store(true, Ordering::Release);
        self.requested.notify_all();
    }
}

/// A filter that was due, and its new image; `None` if it was removed meanwhile.
type SavedNow = (u64, Option<ImageOf>);

/// Writes the images that are due, in their order.
fn write_images(
    images: &mut Images<'_>,
    begun: &Begun,
    due: &[(u64, Due)],
    filters: &dyn Filters,
) -> Result<(Saves, Vec<SavedNow>), Error> {
    let mut saves = Saves::default();
    let mut saved = Vec::with_capacity(due.len());
    for &(id, due) in due {
        let snapshot = filters.snapshot(id, begun.first_segment);
        let Some(snapshot) = snapshot.map_err(images.error("copy a filter for"))? else {
            // The log says so after this point.
            saved.push((id, None));
            continue;
        };
        let of = images.save(id, &*snapshot)?;
        let count = if due == Due::Changed { &mut saves.images } else { &mut saves.moved };
        *count += 1;
        saves.image_bytes += of.bytes;
        saved.push((id, Some(of)));
    }
    Ok((saves, saved))
}

/// The images of all filters with these ids that were not removed, once these were saved.
fn images_now(checkpoints: &Checkpoints, ids: &[u64], saved: &[SavedNow]) -> ImagesById {
    let mut saved = saved.iter().peekable();
    let now = checkpoints.images_of(ids).filter_map(|(id, of)| {
        match saved.next_if(|(saved, _)| *saved == id) {
            Some(&(_, of)) => Some((id, of?)),
            None => Some((id, of.unwrap_or_default())),
        }
    });
    now.collect()
}
