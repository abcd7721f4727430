//! Disk space reserved for deletions, the way to free space on a full disk.
//!
//! The content of the file `spare` has no meaning. When a write has failed for lack of space, the
//! record of a deletion gets a block of it, and then the next one, until it fits: so an
//! acknowledged deletion is in the log as ever. The same space is used for the list and the
//! manifest that let go of the images of deleted filters, which need not wait until a whole
//! checkpoint fits. The file is restored to its full size once there is space. (A file system that
//! needs space to free space, as a copy-on-write one may, can refuse a deletion none the less.)

use super::Store;
use super::disk::{DiskFile, write_all_at};
use crate::count::Count;
use std::io;
use std::sync::Arc;

const SPARE: &str = "spare";
const SPARE_BYTES: u64 = 64 << 10;
/// The allocation unit of file systems.
const BLOCK_BYTES: u64 = 4 << 10;
/// The file is only created if this much is free, so that it does not fill the disk itself.
const LEAST_FREE_BYTES: u64 = 1 << 20;

/// The reserved space.
#[derive(Debug)]
pub(super) struct Spare {
    store: Store,
    /// Bytes of the file, as far as known; the file decides.
    bytes: Count,
}

impl Spare {
    /// Nothing is known about the file yet.
    pub(super) fn new(store: &Store) -> Self {
        Self { store: store.clone(), bytes: Count::default() }
    }

    /// Restores the file to its full size, if there is space.
    pub(super) fn keep(&self) {
        let has_room = || self.store.disk.free_bytes().is_none_or(|free| free >= LEAST_FREE_BYTES);
        // Nothing is written into a folder that has taken its place.
        let is_ours = || matches!(self.store.disk.is_ours(), Ok(true));
        if self.bytes.get() >= SPARE_BYTES || !is_ours() {
            return;
        }
        if self.open().is_ok_and(|(_, bytes)| bytes >= SPARE_BYTES) {
            self.bytes.replace(SPARE_BYTES);
        } else if has_room() {
            let made = self.make();
            if made.is_err() {
                // There may be more space in a second; no partial or unsynced file may be left.
                let _ = self.store.disk.remove(SPARE);
            }
            self.bytes.replace(if made.is_ok() { SPARE_BYTES } else { 0 });
        }
    }

    fn open(&self) -> io::Result<(Arc<dyn DiskFile>, u64)> {
        let file = self.store.disk.open(SPARE)?;
        let bytes = file.bytes()?;
        Ok((file, bytes))
    }

    fn make(&self) -> io::Result<()> {
        let file = self.store.disk.create(SPARE)?;
        // Random bytes, which a file system cannot leave out as it may zeros.
        let mut state = 1_u64;
        let bytes: Vec<u8> = (0..SPARE_BYTES)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        write_all_at(&*file, &bytes, 0)?;
        file.sync()?;
        self.store.disk.sync_dir("")
    }

    /// Frees a block; `false` if there is none.
    pub(super) fn give_block(&self) -> bool {
        let Ok((file, bytes)) = self.open() else { return false };
        let left = bytes.saturating_sub(BLOCK_BYTES);
        let given = bytes > 0 && file.set_len(left).is_ok();
        self.bytes.replace(left);
        given
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::disk::MemoryDisk;
    use super::*;
    use std::path::Path;

    fn spare(disk: &MemoryDisk) -> Spare {
        Spare::new(&Store::new(Arc::new(disk.clone()), Path::new("")))
    }

    #[test]
    fn blocks_are_given_until_none_is_left_and_come_back_once_there_is_space() {
        let disk = MemoryDisk::default();
        disk.state().free = Some(LEAST_FREE_BYTES - 1);
        let spare = spare(&disk);
        spare.keep();
        assert!(!spare.give_block(), "the disk was too full for the file");
        disk.state().free = None;
        spare.keep();
        assert_eq!((0..100).take_while(|_| spare.give_block()).count(), 16);
        assert!(disk.files().read(SPARE).is_empty());
        spare.keep();
        assert_eq!(disk.files().read(SPARE).len() as u64, SPARE_BYTES);
    }

    #[test]
    fn nothing_is_written_into_a_folder_that_is_not_ours() {
        let disk = MemoryDisk::default();
        disk.state().is_other = true;
        spare(&disk).keep();
        assert!(disk.files().names.is_empty());
    }
}
