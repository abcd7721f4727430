//! What one checkpoint leaves to the next.

use super::disk::DiskFile;
use super::images::Packs;
use super::manifest::{ImageOf, Manifest};
use super::segment::Identity;
use std::collections::HashSet;
use std::sync::Arc;

/// What one checkpoint leaves to the next.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// The one on the disk, without its filters.
    pub(super) manifest: Manifest,
    /// The images that it names, by the ids of their filters, in order.
    pub(super) images: Vec<(u64, ImageOf)>,
    pub(super) packs: Packs,
    /// A segment that is made and not yet written to.
    pub(super) next: Option<(u64, Arc<dyn DiskFile>)>,
    /// Files that are no longer needed and could not be removed yet.
    pub(super) garbage: Vec<String>,
}

impl Checkpoints {
    /// After a manifest was read, or put in place.
    pub(super) fn new(mut manifest: Manifest, packs: Packs) -> Self {
        let images = take_images(&mut manifest);
        Self { manifest, images, packs, next: None, garbage: Vec::new() }
    }

    /// Bytes of all images.
    pub(super) fn image_bytes(&self) -> u64 {
        self.images.iter().map(|(_, of)| of.bytes).sum()
    }

    /// The image of a filter; number 0 if it has none.
    pub(super) fn image(&self, id: u64) -> ImageOf {
        let found = self.images.binary_search_by_key(&id, |(id, _)| *id);
        found.map_or_else(|_| ImageOf::default(), |place| self.images[place].1)
    }

    pub(super) const fn identity(&self) -> &Identity {
        &self.manifest.identity
    }

    /// A new manifest is in place, with packs that were made for it: what only the old one named
    /// is to be removed.
    pub(super) fn replace(&mut self, mut manifest: Manifest, made: Packs) {
        let images = take_images(&mut manifest);
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

/// Names are not kept: whoever makes the next manifest lists them anew.
fn take_images(manifest: &mut Manifest) -> Vec<(u64, ImageOf)> {
    let filters = std::mem::take(&mut manifest.filters);
    let mut images: Vec<_> = filters.iter().map(|(filter, of)| (filter.id, *of)).collect();
    images.sort_unstable_by_key(|(id, _)| *id);
    images
}
