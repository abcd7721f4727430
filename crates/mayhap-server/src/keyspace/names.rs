//! Names to filters.
//!
//! Asking takes no lock (`table.rs`). Whatever changes names takes one, `changing`, over looking,
//! writing to the log and publishing, so that what is seen comes in the order of the log. The index
//! by id is what checkpoints and scans go over; a filter is in it, and has its name, once the log
//! has its creation.

use super::entry::home;
use super::growth::Growth;
use super::incoming::Incoming;
use super::kind::{Contents, Filter};
use super::lock::{locked, read, write};
use super::moved::Moved;
use super::overhead::overhead_bytes;
use super::parts::write_contents;
use super::sizes::Sizes;
use super::table::Table;
use super::watched::Files;
use super::{ChangeError, CreateError, Entry, LongName, Options, Shape, Spec};
use crate::count::Count;
use crate::durable::{Log, Logged, Operation, Refused};
use crate::fail_point::fail_point;
use mayhap::{Budget, Charge};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, RwLock};

/// A filter and its name now.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: Arc<[u8]>,
    pub(super) entry: Arc<Entry>,
}

/// The filters by name. Asking takes no lock.
#[derive(Debug)]
pub struct Keyspace {
    pub(super) names: Table<Entry>,
    pub(super) by_id: RwLock<BTreeMap<u64, Named>>,
    /// The filters that were renamed, by their places in scans.
    pub(super) moved: Moved,
    /// The id of the next filter.
    pub(super) changing: Mutex<u64>,
    pub(super) options: Options,
    pub(super) budget: Arc<Budget>,
    pub(super) sizes: Sizes,
    pub(super) growth: Arc<Growth>,
    /// Filters with a time at which they end.
    pub(super) expiring: Arc<Count>,
    /// Filters that were removed because their time was over.
    pub(super) expired: Count,
    /// How often filters cleared themselves.
    pub(super) clears: Count,
    /// Filters that are over their capacity, as of the last sweep, and those that this one found.
    pub(super) over: Count,
    pub(super) over_so_far: Count,
    pub(super) files: Files,
    /// Dumps that are coming in.
    pub(super) loading: Mutex<HashMap<Box<[u8]>, Incoming>>,
}

impl Keyspace {
    /// An empty one.
    pub fn new(options: Options) -> Self {
        Self::with_room(options, 0)
    }

    /// The same with room for the names of so many filters.
    pub(super) fn with_room(options: Options, filters: usize) -> Self {
        Self {
            names: Table::with_room(filters),
            by_id: RwLock::default(),
            moved: Moved::default(),
            changing: Mutex::new(1),
            options,
            budget: Budget::new(options.max_memory),
            sizes: Sizes::default(),
            growth: Arc::default(),
            expiring: Arc::default(),
            expired: Count::default(),
            clears: Count::default(),
            over: Count::default(),
            over_so_far: Count::default(),
            files: Files::default(),
            loading: Mutex::default(),
        }
    }

    /// The limits.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The filter of this name, if there is one that has not expired.
    #[inline]
    pub fn get(&self, name: &[u8], now: u64) -> Option<Arc<Entry>> {
        self.names.get(name).filter(|entry| !entry.is_expired(now))
    }

    /// Calls `f` with the filter of this name, if there is one that has not expired: as
    /// [`Keyspace::get`] without the count of its users, which threads that ask one filter would
    /// all write to.
    #[inline]
    pub fn with<R>(&self, name: &[u8], now: u64, f: impl FnOnce(&Entry) -> R) -> Option<R> {
        self.names.with(name, |entry| (!entry.is_expired(now)).then(|| f(entry))).flatten()
    }

    /// How many filters there are; those that expired count until they are swept.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// How many of them have a time at which they end.
    pub fn expiring(&self) -> u64 {
        self.expiring.get()
    }

    /// How many were removed because their time was over.
    pub fn expired(&self) -> u64 {
        self.expired.get()
    }

