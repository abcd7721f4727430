//! Whether a checkpoint fits onto the disk, which is looked at before it is begun.
//!
//! Images are written beside the old ones and beside the log that they replace. One that does not
//! fit would fill the disk and so refuse the writes of everybody, to be given up in the end.

use super::previous::Checkpoints;
use super::{Error, Filters, Log, pack};
use std::collections::HashSet;

/// What stays free for the log while images are written: this part of them, within bounds.
const LOG_PART: u64 = 4;
const LEAST_LOG_BYTES: u64 = 64 << 10;
const MOST_LOG_BYTES: u64 = 64 << 20;

impl Log {
    /// Whether the images of all filters that were changed fit onto the disk. Those of small
    /// filters, which are packed, are taken to be as long as they were.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub(super) fn check_room(
        &self,
        checkpoints: &Checkpoints,
        filters: &dyn Filters,
    ) -> Result<(), Error> {
        if self.is_displaced() {
            // Whatever stands there is not where it will be saved.
            return Ok(());
        }
        let Some(free) = self.store.disk.free_bytes() else { return Ok(()) };
        let (changed, is_written): (HashSet<u64>, bool) = {
            let inner = self.lock();
            (inner.filters.clone(), inner.trouble.is_none())
        };
        let packed = self.options.packed_bytes.min(pack::IMAGE_BYTES) as u64;
        let mut needed: u64 =
            changed.iter().map(|&id| filters.image_bytes(id)).filter(|&bytes| bytes > packed).sum();
        let before = checkpoints.images.iter().filter(|(id, of)| {
            of.is_packed() && changed.contains(id) && filters.image_bytes(*id) <= packed
        });
        needed += before.map(|(_, of)| of.bytes).sum::<u64>();
        // Where nothing is written, nothing is refused for it.
        let log = (needed / LOG_PART).clamp(LEAST_LOG_BYTES, MOST_LOG_BYTES);
        let log = if is_written { log } else { 0 };
        if needed + log <= free || needed == 0 {
            return Ok(());
        }
        Err(Error::NoRoom { folder: self.store.path(""), needed, free, log })
    }
}
