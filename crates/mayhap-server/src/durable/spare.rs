//! Room that is kept for deleting, which is how a full disk gets room again.
//!
//! The file `spare` holds nothing. When a write has failed for want of room, the record of a
//! deletion gets a block of it, and then the next one, until it fits: so what is acknowledged is in
//! the log as ever. The same room takes the list and the manifest by which the images of deleted
//! filters are let go of, which need not wait until a whole checkpoint fits. The file is made whole
//! again once there is room. (A file system that needs room to give room, as one that copies on
//! write may, can refuse a deletion none the less.)

use super::checkpoint::Gone;
use super::disk::{DiskFile, write_all_at};
use super::log::Inner;
use super::previous::Checkpoints;
use super::recorder::Batch;
use super::trouble::Trouble;
use super::{Error, Filters, Log, Refused};
use crate::sync::Ordering;
use std::io;
use std::sync::{Arc, PoisonError};

const SPARE: &str = "spare";
const SPARE_BYTES: u64 = 64 << 10;
/// What file systems give and take.
const BLOCK_BYTES: u64 = 4 << 10;
/// A list, a manifest, and what their names take.
const GONE_BLOCKS: u64 = 4;
/// The file is made where so much is free, so that it is not what fills the disk.
const LEAST_FREE_BYTES: u64 = 1 << 20;

impl Log {
    /// Makes the file whole, if it is not and there is room.
    pub(super) fn keep_spare(&self) {
        // ORDERING: Relaxed, here and below. The number stands for itself, and the file decides.
        let is_whole = self.spare_bytes.load(Ordering::Relaxed) >= SPARE_BYTES;
        let has_room = || self.store.disk.free_bytes().is_none_or(|free| free >= LEAST_FREE_BYTES);
        // Nothing is written into a folder that somebody put there.
        let is_ours = || matches!(self.store.disk.is_ours(), Ok(true));
        if is_whole || self.check_writable().is_err() || !is_ours() {
            return;
        }
        if self.spare().is_ok_and(|(_, bytes)| bytes >= SPARE_BYTES) {
            self.spare_bytes.store(SPARE_BYTES, Ordering::Relaxed);
        } else if has_room() {
            let made = self.make_spare();
            if made.is_err() {
                // The next second may have more room; nobody is to find a part that is not synced.
                let _ = self.store.disk.remove(SPARE);
            }
            let bytes = if made.is_ok() { SPARE_BYTES } else { 0 };
            // ORDERING: Relaxed, as above.
            self.spare_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    fn spare(&self) -> io::Result<(Arc<dyn DiskFile>, u64)> {
        let file = self.store.disk.open(SPARE)?;
        let bytes = file.bytes()?;
        Ok((file, bytes))
    }

    fn make_spare(&self) -> io::Result<()> {
        let file = self.store.disk.create(SPARE)?;
        // Nothing that a file system could leave out, as it may with zeros.
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

    /// Gives a block up; `false` if there is none.
    fn give_block(&self) -> bool {
        let Ok((file, bytes)) = self.spare() else { return false };
        let left = bytes.saturating_sub(BLOCK_BYTES);
        let given = bytes > 0 && file.set_len(left).is_ok();
        // ORDERING: Relaxed, as in `keep_spare`.
        self.spare_bytes.store(left, Ordering::Relaxed);
        given
    }

    /// Whether nothing but room is missing.
    pub(super) fn is_full(&self) -> bool {
        is_full(&self.lock())
    }

    /// Writes a record that the disk had no room for, in the room of the spare file.
    pub(super) fn write_from_spare(
        &self,
        inner: &mut Inner,
        batch: &mut Batch,
    ) -> Result<(), Refused> {
        while is_full(inner) {
            if self.write(inner, batch).is_ok() {
                // What is deleted still has its images.
                self.request_checkpoint();
                return Ok(());
            }
            if !self.give_block() {
                break;
            }
        }
        self.refuse(inner)
    }

    /// Lets go of the images of filters that are gone, without a checkpoint: by a list that says
    /// so, behind those that there are. The log stays as it is, and what it has of them is
    /// recorded for nobody. Those that were renamed since the last checkpoint wait for the next
    /// one: their record takes the name from another filter.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], [`Error::Io`].
    pub(super) fn drop_gone(
        &self,
        checkpoints: &mut Checkpoints,
        filters: &dyn Filters,
    ) -> Result<(), Error> {
        let gone = {
            let _operations = self.operations.write().unwrap_or_else(PoisonError::into_inner);
            let listed = self.lock().listed.clone();
            Gone::new(checkpoints, filters, &listed)
        };
        if gone.is_empty() {
            return Ok(());
        }
        // Before anything says that they are gone, the records by which they are.
        self.sync().map_err(Error::Refused)?;
        if self.is_full() {
            for _ in 0..GONE_BLOCKS {
                self.give_block();
            }
        }
        self.save_gone(checkpoints, &gone)
    }
}

/// Whether a write failed, and nothing else is wrong: its file ends where it should.
const fn is_full(inner: &Inner) -> bool {
    matches!(inner.trouble, Some(Trouble::Write { must_cut: false, .. }))
}