    /// How often filters cleared themselves, as far as [`Keyspace::sweep`] noticed it.
    pub fn clears(&self) -> u64 {
        self.clears.get()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that all filters take together.
    pub fn used_bytes(&self) -> u64 {
        self.budget.used()
    }

    /// Changes `max_memory`. Filters stay, also those above it; the limit of one filter stays.
    pub fn set_max_memory(&self, limit: u64) {
        self.budget.set_limit(limit);
    }

    /// `max_memory` as it is now.
    pub fn max_memory(&self) -> u64 {
        self.budget.limit()
    }

    /// A new filter, empty.
    ///
    /// Memory is charged before it is allocated, and the log has the creation before anybody sees
    /// the filter. Of several who create one name, one wins; the others leave nothing.
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
        self.create_with(name, spec, now, log.map(|log| (log, Record::Now)))
    }

    fn create_with(
        &self,
        name: &[u8],
        spec: Spec,
        now: u64,
        log: Option<(&Log, Record)>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.check_name(name)?;
        spec.check()?;
        // Before any work; whether it still holds is looked at again under the lock.
        if self.get(name, now).is_some() {
            return Err(CreateError::Exists);
        }
        let plan = self.sizes.get(&spec);
        let plan = plan.map_err(|error| self.options.explain(&spec, error))?;
        let charge = plan.charge(&self.options, &self.budget)?;
        let contents = plan.build(self.options.digest_function(spec.hash))?;
        let filter = self.filter(contents, &spec, charge);
        self.publish(Ready::new(name, spec, filter, None), now, log)
    }

