//! What one turn of one thread has changed and not yet written.

use super::turns::UnderWay;
use super::{Log, Operation, Refused, Tally, Ticket, Unwritten, frame, item};
use mayhap::Digest;
use std::fmt;
use std::sync::{Arc, PoisonError};

/// From how many bytes on a frame is followed by another: what is checked together.
const FRAME_BYTES: usize = 1 << 20;
/// Digests in one item.
const ITEM_DIGESTS: usize = 1 << 16;
/// More memory than this is given back after a turn.
const KEPT_BYTES: usize = 1 << 20;

/// Insertions of one turn into a filter that are not safe yet.
#[derive(Debug)]
pub(super) struct Unsafe {
    tally: Arc<Tally>,
    /// How many of them are at risk.
    inserted: u64,
    /// How many were new and count, which is seen to as soon as they are recorded or refused.
    new: u64,
}

impl Unsafe {
    pub(super) fn settle(&self) {
        self.tally.settle(self.inserted);
    }

    /// Counts those that were new as keys of this segment. With the log locked.
    pub(super) fn count(&self, segment: u64) {
        if self.new != 0 {
            self.tally.count(self.new, segment);
        }
    }
}

/// What is written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Frames, with room for their headers.
    pub(super) bytes: Vec<u8>,
    /// Where each begins.
    pub(super) frames: Vec<usize>,
    /// The filters whose contents are changed.
    pub(super) filters: Vec<u64>,
    pub(super) counts: Vec<Unsafe>,
}

impl Batch {
    /// Begins a frame, unless there is one with room.
    fn make_room(&mut self) -> bool {
        let full = |&start: &usize| self.bytes.len() - start >= FRAME_BYTES;
        let begins = self.frames.last().is_none_or(full);
        if begins {
            self.begin();
        }
        begins
    }

    pub(super) fn begin(&mut self) {
        self.frames.push(self.bytes.len());
        self.bytes.resize(self.bytes.len() + frame::HEADER_BYTES, 0);
    }

    /// An operation behind what is there.
    pub(super) fn add(&mut self, operation: &Operation<'_>) -> Result<(), Refused> {
        check_size(operation.bytes())?;
        self.make_room();
        item::encode_operation(&mut self.bytes, operation);
        Ok(())
    }

    /// All that takes time and needs no lock.
    pub(super) fn seal(&mut self, log_id: u64) {
        let mut end = self.bytes.len();
        for &start in self.frames.iter().rev() {
            frame::seal(&mut self.bytes[start..end], log_id);
            end = start;
        }
    }

    /// Gives all frames their places; returns the next sequence number and the last checksum.
    pub(super) fn chain(
        &mut self,
        mut sequence: u64,
        mut previous: u64,
        safe: u64,
        log_id: u64,
    ) -> (u64, u64) {
        for &start in &self.frames {
            previous = frame::chain(&mut self.bytes[start..], sequence, previous, safe, log_id);
            sequence += 1;
        }
        (sequence, previous)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.frames.clear();
        self.filters.clear();
        self.counts.clear();
    }
}

/// What one turn of one thread has changed and not yet written.
///
/// Memory: what was recorded since the last commit, and up to 1 MiB kept for the next turn.
pub struct Recorder {
    log: Arc<Log>,
    batch: Batch,
    /// The last item, if it is one of digests: where it begins, its kind and filter.
    open: Option<(usize, u8, u64)>,
    /// How many turns had been refused when this one began, if it has.
    begun: Option<u64>,
    under_way: UnderWay,
    /// What became of records that were written before the end of the turn.
    early: Result<Option<Ticket>, Unwritten>,
}

impl Recorder {
    pub(super) fn new(log: Arc<Log>) -> Self {
        let under_way = UnderWay::default();
        log.turns.lock().unwrap_or_else(PoisonError::into_inner).add(&under_way);
        let (batch, early) = (Batch::default(), Ok(None));
        Self { log, batch, open: None, begun: None, under_way, early }
    }

    /// A turn begins that may change filters; to be called before it looks one up. Nothing happens
    /// if it has begun, until [`Recorder::commit`].
    #[inline]
    pub fn begin(&mut self) {
        if self.begun.is_none() {
            self.begun = Some(self.log.failures());
            self.under_way.begin();
        }
    }

