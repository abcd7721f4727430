//! Filters that are created: empty ones, unions of others, and others with contents; and filters
//! that take the place of larger ones.

use super::kind::{Contents, Filter};
use super::resources::{large_object_bytes, overhead_bytes};
use super::{ChangeError, CreateError, Entry, Keyspace, PieceOf, Sender, Shape, Shrunk, Spec};
use super::{UniteError, fold, unite};
use crate::durable::{self, Log, Operation, Recorder, Refused};
use crate::fail_point::fail_point;
use mayhap::sizing::Shrink;
use mayhap::{Charge, Error};
use std::sync::Arc;

impl Keyspace {
    /// Creates an empty filter.
    ///
    /// Memory is charged before it is allocated, and the log has the creation before the filter is
    /// visible. Of several callers that create one name, one wins; the others leave nothing.
    ///
    /// # Errors
    ///
    /// [`CreateError`]; then nothing was changed.
    pub fn create(
        &self,
        name: &[u8],
        spec: Spec,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.create_with(name, (spec, Pages::AtOnce), now, log.map(|log| (log, Record::Now)))
    }

    fn create_with(
        &self,
        name: &[u8],
        (spec, pages): (Spec, Pages),
        now: u64,
        log: Option<(&Log, Record)>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.check_name(name)?;
        spec.check()?;
        // Before any work; checked again under the lock.
        if self.get(name, now).is_some() {
            return Err(CreateError::Exists);
        }
        let filter = self.resources.create(&spec, pages)?;
        Ready::new(name, spec, filter, None).publish(self, now, log)
    }

    /// The filter of this name, or a new one, whose record is written when the turn commits, and
    /// whose memory is the system's to provide as `pages` says. The turn begins, if it has not.
    ///
    /// # Errors
    ///
    /// As [`Keyspace::create`], except for [`CreateError::Exists`].
    pub fn get_or_create(
        &self,
        name: &[u8],
        (spec, pages): (Spec, Pages),
        now: u64,
        turn: Option<&mut Recorder>,
    ) -> Result<Arc<Entry>, CreateError> {
        let log = turn.map(|turn| {
            turn.begin();
            &**turn.log()
        });
        loop {
            if let Some(entry) = self.get(name, now) {
                return Ok(entry);
            }
            let log = log.map(|log| (log, Record::Deferred));
            match self.create_with(name, (spec, pages), now, log) {
                Err(CreateError::Exists) => {}
                done => return done,
            }
        }
    }

    /// Creates a filter that has the keys of all of these, which do not change. It expires at this
    /// time, never at 0: that is in the same record, so at no moment, and after no crash, is there
    /// a copy of a filter without its expiry.
    ///
    /// # Errors
    ///
    /// [`CreateError::NoUnion`], [`CreateError::OfFrozen`] and [`CreateError::Kinds`] for kinds
    /// that cannot be united, [`CreateError::Filter`] with the parameter in which two of them
    /// differ, [`CreateError::Overfull`] if a filter of this size cannot hold all of their keys; as
    /// [`Keyspace::create`].
    pub fn merge(
        &self,
        name: &[u8],
        from: &[Arc<Entry>],
        expires_at: u64,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.check_name(name)?;
        let Some((first, others)) = from.split_first() else {
            return Err(CreateError::OfNothing);
        };
        others.iter().try_for_each(|other| check_kinds(first, other))?;
        let (mut union, _first_charge) = self.copy_of(first)?;
        let mut is_larger = false;
        for other in others {
            let (other, _charge) = self.copy_of(other)?;
            is_larger |= union.union_with(&*other).map_err(|error| overfull(from, error))?;
        }
        // A union without any bit that the largest filter lacks has just its keys.
        if is_larger && let Some(capacity) = first.capacity() {
            let items = union.items_beyond(capacity);
            items.map_or(Ok(()), |items| Err(CreateError::Overfull { items, capacity }))?;
        }
        let charge = self.resources.charge(union.num_bytes())?;
        let mut dump = Vec::new();
        if log.is_some() {
            let bytes = union.num_bytes();
            union.write(&mut dump).map_err(|_| CreateError::OutOfMemory { bytes })?;
        }
        let spec = first.spec;
        let filter = self.resources.filter(union, charge);
        let ready = Ready { expires_at, ..Ready::new(name, spec, filter, Some(&dump)) };
        ready.publish(self, now, log.map(|log| (log, Record::Now)))
    }