    /// The filter of this name, or a new one, whose record is written with what the turn commits
    /// ([`Log::defer`]).
    ///
    /// # Errors
    ///
    /// As [`Keyspace::create`], but for [`CreateError::Exists`].
    pub fn get_or_create(
        &self,
        name: &[u8],
        spec: Spec,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, CreateError> {
        loop {
            if let Some(entry) = self.get(name, now) {
                return Ok(entry);
            }
            match self.create_with(name, spec, now, log.map(|log| (log, Record::Deferred))) {
                Err(CreateError::Exists) => {}
                done => return done,
            }
        }
    }

    /// That a new filter can have this name: that there is none, or one that it may replace.
    pub(super) fn check_free(
        &self,
        name: &[u8],
        replaces: bool,
        now: u64,
    ) -> Result<(), CreateError> {
        match self.get(name, now) {
            Some(entry) if replaces && entry.is_read_only() => Err(CreateError::ReadOnly),
            Some(_) if !replaces => Err(CreateError::Exists),
            _ => Ok(()),
        }
    }

    /// Gives a filter that is ready an id and a name.
    ///
    /// What is in it is in the log before the name is, so that a restart, whenever it comes, finds
    /// the filter whole, or the one that it replaces, or none.
    pub(super) fn publish(
        &self,
        ready: Ready<'_>,
        now: u64,
        log: Option<(&Log, Record)>,
    ) -> Result<Arc<Entry>, CreateError> {
        let Ready { name, spec, filter, dump, replaces, expires_at } = ready;
        // Before anything is written.
        let overhead = self.charge_overhead(name)?;
        let id = {
            let mut next_id = locked(&self.changing);
            // Before anything is written for a name that is taken.
            self.check_free(name, replaces, now)?;
            *next_id += 1;
            *next_id - 1
        };
        // Kept until the filter can be seen: no checkpoint lets go of its contents before.
        let contents =
            log.zip(dump).map(|((log, _), dump)| write_contents(log, id, dump)).transpose()?;
        fail_point("create.contents");
        let _changing = locked(&self.changing);
        // One that has expired is replaced by what follows, in the log too.
        if let Err(taken) = self.check_free(name, replaces, now) {
            if let Some((log, _)) = log.filter(|_| contents.is_some()) {
                // So that the next start need not keep contents to its end that nobody wants.
                let _ = log.now(&Operation::Remove { id });
            }
            return Err(taken);
        }
        let shared = (overhead, self.expiring.clone());
        let entry = Arc::new(Entry::new(id, spec, expires_at, filter, shared));
        let name: Arc<[u8]> = name.into();
        let operation = Operation::Create { id, name: &name, spec: &spec.encode(), expires_at };
        let record = |(log, record): (_, Record)| match record {
            Record::Now => Log::now(log, &operation),
            Record::Deferred => Log::defer(log, &operation),
        };
        let _logged = log.map(record).transpose()?;
        fail_point("create.logged");
        self.add_to_index(&name, &entry, None);
        fail_point("create.indexed");
        self.put(name, entry.clone());
        fail_point("create.done");
        Ok(entry)
    }

    /// A filter for many threads. `charge` has its bytes.
    pub(super) fn filter(
        &self,
        contents: Box<dyn Contents>,
        spec: &Spec,
        charge: Charge,
    ) -> Box<dyn Filter> {
        contents.into_filter(spec, home(&self.options, &self.growth), charge)
    }

    /// With `changing` held. A name is in the index once, also while [`Keyspace::put`] follows;
    /// with a place in scans that is another one than its id.
    pub(super) fn add_to_index(&self, name: &Arc<[u8]>, entry: &Arc<Entry>, place: Option<u64>) {
        let named = Named { name: name.clone(), entry: entry.clone() };
        let replaced = self.names.with(name, |entry| entry.id);
        let mut by_id = write(&self.by_id);
        if let Some(id) = replaced {
            self.moved.remove(&mut by_id, id);
        }
        by_id.insert(entry.id, named);
        if let Some(place) = place {
            self.moved.put(entry, place);
        }
    }

    /// Publishes, in place of the one that may have the name.
    pub(super) fn put(&self, name: Arc<[u8]>, entry: Arc<Entry>) {
        if let Some(replaced) = self.names.insert(name, entry) {
            self.moved.remove(&mut write(&self.by_id), replaced.id);
        }
    }

    /// Takes a name away; `false` if there is no filter of this name.
    ///
    /// # Errors
    ///
    /// [`ChangeError::ReadOnly`] for a file, [`ChangeError::Log`]; then nothing was changed.
    pub fn remove(&self, name: &[u8], now: u64, log: Option<&Log>) -> Result<bool, ChangeError> {
        let _changing = locked(&self.changing);
        let Some(entry) = self.get(name, now) else { return Ok(false) };
        if entry.is_read_only() {
            return Err(ChangeError::ReadOnly);
        }
        self.drop_entry(name, &entry, log)?;
        Ok(true)
    }

    /// With `changing` held.
    pub(super) fn drop_entry(
        &self,
        name: &[u8],
        entry: &Entry,
        log: Option<&Log>,
    ) -> Result<(), Refused> {
        let _logged = now_in(log, &Operation::Remove { id: entry.id })?;
        fail_point("remove.logged");
        self.moved.remove(&mut write(&self.by_id), entry.id);
        self.names.remove(name);
        fail_point("remove.done");
        Ok(())
    }

    /// Gives a filter another name, in place of the one that may have it.
    ///
    /// # Errors
    ///
    /// [`ChangeError::NotFound`], [`ChangeError::Exists`] if `to` is taken and may not be replaced,
    /// [`ChangeError::ReadOnly`] for files on either side, [`ChangeError::Log`].
    pub fn rename(
        &self,
        from: &[u8],
        to: &[u8],
        replace: bool,
        now: u64,
        log: Option<&Log>,
    ) -> Result<(), ChangeError> {
        self.check_name(to)?;
        let mut next_id = locked(&self.changing);
        let entry = self.get(from, now).ok_or(ChangeError::NotFound)?;
        let there = self.get(to, now);
        if there.is_some() && !replace {
            return Err(ChangeError::Exists);
        }
        if entry.is_read_only() || there.is_some_and(|entry| entry.is_read_only()) {
            return Err(ChangeError::ReadOnly);
        }
        if from == to {
            return Ok(());
        }
        let (old, new) = (overhead_bytes(from.len()), overhead_bytes(to.len()));
        if new > old {
            entry.overhead.add(new - old)?;
        }
        let logged = now_in(log, &Operation::Rename { id: entry.id, name: to });
        // What its name costs now: the shorter one at once, the longer one if it has it.
        entry.overhead.give_back(match logged {
            Ok(_) => old.saturating_sub(new),
            Err(_) => new.saturating_sub(old),
        });
        let _logged = logged?;
        fail_point("rename.logged");
        let to: Arc<[u8]> = to.into();
        // Behind all others, or a scan that is past it would not find the name that it has now.
        self.add_to_index(&to, &entry, Some(*next_id));
        *next_id += 1;
        // For a moment it has both names, rather than none.
        self.put(to, entry);
        fail_point("rename.both");
        self.names.remove(from);
        fail_point("rename.done");
        Ok(())
    }

    /// Says when a filter's time is over, in milliseconds since 1970; 0 for never, a time that is
    /// over removes it. `false` if there is no filter of this name.
    ///
    /// # Errors
    ///
    /// [`ChangeError::ReadOnly`] for a file, [`ChangeError::Log`].
    pub fn expire(
        &self,
        name: &[u8],
        expires_at: u64,
        now: u64,
        log: Option<&Log>,
    ) -> Result<bool, ChangeError> {
        if expires_at != 0 && expires_at <= now {
            return self.remove(name, now, log);
        }
        let _changing = locked(&self.changing);
        let Some(entry) = self.get(name, now) else { return Ok(false) };
        if entry.is_read_only() {
            return Err(ChangeError::ReadOnly);
        }
        let _logged = now_in(log, &Operation::Expire { id: entry.id, expires_at })?;
        fail_point("expire.logged");
        entry.set_expires_at(expires_at);
        fail_point("expire.done");
        Ok(true)
    }

    /// Removes all filters but files.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Log`].
    pub fn clear(&self, log: Option<&Log>) -> Result<(), ChangeError> {
        let _changing = locked(&self.changing);
        let _logged = now_in(log, &Operation::Clear)?;
        write(&self.by_id).retain(|_, Named { name, entry }| {
            let stays = entry.spec.shape == Shape::File;
            if !stays {
                self.names.remove(name);
            }
            stays
        });
        self.moved.clear();
        Ok(())
    }

    /// All filters now, with their names.
    pub fn all(&self) -> Vec<(Arc<[u8]>, Arc<Entry>)> {
        read(&self.by_id)
            .values()
            .map(|Named { name, entry }| (name.clone(), entry.clone()))
            .collect()
    }

    pub(super) fn check_name(&self, name: &[u8]) -> Result<(), LongName> {
        let (found, limit) = (name.len(), self.options.max_name_bytes);
        if found > limit { Err(LongName { found, limit }) } else { Ok(()) }
    }
}

/// A filter that is ready to be seen.
pub(super) struct Ready<'a> {
    pub(super) name: &'a [u8],
    pub(super) spec: Spec,
    pub(super) filter: Box<dyn Filter>,
    /// What is in it, if anything is.
    pub(super) dump: Option<&'a [u8]>,
    /// The one that has the name gives way.
    pub(super) replaces: bool,
    /// Milliseconds since 1970; 0 for never.
    pub(super) expires_at: u64,
}

impl<'a> Ready<'a> {
    /// One that replaces no other and never ends.
    pub(super) fn new(
        name: &'a [u8],
        spec: Spec,
        filter: Box<dyn Filter>,
        dump: Option<&'a [u8]>,
    ) -> Self {
        Self { name, spec, filter, dump, replaces: false, expires_at: 0 }
    }
}

/// When the record of a creation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// Before anybody sees the filter.
    Now,
    /// Before the turn that creates the filter answers: in front of its next record.
    Deferred,
}

/// Writes an operation; what comes back is kept until its effect can be seen.
fn now_in<'a>(
    log: Option<&'a Log>,
    operation: &Operation<'_>,
) -> Result<Option<Logged<'a>>, Refused> {
    log.map(|log| log.now(operation)).transpose()
}
