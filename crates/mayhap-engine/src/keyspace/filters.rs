//! The filters of a server or an engine.

use super::dumps::Loads;
use super::glob::{MAX_PATTERN_BYTES, matches};
use super::index::{MAX_COUNT, Named};
use super::kind::Filter;
use super::names::Names;
use super::resources::{Resources, overhead_bytes};
use super::{ChangeError, CreateError, Entry, Files, LongName, Options, Spec};
use crate::count::Count;
use crate::durable::{Log, Logged, Operation, Refused};
use crate::fail_point::fail_point;
use mayhap::Charge;
use std::sync::Arc;

/// A part of all names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where to continue; 0 at the end.
    pub cursor: u64,
    /// The visited names that match the pattern.
    pub names: Vec<Arc<[u8]>>,
}

/// The filters by name. Queries take no lock.
#[derive(Debug)]
pub struct Keyspace {
    pub(super) names: Names,
    pub(super) resources: Resources,
    /// Number of filters that expire.
    expiring: Arc<Count>,
    pub(super) swept: Swept,
    files: Files,
    pub(super) loads: Loads,
}

/// The findings of sweeps.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Number of filters that were removed because they had expired.
    pub(super) expired: Count,
    /// How often filters cleared themselves.
    pub(super) clears: Count,
    /// Filters over their capacity, as of the last sweep, and those found by the current one.
    pub(super) over: Count,
    pub(super) over_so_far: Count,
}

impl Keyspace {
    /// An empty keyspace.
    pub fn new(options: Options) -> Self {
        Self::with_room(Resources::new(options), 0, 1)
    }

    /// The same with room for the names of `filters` filters.
    pub(super) fn with_room(resources: Resources, filters: usize, next_id: u64) -> Self {
        Self {
            names: Names::new(filters, next_id),
            resources,
            expiring: Arc::default(),
            swept: Swept::default(),
            files: Files::default(),
            loads: Loads::default(),
        }
    }

    /// The limits.
    pub const fn options(&self) -> &Options {
        &self.resources.options
    }

    /// The filter of this name, if there is one that has not expired.
    #[inline]
    pub fn get(&self, name: &[u8], now: u64) -> Option<Arc<Entry>> {
        self.names.get(name, now)
    }

    /// Calls `f` with the filter of this name, if there is one that has not expired: like
    /// [`Keyspace::get`] without its reference count, which threads that query one filter would
    /// all write to.
    #[inline]
    pub fn with<R>(&self, name: &[u8], now: u64, f: impl FnOnce(&Entry) -> R) -> Option<R> {
        self.names.with(name, now, f)
    }

    /// The number of filters, including expired ones that are not yet swept.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// How many of them expire.
    pub fn expiring(&self) -> u64 {
        self.expiring.get()
    }

    /// How many were removed because they had expired.
    pub fn expired(&self) -> u64 {
        self.swept.expired.get()
    }

    /// The served files.
    pub const fn files(&self) -> &Files {
        &self.files
    }

    /// How often filters cleared themselves, as far as [`Upkeep::sweep`](super::Upkeep::sweep)
    /// noticed it.
    pub fn clears(&self) -> u64 {
        self.swept.clears.get()
    }

