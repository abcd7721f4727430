//! Whether a checkpoint fits onto the disk, checked before it is begun.
//!
//! Images are written before the old ones and the log are removed. A checkpoint that does not fit
//! would fill the disk, so that all writes are refused, and would fail in the end.

use super::previous::ImagesById;
use super::{Error, Filters, Store, pack};
use std::collections::HashSet;

/// The fraction of the images that stays free for the log meanwhile, within bounds.
const LOG_PART: u64 = 4;
const LEAST_LOG_BYTES: u64 = 64 << 10;
const MOST_LOG_BYTES: u64 = 64 << 20;

/// Checks that the images of all changed filters fit onto the disk. Those of up to `packed` bytes,
/// which are packed, are assumed to keep their size. If the log `is_written`, it needs space too.
///
/// # Errors
///
/// [`Error::NoRoom`].
pub(super) fn check(
    store: &Store,
    images: &ImagesById,
    filters: &dyn Filters,
    (changed, packed): (&HashSet<u64>, u64),
    is_written: bool,
) -> Result<(), Error> {
    let Some(free) = store.disk.free_bytes() else { return Ok(()) };
    let packed = packed.min(pack::IMAGE_BYTES as u64);
    let large = changed.iter().map(|&id| filters.image_bytes(id)).filter(|&bytes| bytes > packed);
    let before = images.iter().filter(|(id, of)| {
        of.is_packed() && changed.contains(id) && filters.image_bytes(*id) <= packed
    });
    let needed = large.sum::<u64>() + before.map(|(_, of)| of.bytes).sum::<u64>();
    let log = (needed / LOG_PART).clamp(LEAST_LOG_BYTES, MOST_LOG_BYTES);
    let log = if is_written { log } else { 0 };
    if needed + log <= free || needed == 0 {
        return Ok(());
    }
    Err(Error::NoRoom { folder: store.path(""), needed, free, log })
}
