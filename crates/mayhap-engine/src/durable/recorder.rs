//! The changes of one turn of one thread that are not yet written.

use super::batch::{Batch, FRAME_BYTES, Unsafe, check_size};
use super::turns::UnderWay;
use super::{Log, Refused, Tally, Ticket, Unwritten, item};
use mayhap::Digest;
use std::sync::Arc;

/// Digests in one item.
const ITEM_DIGESTS: usize = 1 << 16;

/// The changes of one turn of one thread that are not yet written.
///
/// Memory: the records since the last commit, and up to 1 MiB kept for the next turn.
#[derive(Debug)]
pub struct Recorder {
    log: Arc<Log>,
    batch: Batch,
    /// The last item, if it has digests: its offset, kind and filter.
    open: Option<(usize, u8, u64)>,
    /// How many turns had been refused when this one began, if it has begun.
    begun: Option<u64>,
    under_way: UnderWay,
    /// The result of writing records before the end of the turn.
    early: Result<Option<Ticket>, Unwritten>,
}

impl Recorder {
    pub(super) fn new(log: Arc<Log>) -> Self {
        let under_way = UnderWay::default();
        log.journal.add(&under_way);
        let (batch, early) = (Batch::default(), Ok(None));
        Self { log, batch, open: None, begun: None, under_way, early }
    }

    /// Begins a turn that may change filters; to be called before it looks one up. No effect if it
    /// has begun already, until [`Recorder::commit`].
    #[inline]
    pub fn begin(&mut self) {
        if self.begun.is_none() {
            self.begun = Some(self.log.journal.refused());
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

    /// Records digests that were inserted into a filter and were new: each counts as a key of it,
    /// now and when the log is replayed.
    ///
    /// The caller has announced them (`Tally::announce`) *before* setting a bit, and hands them
    /// over now. They are at risk until they are as safe as the policy promises, or in an image
    /// after a failed write.
    pub(crate) fn insert(&mut self, tally: &Arc<Tally>, filter: u64, digests: &[Digest]) {
        self.begin();
        self.extend(item::NEW, filter, digests);
        self.counts(tally, digests.len(), digests.len());
    }

    /// Records digests again that were present already, since a crash may lose them; announced as
    /// for [`Recorder::insert`]. They do not count, as they did not when they were answered.
    pub(crate) fn repeat(&mut self, tally: &Arc<Tally>, filter: u64, digests: &[Digest]) {
        self.begin();
        self.extend(item::THERE, filter, digests);
        self.counts(tally, digests.len(), 0);
    }

    /// Insertions into this filter recorded since the last commit, or fewer if insertions into
    /// other filters came in between.
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

    /// Refuses a key that no record can hold. To be called before a filter has the key, since a
    /// refused one has changed nothing.
    ///
    /// # Errors
    ///
    /// [`Refused`] for a key of more than 64 MiB.
    pub fn check_key(key: &[u8]) -> Result<(), Refused> {
        check_size(item::HEAD_BYTES + 4 + key.len())
    }

    /// Records keys that were inserted into a filter that cannot take digests; announced as for
    /// `Recorder::insert`. The filter counts them itself, and an image has its bits and its count
    /// of the same moment.
    ///
    /// # Errors
    ///
    /// [`Refused`] for a key of more than 64 MiB; it and the keys after it are not recorded.
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
            fits = Self::check_key(key);
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

    /// Records digests for a filter that has to apply every change exactly once: one that counts or
    /// forgets.
    ///
    /// `order` numbers the changes to this filter: how many digests came before the first of these,
    /// read under the lock that was held for inserting them. Frames may then be in the log in
    /// another order, and an image may be made at any time: it has the changes below its mark, and
    /// only the others are applied again. `what` belongs to the caller: insert, remove, a time.
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

    /// Writes all records with one call to the kernel, which keeps them even if the process dies;
    /// ends the turn.
    ///
    /// `None`: they are as safe as the policy promises, and so are all operations, or there were
    /// no records. A ticket: the answers have to wait until [`Log::state`] reports that they are
    /// safe.
    ///
    /// # Errors
    ///
    /// [`Unwritten`]: none of it is in the log, and none of it may be acknowledged.
    pub fn commit(&mut self) -> Result<Option<Ticket>, Unwritten> {
        let early = std::mem::replace(&mut self.early, Ok(None));
        let written = early.and_then(|early| {
            let written = self.write()?;
            Ok(written.max(early.filter(|ticket| !self.log.journal.safety().is_safe(*ticket))))
        });
        self.end();
        written
    }

    /// Writes the records of the turn so far, which continues: before a change that is written at
    /// once, so that no change of a turn follows one that is refused.
    ///
    /// # Errors
    ///
    /// As [`Recorder::commit`], which then returns the same.
    pub fn commit_early(&mut self) -> Result<(), Refused> {
        if let Ok(before) = self.early {
            // Also without records of its own: it may have deferred an operation.
            self.early = self.write().map(|written| written.max(before));
        }
        self.early.as_ref().map(drop).map_err(|error| error.why.clone())
    }

    /// The same before something that waits for the end of all turns, as a checkpoint does: the
    /// rest is another turn, whose answers are sent together with those of this one.
    ///
    /// # Errors
    ///
    /// As [`Recorder::commit_early`].
    pub fn end_early(&mut self) -> Result<(), Refused> {
        let written = self.commit_early();
        self.end();
        written
    }

    fn write(&mut self) -> Result<Option<Ticket>, Unwritten> {
        self.open = None;
        let refused = self.begun.unwrap_or_else(|| self.log.journal.refused());
        if self.is_empty() && refused == self.log.journal.refused() {
            // A turn may have done nothing but operations.
            let written = self.log.journal.write_deferred();
            written.map_err(|why| Unwritten { why, until: Some(self.log.journal.refused()) })?;
            return Ok(self.log.journal.last_operation());
        }
        let ticket = self.log.journal.append(&mut self.batch, refused);
        self.batch.clear();
        ticket.map(|ticket| (!self.log.journal.safety().is_safe(ticket)).then_some(ticket))
    }

    fn end(&mut self) {
        if self.begun.take().is_some() {
            self.log.journal.end_turn(&self.under_way);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.is_empty() {
            // A turn that ends with a panic: its answers are never sent, and its changes do not
            // stay.
            self.log.journal.abandon(&self.batch.filters);
        }
        self.end();
    }
}