    /// How many filters have more keys than their capacity, as of the last sweep.
    pub fn over_capacity(&self) -> u64 {
        self.swept.over.get()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that all filters take together.
    pub fn used_bytes(&self) -> u64 {
        self.resources.budget.used()
    }

    /// Changes `max_memory`. Filters stay, even above it; the limit of one filter does not change.
    pub fn set_max_memory(&self, limit: u64) {
        self.resources.budget.set_limit(limit);
    }

    /// The current `max_memory`.
    pub fn max_memory(&self) -> u64 {
        self.resources.budget.limit()
    }

    /// Checks that a new filter can have this name: it is free, or its filter may be replaced.
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

    /// A filter with its state in this keyspace; `overhead` is charged for it.
    pub(super) fn entry(
        &self,
        id: u64,
        spec: Spec,
        expires_at: u64,
        filter: Box<dyn Filter>,
        overhead: Charge,
    ) -> Arc<Entry> {
        Arc::new(self.entry_alone(id, spec, expires_at, filter, overhead))
    }

    /// The same before it is shared.
    pub(super) fn entry_alone(
        &self,
        id: u64,
        spec: Spec,
        expires_at: u64,
        filter: Box<dyn Filter>,
        overhead: Charge,
    ) -> Entry {
        let shared = (overhead, self.expiring.clone());
        Entry::new(id, spec, expires_at, filter, shared)
    }

    /// Removes a filter; `false` if there is none of this name.
    ///
    /// # Errors
    ///
    /// [`ChangeError::ReadOnly`] for a file, [`ChangeError::Log`]; then nothing was changed.
    pub fn remove(&self, name: &[u8], now: u64, log: Option<&Log>) -> Result<bool, ChangeError> {
        let _changing = self.names.change();
        let Some(entry) = self.get(name, now) else { return Ok(false) };
        if entry.is_read_only() {
            return Err(ChangeError::ReadOnly);
        }
        self.drop_entry(name, &entry, log)?;
        Ok(true)
    }

    /// With names locked.
    pub(super) fn drop_entry(
        &self,
        name: &[u8],
        entry: &Entry,
        log: Option<&Log>,
    ) -> Result<(), Refused> {
        let _logged = now_in(log, &Operation::Remove { id: entry.id })?;
        fail_point("remove.logged");
        self.names.remove(name, entry.id);
        fail_point("remove.done");
        Ok(())
    }

    /// Renames a filter, replacing any other of the new name.
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
        let mut next_id = self.names.change();
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
            entry.overhead().add(new - old)?;
        }
        let logged = now_in(log, &Operation::Rename { id: entry.id, name: to });
        // The cost of the new name: the lower one at once, the higher one only if it succeeds.
        entry.overhead().give_back(match logged {
            Ok(_) => old.saturating_sub(new),
            Err(_) => new.saturating_sub(old),
        });
        let _logged = logged?;
        fail_point("rename.logged");
        let to: Arc<[u8]> = to.into();
        // Behind all others, or a scan that is past it would miss its new name.
        self.names.add_to_index(&to, &entry, Some(*next_id));
        *next_id += 1;
        // For a moment it has both names, rather than none.
        self.names.put(to, entry);
        fail_point("rename.both");
        self.names.remove_old(from);
        fail_point("rename.done");
        Ok(())
    }

    /// Sets a filter's expiry, in milliseconds since 1970; 0 for never; a time in the past removes
    /// it. `false` if there is no filter of this name.
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
        let _changing = self.names.change();
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

    /// Removes all filters except files.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Log`].
    pub fn clear(&self, log: Option<&Log>) -> Result<(), ChangeError> {
        let _changing = self.names.change();
        let _logged = now_in(log, &Operation::Clear)?;
        self.names.clear();
        Ok(())
    }

    /// All current filters, with their names.
    pub fn all(&self) -> Vec<(Arc<[u8]>, Arc<Entry>)> {
        let index = self.names.index();
        index.iter().map(|(_, named)| (named.name.clone(), named.entry.clone())).collect()
    }

    /// The names that match `pattern` among the next filters from `cursor` on, which is 0 at first:
    /// up to `count` filters are visited (at least 1, at most 10,000, and fewer if their names have
    /// 1 MiB).
    ///
    /// Filters are in the order of their creation, renamed ones behind them: a name that exists
    /// during the whole scan is listed, and only once unless its filter is renamed meanwhile.
    ///
    /// # Errors
    ///
    /// [`ChangeError::LongPattern`] for a pattern of more than [`MAX_PATTERN_BYTES`].
    pub fn scan(
        &self,
        cursor: u64,
        count: usize,
        pattern: Option<&[u8]>,
        now: u64,
    ) -> Result<Page, ChangeError> {
        if let Some(found) = pattern.map(<[u8]>::len).filter(|&found| found > MAX_PATTERN_BYTES) {
            return Err(ChangeError::LongPattern { found, limit: MAX_PATTERN_BYTES });
        }
        let (part, cursor) = self.names.index().part(cursor, count);
        let fits = |named: &Named| {
            !named.entry.is_expired(now)
                && pattern.is_none_or(|pattern| matches(pattern, &named.name))
        };
        let names = part.into_iter().filter(fits).map(|named| named.name).collect();
        Ok(Page { cursor, names })
    }

    /// How many filters have names that `fits` accepts, and how many of them expire; expired ones
    /// count until they are swept.
    pub fn count(&self, fits: impl Fn(&[u8]) -> bool) -> (u64, u64) {
        let (mut all, mut expiring, mut cursor) = (0, 0, 0);
        loop {
            let (part, next) = self.names.index().part(cursor, MAX_COUNT);
            for named in part.iter().filter(|named| fits(&named.name)) {
                all += 1;
                expiring += u64::from(named.entry.expires_at() != 0);
            }
            cursor = next;
            if cursor == 0 {
                return (all, expiring);
            }
        }
    }

    pub(super) fn check_name(&self, name: &[u8]) -> Result<(), LongName> {
        let (found, limit) = (name.len(), self.resources.options.max_name_bytes);
        if found > limit { Err(LongName { found, limit }) } else { Ok(()) }
    }
}

/// Writes an operation; the result is kept until the effect is visible.
fn now_in<'a>(
    log: Option<&'a Log>,
    operation: &Operation<'_>,
) -> Result<Option<Logged<'a>>, Refused> {
    log.map(|log| log.now(operation)).transpose()
}
