//! Filters that come back at start: from images, then from the log.

use super::contents::{Contents, limits};
use super::filter::{Ordered, digest_function};
use super::insert::REMOVAL;
use super::loading::Loading;
use super::lock::locked;
use super::sizes::Sizes;
use super::{Keyspace, Options, Shape, Spec};
use crate::durable::{Answered, Filters, Image, Replay, Saved, Snapshot, read_native};
use mayhap::{AnyFilter, Bitmap, Digest};
use mayhap_formats::{ForeignFilter, RedisBloomFilter};
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

/// Filters that come back at start; [`Keyspace::restored`] makes a keyspace of them.
///
/// Limits are not in the way: what was there is there again, even if they are lower now.
#[derive(Debug)]
pub struct Recovery {
    options: Options,
    sizes: Sizes,
    filters: Mutex<Filled>,
}

#[derive(Debug, Default)]
struct Filled {
    by_id: HashMap<u64, Coming>,
    ids: HashMap<Box<[u8]>, u64>,
    /// Contents of filters that are not created yet, and perhaps never were.
    contents: HashMap<u64, Loading>,
    new: Bitmap,
    next_id: u64,
}

#[derive(Debug)]
struct Coming {
    name: Box<[u8]>,
    spec: Spec,
    expires_at: u64,
    /// What its image has of what is to be done in order.
    mark: u64,
    state: State,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are the largest in the end")]
enum State {
    /// Nothing was said of its contents yet.
    New,
    /// Parts of a dump, which version 0.1 wrote after the creation.
    Loading(Loading),
    Ready(Contents),
}

impl Recovery {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        Self { options, sizes: Sizes::default(), filters: Mutex::default() }
    }

    /// Calls `f` with the contents of a filter, if it is known; an empty one if nothing was said.
    fn with(
        &self,
        id: u64,
        f: impl FnOnce(&mut Contents, u64, &mut Bitmap) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut filled = locked(&self.filters);
        let Filled { by_id, new, .. } = &mut *filled;
        let Some(coming) = by_id.get_mut(&id) else { return Ok(()) };
        if matches!(coming.state, State::New) {
            coming.state = State::Ready(empty(&coming.spec, &self.options, &self.sizes)?);
        }
        match &mut coming.state {
            State::Ready(contents) => f(contents, coming.mark, new),
            // Nobody saw it, so nobody inserted.
            State::New | State::Loading(_) => Err("keys of a filter that is not whole".to_owned()),
        }
    }
}

/// What was there is there again, even if it is above a limit by now.
fn unlimited(options: &Options) -> Options {
    Options { max_filter_bytes: u64::MAX, ..*options }
}

fn empty(spec: &Spec, options: &Options, sizes: &Sizes) -> Result<Contents, String> {
    let function = digest_function(spec.hash, options);
    sizes.get(spec).and_then(|sized| sized.build(function)).map_err(|error| error.to_string())
}

