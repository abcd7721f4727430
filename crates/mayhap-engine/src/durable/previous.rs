//! The state that one checkpoint leaves to the next.

use super::disk::DiskFile;
use super::image::ImageOf;
use super::images::{Packs, worn};
use super::lease::Leases;
use super::lists::ListOf;
use super::manifest::Manifest;
use super::segment;
use super::store::{FILTERS, LOG, segment_path};
use super::{Error, Filters, Store};
use crate::fail_point::fail_point_of;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// The images of filters, by id, in order; number 0 for a filter without one.
pub(super) type ImagesById = Vec<(u64, ImageOf)>;

/// Why a filter needs a new image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Changed,
    /// It has not changed, but its pack has to go.
    Moved,
}

/// The state that one checkpoint leaves to the next.
#[derive(Debug)]
pub(super) struct Checkpoints {
    store: Store,
    /// The manifest on the disk, without its filters.
    pub(super) manifest: Manifest,
    /// The images that its lists name. Names are not kept: the filters have them.
    pub(super) images: ImagesById,
    packs: Packs,
    /// The last segment that was created, and may not be written to yet.
    segment: Option<(u64, Arc<dyn DiskFile>)>,
    /// Files that are no longer needed and could not be removed yet.
    garbage: Vec<String>,
}

impl Checkpoints {
    /// The state after a manifest was read.
    pub(super) fn new(store: &Store, mut manifest: Manifest, packs: Packs) -> Self {
        let filters = std::mem::take(&mut manifest.filters);
        let mut images: ImagesById = filters.iter().map(|(saved, of)| (saved.id, *of)).collect();
        // Only needed for the filters of version 2: lists are in order.
        images.sort_unstable_by_key(|(id, _)| *id);
        let (store, garbage) = (store.clone(), Vec::new());
        Self { store, manifest, images, packs, segment: None, garbage }
    }

    /// Bytes of all images.
    pub(super) fn image_bytes(&self) -> u64 {
        self.images.iter().map(|(_, of)| of.bytes).sum()
    }

