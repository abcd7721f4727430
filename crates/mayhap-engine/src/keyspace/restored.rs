//! The keyspace of the restored filters, and its filters as the log sees them.

use super::index::Named;
use super::kind::{Filter, Placeholder};
use super::recovery::{Coming, Stage};
use super::resources::large_object_bytes;
use super::{Entry, Keyspace, Recovery, RecoveryError, Spec, Unreadable};
use crate::cores::num_cores;
use crate::durable::{Error, Filters, ReadBack, Saved, Snapshot};
use crate::sync::unpoisoned;
use mayhap::Bitmap;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

/// With fewer filters a thread is not worth its start.
const FEWEST_A_THREAD: usize = 1024;

impl Recovery {
    /// The keyspace of the restored filters. `next_id` is the log's next free id.
    ///
    /// Contents without all parts, or without a creation, in the log were never visible and are
    /// left out.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::Filter`]: too little memory.
    pub fn finish(self, next_id: u64) -> Result<Keyspace, RecoveryError> {
        let Self { resources, filters } = self;
        let mut filled = unpoisoned(filters.into_inner());
        // Sized up front, so that no filter is copied to a larger table on the way.
        let next_id = next_id.max(filled.next_id).max(1);
        let keyspace = Keyspace::with_room(resources, filled.by_id.len(), next_id);
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
                .map(|share| scope.spawn(move || restore(keyspace, share)))
                .collect();
            threads.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        // From the oldest filters on, in the order of the index.
        let mut all: Vec<(u64, Named)> = Vec::new();
        for share in restored.into_iter().rev() {
            all.append(&mut share.unwrap_or_else(|panic| resume_unwind(panic)));
        }
        if keyspace.len() < all.len() {
            drop_namesakes(&keyspace, &mut all);
        }
        keyspace.names.set_index(all);
        Ok(keyspace)
    }
}

/// Publishes restored filters under their names; returns them for the index.
fn restore(keyspace: &Keyspace, coming: Vec<(u64, Coming)>) -> Vec<(u64, Named)> {
    let mut restored = Vec::with_capacity(coming.len());
    for (id, Coming { name, spec, expires_at, state }) in coming {
        let state = unpoisoned(state.into_inner());
        let Some(filter) = filter_of(keyspace, state, &spec, &name) else { continue };
        let entry = entry_of(keyspace, id, spec, expires_at, filter, &name);
        keyspace.names.put(name.clone(), entry.clone());
        restored.push((id, Named { name, entry }));
    }
    restored
}

fn entry_of(
    keyspace: &Keyspace,
    id: u64,
    spec: Spec,
    expires_at: u64,
    filter: Box<dyn Filter>,
    name: &[u8],
) -> Arc<Entry> {
    let overhead = keyspace.resources.force_overhead(name);
    overhead.force(large_object_bytes(&*filter));
    keyspace.entry(id, spec, expires_at, filter, overhead)
}

/// The filter of a recovered state; `None` if it was never visible. One that could not be
/// recovered keeps its name, and answers with the reason.
fn filter_of(
    keyspace: &Keyspace,
    state: Stage,
    spec: &Spec,
    name: &[u8],
) -> Option<Box<dyn Filter>> {
    let contents = match state {
        Stage::Ready(mut contents, mut in_order) => {
            let done = in_order.finish(&mut *contents, &mut Bitmap::default());
            done.map(|()| contents)
        }
        // It is created with its contents.
        Stage::New if spec.shape.size().is_none() => return None,
        Stage::New => keyspace.resources.empty(spec).map_err(RecoveryError::Filter),
        Stage::Loading(_) => return None,
        Stage::Failed(error) => Err(error),
    };
    Some(match contents {
        Ok(contents) => keyspace.resources.force(contents),
        Err(error) => quarantined(&error, name),
    })
}

/// The placeholder for a filter that cannot be recovered.
fn quarantined(error: &dyn std::fmt::Display, name: &[u8]) -> Box<dyn Filter> {
    let why = error.to_string();
    log::error!(
        "the filter {} cannot be recovered ({why}): every command about it is an error, all other \
         filters are served, and the log is kept until it is deleted or the folder is restored",
        name.escape_ascii()
    );
    Box::new(Placeholder(Unreadable::Quarantined(why.into())))
}

/// If filters share a name, which no list of ours allows, the last one stays.
fn drop_namesakes(keyspace: &Keyspace, all: &mut Vec<(u64, Named)>) {
    for (_, Named { name, entry }) in all.iter() {
        keyspace.names.put(name.clone(), entry.clone());
    }
    all.retain(|(id, named)| keyspace.with(&named.name, 0, |entry| entry.id) == Some(*id));
}

fn saved(Named { name, entry }: Named) -> Saved {
    let spec = entry.spec.encode().as_slice().into();
    Saved { id: entry.id, name, spec, expires_at: entry.expires_at() }
}

impl Filters for Keyspace {
    fn ids(&self) -> Vec<u64> {
        let index = self.names.index();
        let ours = index.iter().filter(|(_, named)| !named.entry.is_read_only());
        ours.map(|(id, _)| id).collect()
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        let named = self.names.by_id(id);
        named.filter(|named| !named.entry.is_read_only()).map(saved)
    }

    fn list(&self) -> Vec<Saved> {
        let index = self.names.index();
        let ours = index.iter().filter(|(_, named)| !named.entry.is_read_only());
        ours.map(|(_, named)| saved(named.clone())).collect()
    }

    fn image_bytes(&self, id: u64) -> u64 {
        self.names.index().get(id).map_or(0, |named| named.entry.num_bytes())
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let Some(Named { name, entry }) = self.names.by_id(id) else { return Ok(None) };
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
        let _changing = self.names.change();
        let named: Vec<(u64, Named)> = {
            let index = self.names.index();
            ids.iter().filter_map(|&id| Some((id, index.get(id)?.clone()))).collect()
        };
        for (_, named) in &named {
            named.entry.begin_putting_back();
        }
        let recovery = Recovery::new(*self.options());
        let listed = named.iter().map(|(_, named)| saved(named.clone())).collect();
        read_back(listed, &recovery)?;
        let filled = unpoisoned(recovery.filters.into_inner());
        let mut by_id = filled.by_id;
        for (id, Named { name, entry: old }) in named {
            let filter = by_id.remove(&id).and_then(|coming| {
                let state = unpoisoned(coming.state.into_inner());
                filter_of(self, state, &old.spec, &name)
            });
            let Some(filter) = filter else {
                // Its creation was refused, too.
                self.names.remove(&name, id);
                continue;
            };
            let entry = entry_of(self, id, old.spec, old.expires_at(), filter, &name);
            entry.move_to(old.place());
            self.names.put_back(Named { name, entry });
        }
        Ok(())
    }
}
