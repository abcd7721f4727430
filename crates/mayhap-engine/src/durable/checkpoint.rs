//! Checkpoints: filters are saved as images and listed, so that the log before them can go.

use super::image::ImageOf;
use super::images::{Images, Packs};
use super::journal::{Changes, Journal, Rotated};
use super::lease::Leases;
use super::listing::{self, Listing};
use super::manifest::Manifest;
use super::previous::{Checkpoints, Due, ImagesById};
use super::stats::LastSaved;
use super::store::{FILTERS, MANIFEST, list_path};
use super::watch::Watcher;
use super::{Error, Filters, Lease, LeaseError, Options, Stats, Store, room, undo};
use crate::clock::unix_ms;
use crate::fail_point::fail_point;
use crate::sync::{Mutex, MutexGuard, RwLock, unpoisoned};
use crate::times::Times;
use mayhap_units::number::{counted, format_bytes};
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, TryLockError};
use std::time::{Duration, Instant};

/// Blocks of the disk for a list, a manifest, and their directory entries.
const GONE_BLOCKS: usize = 4;
/// Interval at which the checkpoint thread looks for something to do.
const TICK: Duration = Duration::from_secs(1);
/// Pause after a failed checkpoint before the next attempt.
const PAUSE: Duration = Duration::from_secs(10);

/// The results of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Saves {
    /// Filters that were saved because they had changed.
    pub images: u64,
    /// Other filters that were saved again, to free the space of old images.
    pub moved: u64,
    /// Bytes of all these images.
    pub image_bytes: u64,
    /// Bytes of the list of changed filters, or of all filters.
    pub list_bytes: u64,
    /// Bytes of log that are no longer needed.
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

/// A checkpoint that has begun.
struct Begun {
    log: Rotated,
    /// The existing filters, in order.
    ids: Vec<u64>,
    listing: Listing,
    /// Filters whose names or expiries were set.
    listed: HashSet<u64>,
}

/// Makes the checkpoints of a log.
#[derive(Debug)]
pub(super) struct Checkpointer {
    store: Store,
    options: Options,
    journal: Arc<Journal>,
    watcher: Arc<Watcher>,
    state: Mutex<Checkpoints>,
    /// After `state`.
    leases: Arc<Leases>,
    saved: RwLock<LastSaved>,
    times: Times,
}

impl Checkpointer {
    /// After the folder was opened.
    pub(super) fn new(
        store: Store,
        options: Options,
        journal: &Arc<Journal>,
        watcher: &Arc<Watcher>,
        state: Checkpoints,
    ) -> Self {
        let leases = Arc::new(Leases::new(options.clock.clone()));
        let saved = RwLock::new(LastSaved::of(&state, None));
        let (journal, watcher) = (journal.clone(), watcher.clone());
        let (state, times) = (Mutex::new(state), Times::default());
        Self { store, options, journal, watcher, state, leases, saved, times }
    }