    /// The log that it records for.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Whether nothing was recorded since the last commit.
    pub fn is_empty(&self) -> bool {
        self.batch.frames.is_empty()
    }

    /// Digests that were inserted into a filter and were new: each counts as a key of it, now and
    /// when the log is replayed.
    ///
    /// The caller has announced them (`Tally::announce`) *before* it set a bit, and hands them over
    /// now. They are at risk until they are as safe as the policy promises, or in an image after
    /// writing had failed.
    pub(crate) fn insert(&mut self, tally: &Arc<Tally>, filter: u64, digests: &[Digest]) {
        self.begin();
        self.extend(item::NEW, filter, digests);
        self.counts(tally, digests.len(), digests.len());
    }

    /// Digests that were there already and are recorded again, since a crash may take them;
    /// announced as for [`Recorder::insert`]. They do not count, as they did not when they were
    /// answered.
    pub(crate) fn repeat(&mut self, tally: &Arc<Tally>, filter: u64, digests: &[Digest]) {
        self.begin();
        self.extend(item::THERE, filter, digests);
        self.counts(tally, digests.len(), 0);
    }

    /// Insertions into this filter that were recorded since the last commit, or fewer if those into
    /// others came between.
    #[inline]
    pub(crate) fn recorded(&self, tally: &Arc<Tally>) -> u64 {
        let last = self.batch.counts.last().filter(|last| Arc::ptr_eq(&last.tally, tally));
        last.map_or(0, |last| last.inserted)
    }

    fn extend(&mut self, kind: u8, filter: u64, digests: &[Digest]) {
        for digests in digests.chunks(ITEM_DIGESTS) {
            self.add_digests(kind, filter, digests);
        }
    }

    fn add_digests(&mut self, kind: u8, filter: u64, digests: &[Digest]) {
        if self.batch.make_room() {
            self.open = None;
        }
        let bytes = &mut self.batch.bytes;
        let open = self.open.filter(|&(_, open, id)| (open, id) == (kind, filter));
        let joined = open.and_then(|(start, ..)| {
            let count = bytes[start + item::COUNT..].first_chunk_mut::<4>()?;
            let more = u32::from_le_bytes(*count) + digests.len() as u32;
            (more as usize <= ITEM_DIGESTS).then(|| *count = more.to_le_bytes())
        });
        if joined.is_none() {
            self.open = Some((bytes.len(), kind, filter));
            item::encode_head(bytes, kind, digests.len(), filter);
            self.batch.filters.push(filter);
        }
        item::encode_digests(&mut self.batch.bytes, digests);
    }

    /// Keys that were inserted into a filter that cannot take digests; announced as for
    /// `Recorder::insert`. What of them counts is left to the filter, of which an image has bits
    /// and count of one moment.
    ///
    /// # Errors
    ///
    /// [`Refused`] for a key of more than 64 MiB; it and those after it are not recorded.
    pub fn keys<'a>(
        &mut self,
        tally: &Arc<Tally>,
        filter: u64,
        keys: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Refused> {
        self.begin();
        self.open = None;
        self.batch.filters.push(filter);
        let mut recorded = 0;
        let mut fits = Ok(());
        for key in keys {
            fits = check_size(item::HEAD_BYTES + 4 + key.len());
            if fits.is_err() {
                break;
            }
            if key.len() > FRAME_BYTES {
                self.batch.begin();
            } else {
                self.batch.make_room();
            }
            item::encode_head(&mut self.batch.bytes, item::KEYS, 1, filter);
            self.batch.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
            self.batch.bytes.extend_from_slice(key);
            recorded += 1;
        }
        self.counts(tally, recorded, 0);
        fits
    }