    /// The images of filters with these ids, which are in order; `None` for a filter in no list.
    pub(super) fn images_of<'a>(
        &'a self,
        ids: &'a [u64],
    ) -> impl Iterator<Item = (u64, Option<ImageOf>)> + 'a {
        let mut images = self.images.iter().peekable();
        ids.iter().map(move |&id| {
            while images.next_if(|(listed, _)| *listed < id).is_some() {}
            (id, images.next_if(|(listed, _)| *listed == id).map(|(_, of)| *of))
        })
    }

    /// The listed filters that are not among these.
    pub(super) fn missing_in<'a>(&'a self, now: &'a ImagesById) -> impl Iterator<Item = u64> + 'a {
        let mut now = now.iter().peekable();
        self.images.iter().map(|(id, _)| *id).filter(move |listed| {
            while now.next_if(|(id, _)| id < listed).is_some() {}
            now.next_if(|(id, _)| id == listed).is_none()
        })
    }

    /// Filters with files of their own that are gone, in order; except for `listed`.
    pub(super) fn gone(&self, filters: &dyn Filters, listed: &HashSet<u64>) -> Vec<u64> {
        let ids: HashSet<u64> = filters.ids().into_iter().collect();
        let is_gone = |(id, of): &&(u64, ImageOf)| {
            let has_file = of.number != 0 && !of.is_packed();
            has_file && !ids.contains(id) && !listed.contains(id)
        };
        self.images.iter().filter(is_gone).map(|(id, _)| *id).collect()
    }

    /// Whether the disk has all lists.
    pub(super) fn has_lists(&self) -> Result<bool, Error> {
        let there = self.store.numbers(FILTERS, ".list")?;
        Ok(self.manifest.lists.iter().all(|of| there.binary_search(&of.number).is_ok()))
    }

    /// Which of the existing filters need a new image, in order, and why.
    pub(super) fn images_due(
        &self,
        ids: &[u64],
        changed: &HashSet<u64>,
    ) -> Result<Vec<(u64, Due)>, Error> {
        // A filter whose image was removed is saved again, before the log that has the same goes.
        let mut there: HashSet<u64> = self.store.numbers(FILTERS, ".mayhap")?.into_iter().collect();
        there.extend(self.store.numbers(FILTERS, ".pack")?);
        let is_changed = |id: u64, of: &ImageOf| {
            let is_gone = of.number != 0 && !there.contains(&of.number);
            is_gone || changed.contains(&id)
        };
        let all = || self.images_of(ids).map(|(id, of)| (id, of.unwrap_or_default()));
        let staying = all().filter(|(id, of)| !is_changed(*id, of)).map(|(_, of)| of);
        let worn = worn(&self.packs, staying);
        let due = all().filter_map(|(id, of)| {
            let is_worn = of.is_packed() && worn.contains(&of.number);
            let moved = is_worn.then_some((id, Due::Moved));
            if is_changed(id, &of) { Some((id, Due::Changed)) } else { moved }
        });
        Ok(due.collect())
    }

    /// An empty segment with this number.
    pub(super) fn segment(&mut self, number: u64) -> Result<Arc<dyn DiskFile>, Error> {
        match &self.segment {
            Some((made, file)) if *made == number => Ok(file.clone()),
            _ => {
                let file = segment::create(&self.store, &self.manifest.identity, number)?;
                self.segment = Some((number, file.clone()));
                Ok(file)
            }
        }
    }

    /// Files of numbers below this one exist.
    pub(super) const fn set_next(&mut self, number: u64) {
        self.manifest.next_image = number;
    }

    /// The number of a new file.
    pub(super) const fn next_number(&mut self) -> u64 {
        self.manifest.next_image += 1;
        self.manifest.next_image - 1
    }

    /// Switches to a new manifest, its images, and packs that were made for it; files that only the
    /// old one named become garbage.
    pub(super) fn replace(&mut self, manifest: Manifest, images: ImagesById, made: Packs) {
        let lists: HashSet<u64> = manifest.lists.iter().map(|of| of.number).collect();
        let gone = self.manifest.lists.iter().filter(|of| !lists.contains(&of.number));
        self.garbage.extend(gone.map(ListOf::path));
        let kept: HashSet<u64> = images.iter().map(|(_, of)| of.number).collect();
        let gone =
            self.images.iter().filter(|(_, of)| of.number != 0 && !kept.contains(&of.number));
        self.garbage.extend(gone.map(|(_, of)| of.path()));
        // One file may hold many images.
        self.garbage.dedup();
        self.packs.extend(made);
        self.packs.retain(|number, _| kept.contains(number));
        (self.manifest, self.images) = (manifest, images);
    }

    /// These files are not needed.
    pub(super) fn throw_away(&mut self, paths: Vec<String>) {
        self.garbage.extend(paths);
    }

    /// Segments before this one are not needed.
    pub(super) fn drop_segments(&mut self, first: u64) {
        // Files that cannot be removed now are removed by the next checkpoint or start.
        let numbers = self.store.numbers(LOG, ".log").unwrap_or_default();
        let old = numbers.into_iter().filter(|&number| number < first).map(segment_path);
        self.garbage.extend(old);
        self.garbage.sort_unstable();
        self.garbage.dedup();
    }

    /// Removes files that are no longer needed, except for those kept by leases.
    pub(super) fn remove_garbage(&mut self, leases: &Leases) {
        // A lease is taken with this locked: none is added before the end of this.
        let kept = leases.kept();
        let mut kept_back = false;
        self.garbage.retain(|path| {
            if kept.is_some_and(|kept| kept.has(path)) {
                kept_back = true;
                return true;
            }
            fail_point_of("checkpoint.removing", path);
            let removed = self.store.disk.remove(path);
            fail_point_of("checkpoint.removed", path);
            removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
        });
        leases.set_kept_back(kept_back);
    }
}
