//! Reading images at start, from several threads.

use super::image::{self, Image, ImageOf, read_records};
use super::images::Packs;
use super::manifest::Manifest;
use super::store::{FILTERS, MANIFEST};
use super::{Error, Progress, Replay, Report, Saved, Store, pack};
use crate::fail_point::fail_point;
use crate::sync::unpoisoned;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes of a pack that are read at a time.
const BATCH_BYTES: u64 = 1 << 20;

/// Creates all filters, then fills them from several threads; returns the existing packs.
pub(super) fn load_images(
    store: &Store,
    manifest: &Manifest,
    threads: usize,
    replay: &dyn Replay,
    progress: &(dyn Fn(Progress) + Sync),
    report: &mut Report,
) -> Result<Packs, Error> {
    let listed = replay.create_all(&mut manifest.filters.iter().map(|(filter, _)| filter));
    // Older manifests contain the filters themselves.
    let path = if manifest.lists.is_empty() { MANIFEST } else { FILTERS };
    listed.map_err(|why| Error::Replay { path: store.path(path), offset: 0, why })?;
    let sizes = |number| pack::check(store, number).map(|bytes| (number, bytes));
    let packs = packs_of(manifest).into_iter().map(sizes).collect::<Result<_, _>>()?;
    let all = manifest.filters.iter().map(|(filter, of)| (filter.id, *of));
    let mut images: Vec<(u64, ImageOf)> = Vec::with_capacity(manifest.filters.len());
    images.extend(all.filter(|(_, of)| of.number != 0));
    images.sort_unstable_by_key(|(_, of)| (of.number, of.offset));
    let total = images.iter().map(|(_, of)| of.bytes).sum();
    let batches = batches(&images);
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let first_error = Mutex::new(None);
    let work = || {
        let mut memory = Memory::default();
        // ORDERING: Relaxed, all four. Each number stands for itself: a read-modify-write gives no
        // batch twice. The error is protected by its lock, and the scope's end publishes the
        // images.
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let batch = &images[batch.clone()];
            if let Err(error) = load_batch(store, batch, replay, &mut memory) {
                next.store(batches.len(), Ordering::Relaxed);
                unpoisoned(first_error.lock()).get_or_insert(error);
                return;
            }
            let bytes: u64 = batch.iter().map(|(_, of)| of.bytes).sum();
            let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            progress(Progress::Images { done, total });
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(batches.len()) {
            scope.spawn(work);
        }
        work();
    });
    (report.images, report.image_bytes) = (images.len() as u64, total);
    let error = unpoisoned(first_error.into_inner());
    error.map_or(Ok(packs), Err)
}

/// The packs with images that the manifest names.
pub(super) fn packs_of(manifest: &Manifest) -> BTreeSet<u64> {
    let packed = manifest.filters.iter().map(|(_, of)| of).filter(|of| of.is_packed());
    packed.map(|of| of.number).collect()
}

/// Images that are read together: neighbours in one pack, up to [`BATCH_BYTES`] from the first to
/// the last, or a file of its own.
fn batches(images: &[(u64, ImageOf)]) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    for (place, (_, of)) in images.iter().enumerate() {
        let joins = batches.last().is_some_and(|batch| {
            let first = images[batch.start].1;
            let is_neighbour = of.is_packed() && first.number == of.number;
            let end = of.offset.saturating_add(of.bytes);
            is_neighbour && end.saturating_sub(first.offset) <= BATCH_BYTES
        });
        match batches.last_mut() {
            Some(batch) if joins => batch.end = place + 1,
            _ => batches.push(place..place + 1),
        }
    }
    batches
}

/// Buffers that one batch passes to the next.
#[derive(Default)]
struct Memory {
    records: Vec<u8>,
    image: Vec<u8>,
}

fn load_batch(
    store: &Store,
    batch: &[(u64, ImageOf)],
    replay: &dyn Replay,
    memory: &mut Memory,
) -> Result<(), Error> {
    let [(_, first), ..] = batch else { return Ok(()) };
    if !first.is_packed() {
        return batch.iter().try_for_each(|&(id, of)| {
            load_image(store, (id, of), Image::open(store, of)?, replay).map(drop)
        });
    }
    let end = batch.iter().map(|(_, of)| of.offset.saturating_add(of.bytes)).max();
    let Memory { records, image: memory } = memory;
    read_records(store, *first, end.unwrap_or(0), records)?;
    for &(id, of) in batch {
        let from = (of.offset - first.offset) as usize;
        let record = records.get(from..).unwrap_or_default();
        let record = &record[..record.len().min(usize::try_from(of.bytes).unwrap_or(usize::MAX))];
        let image = Image::of_record(store, (id, of), record, std::mem::take(memory))?;
        *memory = load_image(store, (id, of), image, replay)?;
    }
    Ok(())
}

/// Fills a filter; returns memory for the next image.
fn load_image(
    store: &Store,
    (id, of): (u64, ImageOf),
    mut image: Image,
    replay: &dyn Replay,
) -> Result<Vec<u8>, Error> {
    let taken = replay.image(id, of.mark, &mut image);
    // Damage explains any other error about these bytes.
    let memory = image.check(store)?;
    fail_point("recover.image_loaded");
    let replayed = |why| Error::Replay { path: store.path(&of.path()), offset: of.offset, why };
    taken.map_err(replayed).map(|()| memory)
}

/// The filters whose images are damaged, with the image and the damage.
pub(super) fn verify_images(store: &Store, manifest: &Manifest) -> Vec<(Saved, ImageOf, Error)> {
    let with_image = manifest.filters.iter().filter(|(_, of)| of.number != 0);
    let bad = with_image.filter_map(|(filter, of)| {
        let error = image::verify(store, filter.id, *of).err()?;
        Some((filter.clone(), *of, error))
    });
    bad.collect()
}