    /// The state, and no checkpoint meanwhile.
    fn lock(&self) -> MutexGuard<'_, Checkpoints> {
        unpoisoned(self.state.lock())
    }

    /// As [`Log::put_back`](super::Log::put_back).
    pub(super) fn put_back(&self, filters: &dyn Filters) -> Result<(), Error> {
        undo::put_back(&self.store, &self.journal, &self.watcher, &self.lock(), filters)
    }

    /// As [`Log::checkpoint`](super::Log::checkpoint).
    pub(super) fn checkpoint(&self, filters: &dyn Filters) -> Result<Saves, Error> {
        let mut state = self.lock();
        let began = Instant::now();
        let result = self.checkpoint_with(&mut state, filters);
        self.times.took(began.elapsed());
        let error = result.as_ref().err().map(ToString::to_string);
        *unpoisoned(self.saved.write()) = LastSaved::of(&state, error);
        result
    }

    fn checkpoint_with(
        &self,
        state: &mut Checkpoints,
        filters: &dyn Filters,
    ) -> Result<Saves, Error> {
        self.watcher.check()?;
        if self.journal.is_full() || self.check_room(state, filters).is_err() {
            self.drop_gone(state, filters)?;
        }
        self.check_room(state, filters)?;
        let Begun { log, ids, listing, listed } = self.begin(state, filters)?;
        let mut made = Vec::new();
        let result = self.save(state, (&log, &ids), listing, filters, &mut made);
        match result {
            Ok(mut saves) => {
                saves.log_bytes = log.bytes;
                self.journal.let_go(log.first_segment, log.first);
                fail_point("checkpoint.settled");
                state.drop_segments(log.first_segment);
                state.remove_garbage(&self.leases);
                self.journal.wake_waiting();
                Ok(saves)
            }
            Err(error) => {
                // A full disk must not get fuller with each attempt.
                self.throw_away(state, made);
                self.journal.give_back(Changes { filters: log.filters, listed }, log.bytes);
                Err(error)
            }
        }
    }

    /// Switches to a new segment. Everything in the old ones is in the filters by now.
    fn begin(&self, state: &mut Checkpoints, filters: &dyn Filters) -> Result<Begun, Error> {
        let number = self.journal.segments().1.number + 1;
        let file = state.segment(number)?;
        // If a list was removed from the disk, all filters are listed anew.
        let has_lists = state.has_lists()?;
        fail_point("checkpoint.begun");
        let _contents = self.journal.contents();
        let _operations = self.journal.operations();
        let (changed, listed) = self.journal.take_listed();
        let ids = filters.ids();
        let changed = has_lists.then_some(changed);
        let listing = Listing::new(state, filters, (&ids, &listed), changed);
        match self.journal.rotate(number, &file) {
            Ok(log) => Ok(Begun { log, ids, listing, listed }),
            Err(refused) => {
                self.journal.give_back(Changes { listed, ..Changes::default() }, 0);
                Err(Error::Refused(refused))
            }
        }
    }

    /// Writes images of the changed filters, a list of them, then the manifest that names it.
    fn save(
        &self,
        state: &mut Checkpoints,
        (log, ids): (&Rotated, &[u64]),
        listing: Listing,
        filters: &dyn Filters,
        made: &mut Vec<String>,
    ) -> Result<Saves, Error> {
        let due = state.images_due(ids, &log.filters)?;
        let next = state.manifest.next_image;
        let mut images = Images::new(&self.store, next, self.options.packed_bytes);
        let written =
            write_images(&mut images, log.first_segment, &due, filters).and_then(|done| {
                images.finish()?;
                Ok(done)
            });
        state.set_next(images.next);
        made.append(&mut images.made);
        let (mut saves, saved) = written?;
        fail_point("checkpoint.images_made");
        self.journal.wait_for_turns(log.refused).map_err(Error::Refused)?;
        let now = images_now(state, ids, &saved);
        let number = state.next_number();
        // Removed if this fails, whether it exists by then or not.
        made.push(list_path(number));
        let staying = listing.staying;
        let due = due.iter().map(|(id, _)| *id);
        let list = listing.write(&self.store, number, state, due, &now)?;
        saves.list_bytes = list.as_ref().map_or(0, |of| of.bytes);
        if list.is_none() {
            made.pop();
        }
        if !made.is_empty() {
            self.store.sync_dir(FILTERS)?;
        }
        let before = &state.manifest;
        let manifest = Manifest {
            identity: before.identity,
            made_at: unix_ms(),
            first_segment: log.first_segment,
            first: log.first,
            next_id: log.next_id,
            next_image: before.next_image,
            lists: before.lists.iter().take(staying).cloned().chain(list).collect(),
            filters: Vec::new(),
        };
        self.publish(state, manifest, now, images.packs, made)?;
        Ok(saves)
    }

    /// Puts a manifest in place, with its images, and packs that were made for it. From some moment
    /// on, after which nothing is left in `made`, a crash may leave it, and it needs them.
    fn publish(
        &self,
        state: &mut Checkpoints,
        manifest: Manifest,
        images: ImagesById,
        packs: Packs,
        made: &mut Vec<String>,
    ) -> Result<(), Error> {
        self.store.prepare(MANIFEST, &manifest.encode())?;
        // Not into a folder that has taken its place meanwhile.
        self.watcher.check()?;
        made.clear();
        self.store.put_in_place(MANIFEST)?;
        state.replace(manifest, images, packs);
        Ok(())
    }

    /// Removes what is no longer needed, and these files.
    fn throw_away(&self, state: &mut Checkpoints, made: Vec<String>) {
        state.throw_away(made);
        if self.journal.check_displaced().is_ok() {
            state.remove_garbage(&self.leases);
        }
    }

    /// Lets go of the images of filters that are gone, without a checkpoint: by a list of them,
    /// appended to the existing lists. The log stays as it is, and its records of them are ignored
    /// at a replay. Filters that were renamed since the last checkpoint wait for the next one:
    /// their record takes the name from another filter.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], [`Error::Io`].
    fn drop_gone(&self, state: &mut Checkpoints, filters: &dyn Filters) -> Result<(), Error> {
        let gone = {
            let _operations = self.journal.operations();
            let (_, listed, _) = self.journal.changed();
            state.gone(filters, &listed)
        };
        if gone.is_empty() {
            return Ok(());
        }
        // Their records of removal have to be on the disk before a list has the removal.
        self.journal.sync().map_err(Error::Refused)?;
        self.journal.give_blocks(GONE_BLOCKS);
        let number = state.next_number();
        let mut made = vec![list_path(number)];
        let saved = self.save_gone(state, number, &gone, &mut made);
        self.throw_away(state, made);
        saved
    }

    /// Writes a list of filters that are gone, and the manifest that names it.
    fn save_gone(
        &self,
        state: &mut Checkpoints,
        number: u64,
        gone: &[u64],
        made: &mut Vec<String>,
    ) -> Result<(), Error> {
        let list = listing::write_gone(&self.store, number, gone)?;
        self.store.sync_dir(FILTERS)?;
        let mut manifest = state.manifest.clone();
        manifest.lists.extend(list);
        let is_there = |(id, _): &&(u64, ImageOf)| gone.binary_search(id).is_err();
        let images = state.images.iter().filter(is_there).copied().collect();
        self.publish(state, manifest, images, Packs::new(), made)
    }

    fn check_room(&self, state: &Checkpoints, filters: &dyn Filters) -> Result<(), Error> {
        let (changed, _, is_written) = self.journal.changed();
        let packed = self.options.packed_bytes as u64;
        room::check(&self.store, &state.images, filters, (&changed, packed), is_written)
    }

    /// As [`Log::lease`](super::Log::lease).
    pub(super) fn lease(&self) -> Result<Lease, LeaseError> {
        // No segment is begun and no file is removed meanwhile.
        let state = self.lock();
        self.journal.check_displaced().map_err(Error::Refused)?;
        Lease::begin(&self.store, &self.leases, &self.journal, &state.manifest)
    }

    /// Removes the files kept by leases that have ended.
    pub(super) fn remove_released(&self) {
        if self.leases.has_released() {
            self.throw_away(&mut self.lock(), Vec::new());
        }
    }

    /// Makes checkpoints and puts filters back until the log is closed.
    pub(super) fn keep_saved(&self, filters: &dyn Filters) {
        let mut last = Instant::now();
        let mut not_before = last;
        let (mut failed, mut unreadable) = (String::new(), String::new());
        while !self.journal.is_closed() {
            let has_spoiled = !self.journal.spoiled().0.is_empty();
            let unread = has_spoiled.then(|| self.put_back(filters).err()).flatten();
            if let Some(error) = &unread
                && is_news(&mut unreadable, error.to_string())
            {
                log::error!("filters of a refused write cannot be read again: {error}");
            }
            let requested = self.journal.takes_request();
            let due = self.is_due(last.elapsed()) && Instant::now() >= not_before;
            if requested || due {
                match self.checkpoint(filters) {
                    Ok(saves) => {
                        log::info!("checkpoint: {saves}");
                        failed.clear();
                    }
                    Err(error) => {
                        // Reported once, even if the free space differs.
                        let why = match error {
                            Error::NoRoom { .. } => "no room".to_owned(),
                            _ => error.to_string(),
                        };
                        if is_news(&mut failed, why) {
                            log::error!("no checkpoint: {error}");
                        }
                    }
                }
                last = Instant::now();
                not_before = last + PAUSE;
            }
            self.remove_released();
            self.journal.wait_for_request(TICK, unread.is_some());
        }
    }

    fn is_due(&self, since: Duration) -> bool {
        let stats = self.stats();
        let large = stats.log_bytes > self.options.segment_bytes.max(stats.image_bytes);
        let old = self.options.checkpoint_every.is_some_and(|every| since >= every);
        !stats.poisoned && (large || old && stats.changed_filters > 0)
    }

    /// As [`Log::stats`](super::Log::stats).
    pub(super) fn stats(&self) -> Stats {
        let saved = unpoisoned(self.saved.read()).clone();
        let running = matches!(self.state.try_lock(), Err(TryLockError::WouldBlock));
        Stats {
            checkpoint_at: saved.at,
            checkpoint_error: saved.error,
            checkpoint_running: running,
            image_bytes: saved.image_bytes,
            checkpoints: self.times.get(),
            ..self.journal.stats()
        }
    }
}

/// Whether an error is another one than the last, which is tried again and again.
fn is_news(last: &mut String, why: String) -> bool {
    let is_news = *last != why;
    *last = why;
    is_news
}

/// A filter that was due, and its new image; `None` if the filter was removed meanwhile.
type SavedNow = (u64, Option<ImageOf>);

/// Writes the images that are due, in their order, before the log that begins with this segment.
fn write_images(
    images: &mut Images<'_>,
    segment: u64,
    due: &[(u64, Due)],
    filters: &dyn Filters,
) -> Result<(Saves, Vec<SavedNow>), Error> {
    let mut saves = Saves::default();
    let mut saved = Vec::with_capacity(due.len());
    for &(id, due) in due {
        let snapshot = filters.snapshot(id, segment);
        let Some(snapshot) = snapshot.map_err(images.error("copy a filter for"))? else {
            // The log has its removal after this point.
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

/// The images of all filters with these ids that were not removed, after these were saved.
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
