//! The end of the log: the segment that is written, and the place of the next frame.

use super::batch::Batch;
use super::disk::{DiskFile, again, write_all_at};
use super::frame::{HEADER_BYTES, Link};
use super::segment;
use super::trouble::Trouble;
use crate::fail_point::fail_point;
use std::io;
use std::sync::Arc;

/// The most bytes that a probe writes.
const MOST_PROBE_BYTES: usize = 1 << 20;

/// The segment that is written.
#[derive(Debug, Clone)]
pub(super) struct Current {
    pub(super) number: u64,
    pub(super) file: Arc<dyn DiskFile>,
    /// Its length up to the last whole frame.
    pub(super) end: u64,
}

/// The end of the log.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) log_id: u64,
    /// The first segment of the manifest, and so the first that is needed.
    pub(super) first_segment: u64,
    pub(super) current: Current,
    /// The place of the next frame.
    pub(super) next: Link,
    /// The position up to which the last frame declares everything safe.
    pub(super) vouched: u64,
    /// Bytes in earlier segments that are still needed.
    older_bytes: u64,
    /// Earlier segments that are not synced.
    pub(super) older: Vec<Arc<dyn DiskFile>>,
}

impl Tail {
    pub(super) const fn new(
        log_id: u64,
        first_segment: u64,
        current: Current,
        next: Link,
        vouched: u64,
        older_bytes: u64,
    ) -> Self {
        Self { log_id, first_segment, current, next, vouched, older_bytes, older: Vec::new() }
    }

    /// Bytes that a start would replay.
    pub(super) const fn bytes(&self) -> u64 {
        self.older_bytes + self.current.end
    }

    /// Appends two batches with one call; returns the sequence after the first one. Everything
    /// before `safe` is declared safe.
    ///
    /// # Errors
    ///
    /// [`Trouble::Write`]; the file ends where it did, or has to be cut.
    pub(super) fn append(
        &mut self,
        first: &mut Batch,
        second: &mut Batch,
        safe: u64,
    ) -> Result<u64, Trouble> {
        first.seal(self.log_id);
        let middle = first.chain(self.next, safe, self.log_id);
        let next = second.chain(middle, safe, self.log_id);
        let bytes = if first.bytes.is_empty() {
            &second.bytes
        } else {
            first.bytes.extend_from_slice(&second.bytes);
            &first.bytes
        };
        let length = bytes.len() as u64;
        fail_point("log.writing");
        let Current { file, end, .. } = &mut self.current;
        if let Err(error) = write_all_at(&**file, bytes, *end) {
            let must_cut = again(|| file.set_len(*end)).is_err();
            return Err(Trouble::Write { why: error.to_string(), bytes: length, must_cut });
        }
        fail_point("log.written");
        *end += length;
        (self.next, self.vouched) = (next, safe);
        Ok(middle.sequence)
    }

    /// Declares in an empty frame that all before it is on the disk. Losing it does no harm.
    ///
    /// # Errors
    ///
    /// [`Trouble::Write`].
    pub(super) fn vouch(&mut self) -> Result<(), Trouble> {
        let mut batch = Batch::default();
        batch.begin();
        batch.seal(self.log_id);
        self.append(&mut Batch::default(), &mut batch, self.next.sequence)?;
        self.vouched = self.next.sequence;
        Ok(())
    }

    /// Whether the file ends after the last whole frame, and takes this many bytes more.
    ///
    /// # Errors
    ///
    /// The error of cutting it. Then it has to be cut.
    pub(super) fn probe(&self, bytes: u64, must_cut: bool) -> io::Result<bool> {
        let Current { file, end, .. } = &self.current;
        let cut = || again(|| file.set_len(*end));
        if must_cut {
            cut()?;
        }
        let probe = vec![0; (bytes as usize).clamp(HEADER_BYTES, MOST_PROBE_BYTES)];
        let fits = write_all_at(&**file, &probe, *end).is_ok();
        cut().map(|()| fits)
    }

    /// Switches to an empty segment; returns the bytes of those before it.
    pub(super) fn rotate(&mut self, number: u64, file: Arc<dyn DiskFile>) -> u64 {
        let bytes = self.bytes();
        let current = Current { number, file, end: segment::HEADER_BYTES as u64 };
        self.older.push(std::mem::replace(&mut self.current, current).file);
        fail_point("checkpoint.rotated");
        self.older_bytes = 0;
        bytes
    }

    /// These bytes of earlier segments are still needed.
    pub(super) const fn keep(&mut self, older_bytes: u64) {
        self.older_bytes += older_bytes;
    }

    /// Segments before this one are not needed any more.
    pub(super) fn let_go(&mut self, first_segment: u64) {
        self.older.clear();
        self.first_segment = first_segment;
    }

    /// The first of them are synced.
    pub(super) fn set_synced(&mut self, older: usize) {
        self.older.drain(..older);
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::super::frame::Frame;
    use super::super::tests::disk::{Failing, Fault, MemoryDisk};
    use super::*;

    fn batch(payload: &[u8]) -> Batch {
        let mut batch = Batch::default();
        batch.begin();
        batch.bytes.extend_from_slice(payload);
        batch.seal(5);
        batch
    }

    fn tail(disk: &MemoryDisk) -> Tail {
        let file = disk.create("log/1.log").unwrap();
        let current = Current { number: 1, file, end: 0 };
        Tail::new(5, 1, current, Link { sequence: 0, previous: 5 }, 0, 0)
    }

    #[test]
    fn frames_follow_each_other_and_a_failed_write_leaves_no_trace() {
        let disk = MemoryDisk::default();
        let mut tail = tail(&disk);
        let middle = tail.append(&mut batch(b"one"), &mut batch(b"second"), 0).unwrap();
        assert_eq!((middle, tail.next.sequence), (1, 2));
        let written = disk.files().read("log/1.log");
        let first = Frame::decode(&written, 5).unwrap();
        let second = Frame::decode(&written[first.bytes()..], 5).unwrap();
        assert_eq!((second.place, second.next()), (first.next(), tail.next));
        assert_eq!(tail.bytes(), written.len() as u64);

        let from = disk.state().calls;
        disk.state().failing = Some(Failing { fault: Fault::Full, from, all: true });
        let trouble = tail.append(&mut Batch::default(), &mut batch(b"third"), 0).unwrap_err();
        assert!(trouble.is_full(), "{trouble:?}");
        assert!(!tail.probe(10, false).unwrap());
        disk.state().failing = None;
        assert!(tail.probe(10, true).unwrap());
        assert_eq!(disk.files().read("log/1.log"), written);
        tail.vouch().unwrap();
        assert_eq!((tail.next.sequence, tail.vouched), (3, 3));
    }

    #[test]
    fn a_rotated_log_counts_the_bytes_before_until_they_are_let_go_of() {
        let disk = MemoryDisk::default();
        let mut tail = tail(&disk);
        tail.append(&mut Batch::default(), &mut batch(b"one"), 0).unwrap();
        let before = tail.bytes();
        let old = tail.rotate(2, disk.create("log/2.log").unwrap());
        assert_eq!((old, tail.older.len(), tail.current.number), (before, 1, 2));
        assert_eq!(tail.bytes(), segment::HEADER_BYTES as u64);
        tail.keep(old);
        assert_eq!(tail.bytes(), before + segment::HEADER_BYTES as u64);
        tail.let_go(2);
        assert_eq!((tail.first_segment, tail.older.len()), (2, 0));
    }
}
