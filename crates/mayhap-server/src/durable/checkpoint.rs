//! Checkpoints: filters are saved as images, so that the log before them can go.

use super::images::{Images, worn};
use super::manifest::{ImageOf, Manifest};
use super::previous::Checkpoints;
use super::recorder::Unsafe;
use super::segment;
use super::store::{FILTERS, LOG, MANIFEST, segment_path};
use super::trouble::Trouble;
use super::{Error, Filters, Log, Refused, Saved};
use crate::clock::unix_ms;
use crate::fail_point::{fail_point, fail_point_of};
use crate::sync::Ordering;
use std::collections::HashSet;
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
    /// Bytes of log that are not needed any more.
    pub log_bytes: u64,
}

fn trouble() -> Refused {
    Refused("the log is in trouble".to_owned())
}

/// The log at the moment at which a checkpoint begins.
struct Begun {
    /// The log is not where it was: no image is taken to be where it was either.
    all: bool,
    first_segment: u64,
    first_sequence: u64,
    first_previous: u64,
    next_id: u64,
    list: Vec<Saved>,
    changed: HashSet<u64>,
    unwritten: Vec<Unsafe>,
    old_bytes: u64,
}

/// Whether a filter needs a new image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    No,
    Changed,
    /// It was not changed, and its pack is to go.
    Moved,
}

impl Log {
    /// Saves all filters that were changed since they were saved last, and lets go of the log
    /// before that. Insertions go on meanwhile; operations wait for as long as it takes to list
    /// the filters.
    ///
    /// Whatever happens on the way, the folder has all that is in the log: the old images and the
    /// old log are removed last. One at a time; a second one waits.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], say of a full disk; [`Error::Refused`] if the log may have lost something.
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
        fail_point("checkpoint.begun");
        let _contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let _operations = self.operations.write().unwrap_or_else(PoisonError::into_inner);
        let list = filters.list();
        let mut inner = self.lock();
        let must_cut = match &inner.trouble {
            Some(Trouble::Write { must_cut, .. }) => *must_cut,
            Some(Trouble::Displaced { .. }) | None => false,
            Some(_) => true,
        };
        if must_cut {
            checkpoints.next = Some((number, file));
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
            all: matches!(inner.trouble, Some(Trouble::Displaced { .. })),
            first_segment: number,
            first_sequence: inner.sequence,
            first_previous: inner.previous,
            next_id: inner.next_id,
            list,
            changed: std::mem::take(&mut inner.filters),
            unwritten: std::mem::take(&mut inner.unwritten),
            old_bytes,
        })
    }

    /// Writes images of what was changed, then the manifest that names them.
    fn save(
        &self,
        checkpoints: &mut Checkpoints,
        begun: &mut Begun,
        filters: &dyn Filters,
        made: &mut Vec<String>,
    ) -> Result<Saves, Error> {
        let list = std::mem::take(&mut begun.list);
        let due = self.images_due(checkpoints, begun, &list)?;
        let next_image = checkpoints.manifest.next_image;
        let mut images = Images::new(&self.store, next_image, self.options.packed_bytes);
        let written = write_images(&mut images, begun, (list, &due), filters).and_then(|done| {
            images.finish()?;
            Ok(done)
        });
        checkpoints.manifest.next_image = images.next;
        made.append(&mut images.made);
        let (saves, saved) = written?;
        fail_point("checkpoint.images_made");
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
            filters: saved,
        };
        self.store.prepare(MANIFEST, &manifest.encode())?;
        if matches!(self.store.disk.is_ours(), Ok(false)) {
            // Not into a folder that somebody put there meanwhile.
            return Err(Error::Displaced { folder: self.store.path(""), what: "it was replaced" });
        }
        // From here on the new manifest may be the one that a crash leaves: it needs its images.
        made.clear();
        self.store.put_in_place(MANIFEST)?;
        checkpoints.replace(manifest, images.packs);
        Ok(saves)
    }

    /// For each filter of the list, whether it needs a new image, and the one that it has.
    fn images_due(
        &self,
        checkpoints: &Checkpoints,
        begun: &Begun,
        list: &[Saved],
    ) -> Result<Vec<(Due, ImageOf)>, Error> {
        // One whose image was removed is saved again, before the log that has the same goes.
        let mut there: HashSet<u64> = self.store.numbers(FILTERS, ".mayhap")?.into_iter().collect();
        there.extend(self.store.numbers(FILTERS, ".pack")?);
        let mut due: Vec<(Due, ImageOf)> = list
            .iter()
            .map(|filter| {
                let of = checkpoints.image(filter.id);
                let is_gone = of.number != 0 && !there.contains(&of.number);
                let is_due = begun.all || is_gone || begun.changed.contains(&filter.id);
                (if is_due { Due::Changed } else { Due::No }, of)
            })
            .collect();
        let staying = due.iter().filter(|(due, _)| *due == Due::No).map(|(_, of)| *of);
        let worn = worn(&checkpoints.packs, staying);
        for (due, of) in &mut due {
            if *due == Due::No && of.is_packed() && worn.contains(&of.number) {
                *due = Due::Moved;
            }
        }
        Ok(due)
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

    fn remove_garbage(&self, checkpoints: &mut Checkpoints) {
        checkpoints.garbage.retain(|path| {
            fail_point_of("checkpoint.removing", path);
            let removed = self.store.disk.remove(path);
            fail_point_of("checkpoint.removed", path);
            removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
        });
    }

    /// Requests a checkpoint from the thread that makes them.
    pub fn request_checkpoint(&self) {
        // ORDERING: Release, with the AcqRel of the thread that takes it: what was done before is
        // saved.
        self.checkpoint_requested.store(true, Ordering::Release);
        self.requested.notify_all();
    }
}

/// Writes the images that are due; returns all filters with the images that they have then.
fn write_images(
    images: &mut Images<'_>,
    begun: &Begun,
    (list, due): (Vec<Saved>, &[(Due, ImageOf)]),
    filters: &dyn Filters,
) -> Result<(Saves, Vec<(Saved, ImageOf)>), Error> {
    let mut saves = Saves::default();
    let mut saved = Vec::with_capacity(list.len());
    for (filter, &(due, mut of)) in list.into_iter().zip(due) {
        if due != Due::No {
            let snapshot = filters.snapshot(filter.id, begun.first_segment);
            let snapshot = snapshot.map_err(images.error("copy a filter for"))?;
            let Some(snapshot) = snapshot else {
                // Removed since: the log says so after this point.
                continue;
            };
            of = images.save(filter.id, &*snapshot)?;
            let count = if due == Due::Changed { &mut saves.images } else { &mut saves.moved };
            *count += 1;
            saves.image_bytes += of.bytes;
        }
        saved.push((filter, of));
    }
    Ok((saves, saved))
}
