//! Filters that come back at start: from images, then from the log.

use super::kind::{Contents, read_image};
use super::loading::Loading;
use super::lock::{locked, read, write};
use super::names::Named;
use super::sizes::Sizes;
use super::{Entry, Keyspace, Options, RecoveryError, Shape, Spec};
use crate::cores::num_cores;
use crate::durable::{Answered, Filters, Image, Replay, ReplayError, Saved, Snapshot};
use mayhap::{Bitmap, Digest};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::ScopedJoinHandle;

/// A thread more is not worth its start for fewer filters.
const FEWEST_A_THREAD: usize = 1024;

/// Filters that come back at start; [`Keyspace::restored`] makes a keyspace of them.
///
/// Limits are not in the way: what was there is there again, even if they are lower now.
#[derive(Debug)]
pub struct Recovery {
    options: Options,
    sizes: Sizes,
    /// Only read while images are.
    filters: RwLock<Filled>,
}

#[derive(Debug, Default)]
struct Filled {
    by_id: BTreeMap<u64, Coming>,
    /// Which filter has which name; none before the log changes names, which it may not.
    ids: Option<HashMap<Arc<[u8]>, u64>>,
    /// Contents of filters that are not created yet, and perhaps never were.
    contents: HashMap<u64, Loading>,
    new: Bitmap,
    next_id: u64,
}

impl Filled {
    /// Every filter by its name. Of several of one name, which no list of ours has, the last one.
    fn ids(&mut self) -> &mut HashMap<Arc<[u8]>, u64> {
        let by_id = &mut self.by_id;
        self.ids.get_or_insert_with(|| {
            let mut ids = HashMap::with_capacity(by_id.len());
            let names = by_id.iter().map(|(id, coming)| (coming.name.clone(), *id));
            let replaced: Vec<u64> = names.filter_map(|(name, id)| ids.insert(name, id)).collect();
            for id in replaced {
                by_id.remove(&id);
            }
            ids
        })
    }
}

#[derive(Debug)]
struct Coming {
    name: Arc<[u8]>,
    spec: Spec,
    expires_at: u64,
    /// Behind a lock of its own, as images are read by several threads.
    state: Mutex<State>,
}

impl Coming {
    fn state(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
enum State {
    /// Nothing was said of its contents yet.
    New,
    /// Parts of a dump, which version 0.1 wrote after the creation.
    Loading(Loading),
    /// And what its image has of what is to be done in order.
    Ready(Box<dyn Contents>, u64),
}

impl Recovery {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        Self { options, sizes: Sizes::default(), filters: RwLock::default() }
    }

    /// Calls `f` with the contents of a filter, if it is known; an empty one if nothing was said.
    fn with(
        &self,
        id: u64,
        f: impl FnOnce(&mut dyn Contents, u64, &mut Bitmap) -> Result<(), RecoveryError>,
    ) -> Result<(), ReplayError> {
        let mut filled = write(&self.filters);
        let Filled { by_id, new, .. } = &mut *filled;
        let Some(coming) = by_id.get_mut(&id) else { return Ok(()) };
        if matches!(coming.state(), State::New) {
            let contents = empty(&coming.spec, &self.options, &self.sizes)?;
            *coming.state() = State::Ready(contents, 0);
        }
        match coming.state() {
            State::Ready(contents, mark) => Ok(f(&mut **contents, *mark, new)?),
            // Nobody saw it, so nobody inserted.
            State::New | State::Loading(_) => Err(RecoveryError::KeysTooEarly.into()),
        }
    }
}

fn empty(
    spec: &Spec,
    options: &Options,
    sizes: &Sizes,
) -> Result<Box<dyn Contents>, RecoveryError> {
    Ok(sizes.get(spec)?.build(options.digest_function(spec.hash))?)
}

/// The filter of a dump that is whole.
fn decode(
    loading: &Loading,
    spec: &Spec,
    options: &Options,
) -> Result<Box<dyn Contents>, RecoveryError> {
    Ok(loading.decode(Some(spec.shape), &options.unlimited())?.0)
}

fn begin(bytes: &[u8], options: &Options) -> Result<Loading, RecoveryError> {
    Ok(Loading::of_bytes(bytes, options)?)
}

impl Replay for Recovery {
    fn create_all(&self, listed: &mut dyn Iterator<Item = &Saved>) -> Result<(), ReplayError> {
        let mut filled = write(&self.filters);
        let coming = |saved: &Saved| {
            let spec = Spec::decode(&saved.spec).ok_or(RecoveryError::UnknownKind)?;
            let (name, expires_at) = (saved.name.clone(), saved.expires_at);
            let coming = Coming { name, spec, expires_at, state: State::New.into() };
            Ok::<_, RecoveryError>((saved.id, coming))
        };
        let mut all = Vec::with_capacity(listed.size_hint().0);
        for saved in listed {
            all.push(coming(saved)?);
        }
        filled.by_id = all.into_iter().collect();
        let last = filled.by_id.last_key_value().map_or(0, |(id, _)| id.saturating_add(1));
        filled.next_id = filled.next_id.max(last);
        Ok(())
    }