    /// Unites a fixed filter with a piece of the bits of one like it, and creates it from the
    /// header of that one if there is none of this name. Returns the number of bits that it lacked.
    ///
    /// The log has the piece before its bits are set. Pieces may come in any order and more than
    /// once. Insertions and queries continue meanwhile. The count of keys becomes an estimate from
    /// the bits, with the last piece from all of them, and may exceed the capacity: then the filter
    /// takes no more keys.
    ///
    /// # Errors
    ///
    /// [`UniteError`]; then nothing was changed, except that the filter may have been created,
    /// empty, if the log refused its first piece.
    pub fn unite(
        &self,
        name: &[u8],
        (piece, sender): (PieceOf<'_>, Sender),
        now: u64,
        log: Option<&Log>,
    ) -> Result<u64, UniteError> {
        unite::unite(self, name, (piece, sender), now, log)
    }

    /// Folds a filter that does not grow to a smaller size, without its keys. It keeps its name,
    /// its count of keys and its expiry; [`Info::capacity`](super::Info::capacity) and the promised
    /// rate are those of the smaller size.
    ///
    /// The log has the fold before it is visible, so a restart at any time finds the filter before
    /// or after it. Queries continue meanwhile; insertions into this filter wait, for about a
    /// second for each GiB. A copy of the filter and the smaller one are in memory beside it,
    /// charged.
    ///
    /// # Errors
    ///
    /// [`ChangeError::NotFound`]; [`ChangeError::ReadOnly`] for files; [`ChangeError::NoFold`] for
    /// kinds other than fixed filters; [`ChangeError::Filter`] with the error of [`Shrink::of`];
    /// [`ChangeError::TooLarge`], [`ChangeError::OutOfMemory`], [`ChangeError::Log`]. Then nothing
    /// was changed.
    pub fn shrink(
        &self,
        name: &[u8],
        how: Shrink,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Shrunk, ChangeError> {
        fold::shrink(self, name, how, now, log)
    }

    /// A copy, charged.
    fn copy_of(&self, entry: &Entry) -> Result<(Box<dyn Contents>, Charge), CreateError> {
        let charge = self.resources.budget.charge(entry.num_bytes())?;
        Ok((entry.filter().snapshot()?.ok_or(CreateError::OfFiles)?, charge))
    }
}

/// The error of a union that has no room for the keys of all.
fn overfull(from: &[Arc<Entry>], error: Error) -> CreateError {
    match error {
        Error::Full { expected_items: capacity, .. } => {
            let items = from.iter().map(|entry| entry.items()).fold(0, u64::saturating_add);
            CreateError::Overfull { items, capacity }
        }
        error => error.into(),
    }
}

/// Checks that two filters are of one kind that has unions.
fn check_kinds(first: &Entry, other: &Entry) -> Result<(), CreateError> {
    for entry in [first, other] {
        if entry.is_read_only() {
            return Err(CreateError::OfFiles);
        }
        if entry.spec.shape == Shape::Frozen {
            return Err(CreateError::OfFrozen(entry.filter().kind()));
        }
        if !entry.filter().unites() {
            return Err(CreateError::NoUnion(entry.filter().kind()));
        }
    }
    let [left, right] = [first, other].map(|entry| std::mem::discriminant(&entry.spec.shape));
    if left == right {
        return Ok(());
    }
    Err(CreateError::Kinds { left: first.filter().kind(), right: other.filter().kind() })
}

/// A filter that is ready to be published.
pub(super) struct Ready<'a> {
    pub(super) name: &'a [u8],
    pub(super) spec: Spec,
    pub(super) filter: Box<dyn Filter>,
    /// Its contents, if it is not empty.
    pub(super) dump: Option<&'a [u8]>,
    /// Whether it may replace another filter of its name.
    pub(super) replaces: bool,
    /// Milliseconds since 1970; 0 for never.
    pub(super) expires_at: u64,
}

impl<'a> Ready<'a> {
    /// A filter that replaces no other and never expires.
    pub(super) fn new(
        name: &'a [u8],
        spec: Spec,
        filter: Box<dyn Filter>,
        dump: Option<&'a [u8]>,
    ) -> Self {
        Self { name, spec, filter, dump, replaces: false, expires_at: 0 }
    }