    /// Digests for a filter to which everything has to be done once, and no more: one that counts
    /// or forgets.
    ///
    /// `order` numbers what was done to this filter: how many digests came before the first of
    /// these, taken under the lock under which they were put in. Frames may then stand in the log
    /// in another order, and an image may be made at any time: it has what is below its mark, and
    /// only the others are done again. `what` is the caller's: insert, remove, a time.
    pub fn ordered(&mut self, filter: u64, order: u64, what: u64, digests: &[Digest]) {
        self.begin();
        let mut order = order;
        for digests in digests.chunks(ITEM_DIGESTS) {
            self.batch.make_room();
            self.open = None;
            let bytes = &mut self.batch.bytes;
            item::encode_head(bytes, item::ORDERED, digests.len(), filter);
            bytes.extend_from_slice(&order.to_le_bytes());
            bytes.extend_from_slice(&what.to_le_bytes());
            item::encode_digests(bytes, digests);
            order += digests.len() as u64;
        }
        self.batch.filters.push(filter);
    }

    fn counts(&mut self, tally: &Arc<Tally>, inserted: usize, new: usize) {
        let (inserted, new) = (inserted as u64, new as u64);
        if inserted == 0 {
            return;
        }
        match self.batch.counts.last_mut() {
            Some(last) if Arc::ptr_eq(&last.tally, tally) => {
                last.inserted += inserted;
                last.new += new;
            }
            _ => self.batch.counts.push(Unsafe { tally: tally.clone(), inserted, new }),
        }
    }

    /// Writes all that was recorded, with one call to the kernel, which keeps it whatever happens
    /// to the process; the turn has ended.
    ///
    /// `None`: it is as safe as the policy promises, and so are all operations, or there was
    /// nothing. A ticket: the answers have to wait until [`Log::state`] says that it is.
    ///
    /// # Errors
    ///
    /// [`Unwritten`]: nothing of it is in the log, and nothing of it may be acknowledged.
    pub fn commit(&mut self) -> Result<Option<Ticket>, Unwritten> {
        let early = std::mem::replace(&mut self.early, Ok(None));
        let written = early.and_then(|early| {
            let written = self.write()?;
            Ok(written.max(early.filter(|ticket| !self.log.is_safe(*ticket))))
        });
        self.end();
        written
    }

    /// Writes what the turn has recorded so far, which goes on: before something that is in the log
    /// at once, so that nothing of a turn is done after something that is refused.
    ///
    /// # Errors
    ///
    /// As [`Recorder::commit`], which then says the same.
    pub(crate) fn commit_early(&mut self) -> Result<(), Refused> {
        if self.early.is_ok() && !self.is_empty() {
            let written = self.write();
            self.early = written;
        }
        self.early.as_ref().map(drop).map_err(|error| error.why.clone())
    }

    /// The same before something that waits for the end of all turns, as a checkpoint does: what
    /// follows is another turn, whose answers go with those of this one.
    ///
    /// # Errors
    ///
    /// As [`Recorder::commit_early`].
    pub(crate) fn end_early(&mut self) -> Result<(), Refused> {
        let written = self.commit_early();
        self.end();
        written
    }

    fn write(&mut self) -> Result<Option<Ticket>, Unwritten> {
        self.open = None;
        let failures = self.begun.unwrap_or_else(|| self.log.failures());
        if self.is_empty() && failures == self.log.failures() {
            // A turn may have done nothing but operations.
            let written = self.log.write_deferred();
            written.map_err(|why| Unwritten { why, until: Some(self.log.failures()) })?;
            return Ok(self.log.last_operation());
        }
        let ticket = self.log.append(&mut self.batch, failures);
        self.batch.clear();
        ticket.map(|ticket| (!self.log.is_safe(ticket)).then_some(ticket))
    }

    fn end(&mut self) {
        if self.begun.take().is_some() {
            self.log.end_turn(&self.under_way);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.is_empty() {
            // A turn that ends by a panic: its answers never go, and its changes neither stay.
            self.log.abandon(&self.batch.filters);
        }
        self.end();
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self.batch.frames.len();
        f.debug_struct("Recorder").field("frames", &frames).finish_non_exhaustive()
    }
}

/// # Errors
///
/// [`Refused`] for what does not fit into a frame.
pub(super) fn check_size(bytes: usize) -> Result<(), Refused> {
    let limit = frame::MAX_PAYLOAD_BYTES;
    if bytes > limit {
        return Err(Refused(format!("{bytes} bytes are more than the {limit} of a log record")));
    }
    Ok(())
}