    fn create(
        &self,
        id: u64,
        name: &[u8],
        spec: &[u8],
        expires_at: u64,
    ) -> Result<(), ReplayError> {
        let spec = Spec::decode(spec).ok_or(RecoveryError::UnknownKind)?;
        let mut filled = write(&self.filters);
        filled.next_id = filled.next_id.max(id.saturating_add(1));
        if filled.by_id.contains_key(&id) {
            return Ok(());
        }
        let state = match filled.contents.remove(&id) {
            Some(contents) if !contents.is_whole() => {
                return Err(RecoveryError::NotWhole.into());
            }
            Some(contents) => State::Ready(decode(&contents, &spec, &self.options)?, 0),
            None => State::New,
        };
        let name: Arc<[u8]> = name.into();
        if let Some(replaced) = filled.ids().insert(name.clone(), id) {
            filled.by_id.remove(&replaced);
        }
        let coming = Coming { name, spec, expires_at, state: state.into() };
        filled.by_id.insert(id, coming);
        Ok(())
    }

    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), ReplayError> {
        let filled = read(&self.filters);
        let Some(coming) = filled.by_id.get(&id) else { return Ok(()) };
        let contents = read_image(&coming.spec, mark, image, &self.options.unlimited())?;
        *locked(&coming.state) = State::Ready(contents, mark);
        Ok(())
    }

    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), ReplayError> {
        self.with(id, |contents, _, scratch| contents.replay(digests, answered, scratch))
    }

    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        self.with(id, |contents, _, _| contents.replay_keys(keys))
    }

    fn ordered(
        &self,
        id: u64,
        order: u64,
        what: u64,
        digests: &[Digest],
    ) -> Result<(), ReplayError> {
        self.with(id, |contents, mark, scratch| {
            if order < mark {
                return Ok(());
            }
            contents.replay_ordered(order, what, digests, scratch)
        })
    }

    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), ReplayError> {
        let mut filled = write(&self.filters);
        let unlimited = self.options.unlimited();
        let Filled { by_id, contents, .. } = &mut *filled;
        let Some(coming) = by_id.get_mut(&id) else {
            match (part, contents.get_mut(&id)) {
                (0, _) => drop(contents.insert(id, begin(bytes, &unlimited)?)),
                (_, Some(loading)) => loading.push(bytes).map_err(RecoveryError::Contents)?,
                // Of version 0.1, and the filter was removed while it was being written.
                (_, None) => {}
            }
            return Ok(());
        };
        let spec = coming.spec;
        let state = coming.state();
        match (&mut *state, part) {
            // An image has it already.
            (State::Ready(..), _) => return Ok(()),
            (state, 0) => *state = State::Loading(begin(bytes, &unlimited)?),
            (State::Loading(loading), _) => {
                loading.push(bytes).map_err(RecoveryError::Contents)?;
            }
            (State::New, _) => return Err(RecoveryError::NoFirstPart.into()),
        }
        if let State::Loading(loading) = &*state
            && loading.is_whole()
        {
            *state = State::Ready(decode(loading, &spec, &unlimited)?, 0);
        }
        Ok(())
    }

    fn remove(&self, id: u64) {
        let mut filled = write(&self.filters);
        filled.contents.remove(&id);
        if let Some(Coming { name, .. }) = filled.by_id.remove(&id)
            && let Some(ids) = &mut filled.ids
            && ids.get(&name) == Some(&id)
        {
            ids.remove(&name);
        }
    }

    fn rename(&self, id: u64, name: &[u8]) {
        let mut filled = write(&self.filters);
        filled.ids();
        let Some(coming) = filled.by_id.get_mut(&id) else { return };
        let name: Arc<[u8]> = name.into();
        let old = std::mem::replace(&mut coming.name, name.clone());
        let ids = filled.ids();
        if ids.get(&old) == Some(&id) {
            ids.remove(&old);
        }
        if let Some(replaced) = ids.insert(name, id)
            && replaced != id
        {
            filled.by_id.remove(&replaced);
        }
    }

    fn expire(&self, id: u64, expires_at: u64) {
        if let Some(coming) = write(&self.filters).by_id.get_mut(&id) {
            coming.expires_at = expires_at;
        }
    }

    fn clear(&self) {
        let mut filled = write(&self.filters);
        filled.by_id.clear();
        filled.ids = None;
    }
}

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
            all.append(&mut share.unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        if keyspace.len() < all.len() {
            keyspace.drop_namesakes(&mut all);
        }
        *write(&keyspace.by_id) = all.into_iter().collect();
        Ok(keyspace)
    }

    /// Gives filters that came back their names; returns them for the index.
    fn restore(&self, coming: Vec<(u64, Coming)>) -> Result<Vec<(u64, Named)>, RecoveryError> {
        let mut restored = Vec::with_capacity(coming.len());
        for (id, Coming { name, spec, expires_at, state }) in coming {
            let contents = match state.into_inner().unwrap_or_else(PoisonError::into_inner) {
                State::Ready(contents, _) => contents,
                State::New if matches!(spec.shape, Shape::RedisBloom | Shape::File) => continue,
                State::New => empty(&spec, &self.options, &self.sizes)?,
                State::Loading(_) => continue,
            };
            let charge = self.budget.empty();
            charge.force(contents.num_bytes());
            let filter = self.filter(contents, &spec, charge);
            let overhead = self.force_overhead(&name);
            let entry = Entry::new(id, spec, expires_at, filter, (overhead, self.expiring.clone()));
            let entry = Arc::new(entry);
            self.put(name.clone(), entry.clone());
            restored.push((id, Named { name, entry }));
        }
        Ok(restored)
    }
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
        let entry = super::lock::read(&self.by_id).get(&id).map(|named| named.entry.clone());
        entry.map_or(0, |entry| entry.num_bytes())
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let entry = super::lock::read(&self.by_id).get(&id).map(|named| named.entry.clone());
        let Some(entry) = entry else { return Ok(None) };
        let contents = entry.contents_before(segment).map_err(io::Error::other)?;
        Ok(contents.map(|contents| contents as Box<dyn Snapshot>))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::SecretKey;

    #[test]
    fn filters_that_are_made_and_removed_again_and_again_are_sized_once() {
        let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
        let spec = Spec::growing(10_000, 0.001, 2).encode();
        for id in 1..=1000 {
            recovery.create(id, b"scratch", &spec, 0).unwrap();
            recovery.insert(id, &[Digest::new(id)], Answered::New).unwrap();
            if id < 1000 {
                recovery.remove(id);
            }
        }
        assert_eq!(recovery.sizes.known(), 1);
        let keyspace = Keyspace::restored(recovery, 1001).unwrap();
        let entry = keyspace.get(b"scratch", 1).unwrap();
        assert_eq!((entry.id, keyspace.sizes.known()), (1000, 1));
    }

    fn listed(names: &[&str]) -> Recovery {
        let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
        let spec = Spec::growing(10_000, 0.001, 2).encode();
        let filters: Vec<Saved> = (1..)
            .zip(names)
            .map(|(id, name)| Saved {
                id,
                name: name.as_bytes().into(),
                spec: spec.as_slice().into(),
                expires_at: 0,
            })
            .collect();
        recovery.create_all(&mut filters.iter()).unwrap();
        recovery
    }

    fn ids(recovery: Recovery, names: &[&str]) -> (Vec<Option<u64>>, Vec<u64>) {
        let keyspace = Keyspace::restored(recovery, 0).unwrap();
        let id = |name: &&str| keyspace.get(name.as_bytes(), 1).map(|entry| entry.id);
        (names.iter().map(id).collect(), keyspace.all().iter().map(|(_, it)| it.id).collect())
    }

    #[test]
    fn the_log_changes_names_of_filters_that_the_manifest_lists() {
        let recovery = listed(&["a", "b", "c", "d"]);
        recovery.rename(1, b"b");
        recovery.create(9, b"c", &Spec::growing(10, 0.1, 2).encode(), 0).unwrap();
        recovery.remove(4);
        let names = ["a", "b", "c", "d"];
        assert_eq!(ids(recovery, &names), (vec![None, Some(1), Some(9), None], vec![1, 9]));
    }

    #[test]
    fn of_filters_of_one_name_the_last_one_stays() {
        let found = (vec![Some(3), Some(2)], vec![2, 3]);
        assert_eq!(ids(listed(&["a", "b", "a"]), &["a", "b"]), found);
        let changed = listed(&["a", "b", "a"]);
        changed.rename(9, b"there is none of this id");
        assert_eq!(ids(changed, &["a", "b"]), found);
    }
}