    /// Gives a complete filter an id and a name.
    ///
    /// Its contents are in the log before its name is, so that a restart at any time finds the
    /// complete filter, or the one that it replaces, or none.
    pub(super) fn publish(
        self,
        keyspace: &Keyspace,
        now: u64,
        log: Option<(&Log, Record)>,
    ) -> Result<Arc<Entry>, CreateError> {
        let Ready { name, spec, filter, dump, replaces, expires_at } = self;
        // Before anything is written.
        let overhead = overhead_bytes(name.len()) + large_object_bytes(&*filter);
        let overhead = keyspace.resources.budget.charge(overhead)?;
        let id = {
            let mut next_id = keyspace.names.change();
            // Before anything is written for a name that is taken.
            keyspace.check_free(name, replaces, now)?;
            *next_id += 1;
            *next_id - 1
        };
        // Held until the filter is visible: no checkpoint lets go of its contents before.
        let contents =
            log.zip(dump).map(|((log, _), dump)| write_contents(log, id, dump)).transpose()?;
        fail_point("create.contents");
        let _changing = keyspace.names.change();
        // An expired filter is replaced by the following record, in the log too.
        if let Err(taken) = keyspace.check_free(name, replaces, now) {
            if let Some((log, _)) = log.filter(|_| contents.is_some()) {
                // So that the next start need not keep the contents until the end of the log.
                let _ = log.now(&Operation::Remove { id });
            }
            return Err(taken);
        }
        let entry = keyspace.entry(id, spec, expires_at, filter, overhead);
        let name: Arc<[u8]> = name.into();
        let operation = Operation::Create { id, name: &name, spec: &spec.encode(), expires_at };
        let record = |(log, record): (_, Record)| match record {
            Record::Now => Log::now(log, &operation),
            Record::Deferred => Log::defer(log, &operation),
        };
        let _logged = log.map(record).transpose()?;
        fail_point("create.logged");
        keyspace.names.add_to_index(&name, &entry, None);
        fail_point("create.indexed");
        keyspace.names.put(name, entry.clone());
        fail_point("create.done");
        Ok(entry)
    }
}

/// When the system provides the pages of a new filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Before the filter is visible, if it has 1 to 64 MiB: for threads that nobody waits for. A
    /// page of 2 MiB takes a tenth of a millisecond, or five where a hypervisor provides it in
    /// turn, and each of the first insertions would take one.
    AtOnce,
    /// When a key sets the first bit in them.
    WhenUsed,
}

/// When the record of a creation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// Before the filter is visible.
    Now,
    /// Before the turn that creates the filter answers: in front of its next record.
    Deferred,
}

/// Bytes of a dump in one record. Tests get several parts even of small filters.
const PART_BYTES: usize = if cfg!(test) { 8 << 10 } else { 4 << 20 };

/// Writes the contents of a filter before its creation; the result is kept until it is visible.
///
/// # Errors
///
/// [`Refused`]: the filter must not be created.
fn write_contents<'a>(
    log: &'a Log,
    id: u64,
    dump: &[u8],
) -> Result<durable::Contents<'a>, Refused> {
    let mut contents = log.begin_contents(id);
    for part in dump.chunks(PART_BYTES) {
        contents.write(part)?;
        fail_point("create.part");
    }
    Ok(contents)
}
