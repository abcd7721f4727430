//! The keyspace of what came back, and its filters as the log sees them.

use super::kind::{Filter, Quarantined};
use super::lock::{locked, read, write};
use super::names::Named;
use super::recovery::{Coming, State, empty};
use super::{Entry, Keyspace, Recovery, RecoveryError, Shape, Spec};
use crate::cores::num_cores;
use crate::durable::{Error, Filters, ReadBack, Saved, Snapshot};
use mayhap::Bitmap;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, PoisonError};
use std::thread::ScopedJoinHandle;

/// A thread more is not worth its start for fewer filters.
const FEWEST_A_THREAD: usize = 1024;

impl Keyspace {
    /// The keyspace of what came back. `next_id` is what the log says of ids that were given.
    ///
    /// Contents of which not all parts, or no creation, are in the log were never seen and are not
    /// here.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::Filter`]: too little memory.
    pub fn restored(recovery: Recovery, next_id: u64) -> Result<Self, RecoveryError> {
        let Recovery { options, sizes, filters } = recovery;
        let mut filled = filters.into_inner().unwrap_or_else(PoisonError::into_inner);
        // None of them is copied to a larger table on the way.
        let mut keyspace = Self::with_room(options, filled.by_id.len());
        keyspace.sizes = sizes;
        *locked(&keyspace.changing) = next_id.max(filled.next_id).max(1);
        drop(filled.ids.take());
        let mut coming: Vec<(u64, Coming)> = filled.by_id.into_iter().collect();
        let share = coming.len().div_ceil(num_cores()).max(FEWEST_A_THREAD);
        let mut shares = Vec::new();
        while coming.len() > share {
            shares.push(coming.split_off(coming.len() - share));
        }
        shares.push(coming);
        let restored = std::thread::scope(|scope| {
            let keyspace = &keyspace;
            let threads: Vec<_> = shares
                .into_iter()
                .map(|share| scope.spawn(move || keyspace.restore(share)))
                .collect();
            threads.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        // From the oldest filters on, as they stand in the index.
        let mut all: Vec<(u64, Named)> = Vec::new();
        for share in restored.into_iter().rev() {
            all.append(&mut share.unwrap_or_else(|panic| resume_unwind(panic)));
        }
        if keyspace.len() < all.len() {
            keyspace.drop_namesakes(&mut all);
        }
        *write(&keyspace.by_id) = all.into_iter().collect();
        Ok(keyspace)
    }

    /// Gives filters that came back their names; returns them for the index.
    fn restore(&self, coming: Vec<(u64, Coming)>) -> Vec<(u64, Named)> {
        let mut restored = Vec::with_capacity(coming.len());
        for (id, Coming { name, spec, expires_at, state }) in coming {
            let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
            let Some(filter) = self.filter_of(state, &spec, &name) else { continue };
            let entry = self.entry(id, spec, expires_at, filter, &name);
            self.put(name.clone(), entry.clone());
            restored.push((id, Named { name, entry }));
        }
        restored
    }

    fn entry(
        &self,
        id: u64,
        spec: Spec,
        expires_at: u64,
        filter: Box<dyn Filter>,
        name: &[u8],
    ) -> Arc<Entry> {
        let overhead = self.force_overhead(name);
        Arc::new(Entry::new(id, spec, expires_at, filter, (overhead, self.expiring.clone())))
    }

    /// The filter of what was recovered; `None` if nobody ever saw it. One that could not be
    /// recovered keeps its name, and answers with the reason.
    fn filter_of(&self, state: State, spec: &Spec, name: &[u8]) -> Option<Box<dyn Filter>> {
        let contents = match state {
            State::Ready(mut contents, mut in_order) => {
                let done = in_order.finish(&mut *contents, &mut Bitmap::default());
                done.map(|()| contents)
            }
            State::New if matches!(spec.shape, Shape::RedisBloom | Shape::File) => return None,
            State::New => empty(spec, &self.options, &self.sizes),
            State::Loading(_) => return None,
            State::Failed(error) => Err(error),
        };
        Some(match contents {
            Ok(contents) => {
                let charge = self.budget.empty();
                charge.force(contents.num_bytes());
                self.filter(contents, spec, charge)
            }
            Err(error) => quarantined(&error, name),
        })
    }
}

/// What stands for a filter that cannot be recovered.
fn quarantined(error: &dyn std::fmt::Display, name: &[u8]) -> Box<dyn Filter> {
    let why = error.to_string();
    log::error!(
        "the filter {} cannot be recovered ({why}): every command about it is an error, all other \
         filters are served, and the log is kept until it is deleted or the folder is restored",
        name.escape_ascii()
    );
    Box::new(Quarantined::new(why))
}

impl Keyspace {
    /// Of filters of one name, which no list of ours has, the last one stays.
    fn drop_namesakes(&self, all: &mut Vec<(u64, Named)>) {
        for (_, Named { name, entry }) in all.iter() {
            self.put(name.clone(), entry.clone());
        }
        all.retain(|(id, named)| self.with(&named.name, 0, |entry| entry.id) == Some(*id));
    }
}

fn saved(Named { name, entry }: Named) -> Saved {
    let spec = entry.spec.encode().as_slice().into();
    Saved { id: entry.id, name, spec, expires_at: entry.expires_at() }
}

impl Filters for Keyspace {
    fn ids(&self) -> Vec<u64> {
        let by_id = read(&self.by_id);
        let ours = by_id.iter().filter(|(_, named)| !named.entry.is_read_only());
        ours.map(|(id, _)| *id).collect()
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        let named = read(&self.by_id).get(&id).cloned();
        named.filter(|named| !named.entry.is_read_only()).map(saved)
    }

    fn list(&self) -> Vec<Saved> {
        let by_id = read(&self.by_id);
        let ours = by_id.values().filter(|named| !named.entry.is_read_only());
        ours.cloned().map(saved).collect()
    }

    fn image_bytes(&self, id: u64) -> u64 {
        read(&self.by_id).get(&id).map_or(0, |named| named.entry.num_bytes())
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let named = read(&self.by_id).get(&id).cloned();
        let Some(Named { name, entry }) = named else { return Ok(None) };
        if entry.is_quarantined() {
            let name = name.escape_ascii();
            let why = format!("the filter {name} is quarantined; delete it, or restore the folder");
            return Err(io::Error::other(why));
        }
        let contents = entry.contents_before(segment).map_err(io::Error::other)?;
        Ok(contents.map(|contents| contents as Box<dyn Snapshot>))
    }

    fn put_back(&self, ids: &[u64], read_back: &ReadBack<'_>) -> Result<(), Error> {
        // No name changes meanwhile.
        let _changing = locked(&self.changing);
        let named: Vec<(u64, Named)> = {
            let by_id = read(&self.by_id);
            ids.iter().filter_map(|id| Some((*id, by_id.get(id)?.clone()))).collect()
        };
        for (_, named) in &named {
            named.entry.begin_putting_back();
        }
        let recovery = Recovery::new(self.options);
        let listed = named.iter().map(|(_, named)| saved(named.clone())).collect();
        read_back(listed, &recovery)?;
        let filled = recovery.filters.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut by_id = filled.by_id;
        for (id, Named { name, entry: old }) in named {
            let filter = by_id.remove(&id).and_then(|coming| {
                let state = coming.state.into_inner().unwrap_or_else(PoisonError::into_inner);
                self.filter_of(state, &old.spec, &name)
            });
            let Some(filter) = filter else {
                // Its creation was refused, too.
                write(&self.by_id).remove(&id);
                self.names.remove(&name);
                continue;
            };
            let entry = self.entry(id, old.spec, old.expires_at(), filter, &name);
            write(&self.by_id).insert(id, Named { name: name.clone(), entry: entry.clone() });
            self.names.insert(name, entry);
        }
        Ok(())
    }
}
