//! What one checkpoint leaves to the next.

use super::disk::DiskFile;
use super::images::Packs;
use super::lists::ListOf;
use super::manifest::{ImageOf, Manifest};
use super::segment::Identity;
use std::collections::HashSet;
use std::sync::Arc;

/// The images of filters, by their ids, in order; number 0 for a filter that has none.
pub(super) type ImagesById = Vec<(u64, ImageOf)>;

/// What one checkpoint leaves to the next.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// The one on the disk, without its filters.
    pub(super) manifest: Manifest,
    /// The images that its lists name. Names are not kept: the filters have them.
    pub(super) images: ImagesById,
    pub(super) packs: Packs,
    /// A segment that is made and not yet written to.
    pub(super) next: Option<(u64, Arc<dyn DiskFile>)>,
    /// Files that are no longer needed and could not be removed yet.
    pub(super) garbage: Vec<String>,
}

impl Checkpoints {
    /// After a manifest was read.
    pub(super) fn new(mut manifest: Manifest, packs: Packs) -> Self {
        let filters = std::mem::take(&mut manifest.filters);
        let mut images: ImagesById = filters.iter().map(|(saved, of)| (saved.id, *of)).collect();
        // Of the lists of version 2 alone: the others are in order.
        images.sort_unstable_by_key(|(id, _)| *id);
        Self { manifest, images, packs, next: None, garbage: Vec::new() }
    }

    /// Bytes of all images.
    pub(super) fn image_bytes(&self) -> u64 {
        self.images.iter().map(|(_, of)| of.bytes).sum()
    }

    /// The images of filters with these ids, which are in order; `None` for one that no list names.
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

    /// Those that are listed and not among these.
    pub(super) fn missing_in<'a>(&'a self, now: &'a ImagesById) -> impl Iterator<Item = u64> + 'a {
        let mut now = now.iter().peekable();
        self.images.iter().map(|(id, _)| *id).filter(move |listed| {
            while now.next_if(|(id, _)| id < listed).is_some() {}
            now.next_if(|(id, _)| id == listed).is_none()
        })
    }

    /// The first lists of the manifest.
    pub(super) fn staying(&self, lists: usize) -> impl Iterator<Item = ListOf> {
        self.manifest.lists.iter().take(lists).cloned()
    }

    pub(super) const fn identity(&self) -> &Identity {
        &self.manifest.identity
    }

    /// A new manifest is in place, with images, and packs that were made for it: what only the old
    /// one named is to be removed.
    pub(super) fn replace(&mut self, manifest: Manifest, images: ImagesById, made: Packs) {
        let lists: HashSet<u64> = manifest.lists.iter().map(|of| of.number).collect();
        let gone = self.manifest.lists.iter().filter(|of| !lists.contains(&of.number));
        self.garbage.extend(gone.map(ListOf::path));
        let kept: HashSet<u64> = images.iter().map(|(_, of)| of.number).collect();
        let gone =
            self.images.iter().filter(|(_, of)| of.number != 0 && !kept.contains(&of.number));
        self.garbage.extend(gone.map(|(_, of)| of.path()));
        // Many images stand in one file.
        self.garbage.dedup();
        self.packs.extend(made);
        self.packs.retain(|number, _| kept.contains(number));
        (self.manifest, self.images) = (manifest, images);
    }
}