impl Replay for Recovery {
    fn create(&self, id: u64, name: &[u8], spec: &[u8], expires_at: u64) -> Result<(), String> {
        let spec = Spec::decode(spec).ok_or("a filter of a kind that a later version may know")?;
        let mut filled = locked(&self.filters);
        filled.next_id = filled.next_id.max(id.saturating_add(1));
        if filled.by_id.contains_key(&id) {
            return Ok(());
        }
        let state = match filled.contents.remove(&id) {
            Some(contents) if !contents.is_whole() => {
                return Err("a filter whose contents are not whole".to_owned());
            }
            Some(contents) => State::Ready(contents.decode(&unlimited(&self.options))?.0),
            None => State::New,
        };
        if let Some(replaced) = filled.ids.insert(name.into(), id) {
            filled.by_id.remove(&replaced);
        }
        let coming = Coming { name: name.into(), spec, expires_at, mark: 0, state };
        filled.by_id.insert(id, coming);
        Ok(())
    }

    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), String> {
        let spec = locked(&self.filters).by_id.get(&id).map(|coming| coming.spec);
        let Some(spec) = spec else { return Ok(()) };
        let key = Some(self.options.secret_key);
        // Without the lock: several images are read at once.
        let contents = match spec.shape {
            Shape::Growing { .. } => Contents::Growing(read_native(image, key)?),
            Shape::Fixed { .. } => Contents::Fixed(read_native::<AnyFilter>(image, key)?),
            Shape::Counting { .. } => {
                Contents::Counting(Ordered { filter: read_native(image, key)?, order: mark })
            }
            Shape::Window { .. } => {
                Contents::Window(Ordered { filter: read_native(image, key)?, order: mark })
            }
            Shape::RedisBloom => {
                let mut bytes = Vec::new();
                image.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                let filter = RedisBloomFilter::decode(&bytes, &limits(&unlimited(&self.options)));
                Contents::RedisBloom(filter.map_err(|error| error.to_string())?)
            }
            Shape::File => return Err("an image of a file".to_owned()),
        };
        if let Some(coming) = locked(&self.filters).by_id.get_mut(&id) {
            coming.state = State::Ready(contents);
            coming.mark = mark;
        }
        Ok(())
    }

    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), String> {
        self.with(id, |contents, _, new| match contents {
            Contents::Growing(filter) => {
                let done = match answered {
                    Answered::New => filter.insert_digests_counted(digests),
                    Answered::There => filter.insert_digests_uncounted(digests),
                    Answered::Unknown => filter.insert_digests_into(digests, new),
                };
                done.map_err(|error| error.to_string())
            }
            Contents::Fixed(filter) => {
                let before = filter.inserted_items();
                filter.insert_digests_into(digests, new);
                match answered {
                    Answered::New => filter.set_inserted_items(before + digests.len() as u64),
                    Answered::There => filter.set_inserted_items(before),
                    Answered::Unknown => {}
                }
                Ok(())
            }
            _ => Err("digests for a filter that takes none".to_owned()),
        })
    }

    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), String> {
        self.with(id, |contents, _, _| {
            let Contents::RedisBloom(filter) = contents else {
                return Err("keys for a filter that takes digests".to_owned());
            };
            for key in keys {
                filter.insert(key).map_err(|error| error.to_string())?;
            }
            Ok(())
        })
    }

    fn ordered(&self, id: u64, order: u64, what: u64, digests: &[Digest]) -> Result<(), String> {
        self.with(id, |contents, mark, new| {
            if order < mark {
                return Ok(());
            }
            let next = order + digests.len() as u64;
            match contents {
                Contents::Counting(counting) => {
                    counting.order = counting.order.max(next);
                    if what == REMOVAL {
                        counting.filter.remove_digests_into(digests, new);
                    } else {
                        counting.filter.insert_digests_into(digests, new);
                    }
                }
                Contents::Window(window) => {
                    window.order = window.order.max(next);
                    window.filter.advance(what);
                    window.filter.insert_digests_into(digests, new);
                }
                _ => return Err("an order for a filter that needs none".to_owned()),
            }
            Ok(())
        })
    }

    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), String> {
        let mut filled = locked(&self.filters);
        let unlimited = unlimited(&self.options);
        let Filled { by_id, contents, .. } = &mut *filled;
        let Some(coming) = by_id.get_mut(&id) else {
            match (part, contents.get_mut(&id)) {
                (0, _) => drop(contents.insert(id, Loading::of_bytes(bytes, &unlimited)?)),
                (_, Some(loading)) => loading.push(bytes)?,
                // Of version 0.1, and the filter was removed while it was being written.
                (_, None) => {}
            }
            return Ok(());
        };
        match (&mut coming.state, part) {
            // An image has it already.
            (State::Ready(_), _) => return Ok(()),
            (state, 0) => *state = State::Loading(Loading::of_bytes(bytes, &unlimited)?),
            (State::Loading(loading), _) => loading.push(bytes)?,
            (State::New, _) => return Err("a dump without its first part".to_owned()),
        }
        if let State::Loading(loading) = &coming.state
            && loading.is_whole()
        {
            coming.state = State::Ready(loading.decode(&unlimited)?.0);
        }
        Ok(())
    }

    fn remove(&self, id: u64) {
        let mut filled = locked(&self.filters);
        filled.contents.remove(&id);
        if let Some(Coming { name, .. }) = filled.by_id.remove(&id)
            && filled.ids.get(&name) == Some(&id)
        {
            filled.ids.remove(&name);
        }
    }

    fn rename(&self, id: u64, name: &[u8]) {
        let mut filled = locked(&self.filters);
        let Some(coming) = filled.by_id.get_mut(&id) else { return };
        let old = std::mem::replace(&mut coming.name, name.into());
        if filled.ids.get(&old) == Some(&id) {
            filled.ids.remove(&old);
        }
        if let Some(replaced) = filled.ids.insert(name.into(), id)
            && replaced != id
        {
            filled.by_id.remove(&replaced);
        }
    }

    fn expire(&self, id: u64, expires_at: u64) {
        if let Some(coming) = locked(&self.filters).by_id.get_mut(&id) {
            coming.expires_at = expires_at;
        }
    }

    fn clear(&self) {
        let mut filled = locked(&self.filters);
        filled.by_id.clear();
        filled.ids.clear();
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
    /// What is wrong with a filter, as a sentence: too little memory.
    pub fn restored(recovery: Recovery, next_id: u64) -> Result<Self, String> {
        let Recovery { options, sizes, filters } = recovery;
        let mut keyspace = Self::new(options);
        keyspace.sizes = sizes;
        let filled = filters.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        *locked(&keyspace.changing) = next_id.max(filled.next_id).max(1);
        for (id, Coming { name, spec, expires_at, state, .. }) in filled.by_id {
            let contents = match state {
                State::Ready(contents) => contents,
                State::New if matches!(spec.shape, Shape::RedisBloom | Shape::File) => continue,
                State::New => empty(&spec, &options, &keyspace.sizes)?,
                State::Loading(_) => continue,
            };
            let charge = keyspace.budget.charge(0).map_err(|error| error.to_string())?;
            charge.force(contents.num_bytes());
            let filter = contents.into_filter(&spec, &options, charge);
            let entry = keyspace.entry(id, spec, expires_at, filter);
            let (name, entry): (Arc<[u8]>, _) = (name.into(), Arc::new(entry));
            keyspace.add_to_index(&name, &entry);
            keyspace.put(name, entry);
        }
        Ok(keyspace)
    }
}

impl Filters for Keyspace {
    fn list(&self) -> Vec<Saved> {
        let all = self.all().into_iter().filter(|(_, entry)| !entry.is_read_only());
        all.map(|(name, entry)| Saved {
            id: entry.id,
            name: name.as_ref().into(),
            spec: entry.spec.encode().as_slice().into(),
            expires_at: entry.expires_at(),
        })
        .collect()
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let entry = super::lock::read(&self.by_id).get(&id).map(|named| named.entry.clone());
        let Some(entry) = entry else { return Ok(None) };
        let Some(mut contents) = entry.contents().map_err(io::Error::other)? else {
            return Ok(None);
        };
        contents.limit_items(entry.tally.before(segment));
        Ok(Some(Box::new(contents)))
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
}
