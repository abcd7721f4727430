//! Restoring filters at start: from images, then from the log.

use super::fold_size::Size;
use super::in_order::InOrder;
use super::kind::{Contents, read_image};
use super::loading::Loading;
use super::resources::Resources;
use super::{Options, RecoveryError, Spec};
use crate::durable::{Answered, Image, Piece, Replay, ReplayError, Saved};
use crate::sync::unpoisoned;
use mayhap::{Bitmap, Digest};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, RwLock};

/// Filters restored at start; [`Recovery::finish`] builds a keyspace from them.
///
/// Limits do not apply: existing filters are restored, even if the limits are lower now.
#[derive(Debug)]
pub struct Recovery {
    pub(super) resources: Resources,
    /// Only read while images are.
    pub(super) filters: RwLock<Filled>,
}

#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) by_id: BTreeMap<u64, Coming>,
    /// Ids by name; `None` until the log changes names, which it may not.
    pub(super) ids: Option<HashMap<Arc<[u8]>, u64>>,
    /// Contents of filters that are not created yet, and perhaps never were.
    contents: HashMap<u64, Loading>,
    new: Bitmap,
    pub(super) next_id: u64,
}

impl Filled {
    /// Ids by name. If several have one name, which no list of ours allows, the last one.
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
pub(super) struct Coming {
    pub(super) name: Arc<[u8]>,
    pub(super) spec: Spec,
    pub(super) expires_at: u64,
    /// With a lock of its own, as images are read by several threads.
    pub(super) state: Mutex<Stage>,
}

impl Coming {
    fn state(&mut self) -> &mut Stage {
        unpoisoned(self.state.get_mut())
    }
}

#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing is known of its contents yet.
    New,
    /// Parts of a dump, which version 0.1 wrote after the creation.
    Loading(Loading),
    /// With its position in its own order.
    Ready(Box<dyn Contents>, InOrder),
    /// It could not be recovered, for this reason: it keeps its name, and answers nothing.
    Failed(RecoveryError),
}

impl Stage {
    const fn ready(contents: Box<dyn Contents>) -> Self {
        Self::Ready(contents, InOrder::after(0))
    }
}

impl Recovery {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        Self { resources: Resources::new(options), filters: RwLock::default() }
    }

    /// Calls `f` with the contents of a filter, if it is known; an empty one if it has none so far.
    /// A filter that refuses its records in the log must not keep all others from clients.
    fn with(
        &self,
        id: u64,
        f: impl FnOnce(&mut dyn Contents, &mut InOrder, &mut Bitmap) -> Result<(), RecoveryError>,
    ) {
        let mut filled = unpoisoned(self.filters.write());
        let Filled { by_id, new, .. } = &mut *filled;
        let Some(coming) = by_id.get_mut(&id) else { return };
        let spec = coming.spec;
        let state = coming.state();
        if matches!(state, Stage::New) {
            *state = match self.resources.empty(&spec) {
                Ok(contents) => Stage::ready(contents),
                Err(error) => Stage::Failed(error.into()),
            };
        }
        let done = match state {
            Stage::Ready(contents, in_order) => f(&mut **contents, in_order, new),
            Stage::Failed(_) => Ok(()),
            // It was never visible, so no client inserted into it.
            Stage::New | Stage::Loading(_) => Err(RecoveryError::KeysTooEarly),
        };
        if let Err(error) = done {
            *state = Stage::Failed(error);
        }
    }
}

/// The filter of a complete dump.
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
        let mut filled = unpoisoned(self.filters.write());
        let coming = |saved: &Saved| {
            let spec = Spec::decode(&saved.spec).ok_or(RecoveryError::UnknownKind)?;
            let (name, expires_at) = (saved.name.clone(), saved.expires_at);
            let coming = Coming { name, spec, expires_at, state: Stage::New.into() };
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
        let mut filled = unpoisoned(self.filters.write());
        filled.next_id = filled.next_id.max(id.saturating_add(1));
        if filled.by_id.contains_key(&id) {
            return Ok(());
        }
        let state = match filled.contents.remove(&id) {
            Some(contents) if contents.is_empty() => {
                let empty = contents.decode_empty(&self.resources.options.unlimited());
                Stage::ready(empty.map_err(RecoveryError::Contents)?.0)
            }
            Some(contents) if !contents.is_whole() => {
                return Err(RecoveryError::NotWhole.into());
            }
            Some(contents) => Stage::ready(decode(&contents, &spec, &self.resources.options)?),
            None => Stage::New,
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
        let filled = unpoisoned(self.filters.read());
        let Some(coming) = filled.by_id.get(&id) else { return Ok(()) };
        *unpoisoned(coming.state.lock()) =
            match read_image(&coming.spec, mark, image, &self.resources.options.unlimited()) {
                Ok(contents) => Stage::Ready(contents, InOrder::after(mark)),
                Err(error) => Stage::Failed(error),
            };
        Ok(())
    }

    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), ReplayError> {
        self.with(id, |contents, _, scratch| contents.replay(digests, answered, scratch));
        Ok(())
    }

    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        self.with(id, |contents, _, _| contents.replay_keys(keys));
        Ok(())
    }

    fn ordered(
        &self,
        id: u64,
        order: u64,
        what: u64,
        digests: &[Digest],
    ) -> Result<(), ReplayError> {
        self.with(id, |contents, in_order, scratch| {
            in_order.take(contents, (order, what), digests, scratch)
        });
        Ok(())
    }

    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), ReplayError> {
        let mut filled = unpoisoned(self.filters.write());
        let unlimited = self.resources.options.unlimited();
        let Filled { by_id, contents, .. } = &mut *filled;
        let Some(coming) = by_id.get_mut(&id) else {
            match (part, contents.get_mut(&id)) {
                (0, _) => drop(contents.insert(id, begin(bytes, &unlimited)?)),
                (_, Some(loading)) => loading.push(bytes).map_err(RecoveryError::Contents)?,
                // From version 0.1, and the filter was removed while it was being written.
                (_, None) => {}
            }
            return Ok(());
        };
        let spec = coming.spec;
        let state = coming.state();
        match (&mut *state, part) {
            // An image has it already.
            (Stage::Ready(..) | Stage::Failed(_), _) => return Ok(()),
            (state, 0) => *state = Stage::Loading(begin(bytes, &unlimited)?),
            (Stage::Loading(loading), _) => {
                loading.push(bytes).map_err(RecoveryError::Contents)?;
            }
            (Stage::New, _) => return Err(RecoveryError::NoFirstPart.into()),
        }
        if let Stage::Loading(loading) = &*state
            && loading.is_whole()
        {
            *state = Stage::ready(decode(loading, &spec, &unlimited)?);
        }
        Ok(())
    }

    fn fold(&self, id: u64, to: &[u8]) -> Result<(), ReplayError> {
        let to = Size::decode(to).ok_or(RecoveryError::NoSize)?;
        self.with(id, |contents, _, _| contents.fold(&to));
        Ok(())
    }

    fn unite(&self, id: u64, piece: Piece<'_>) -> Result<(), ReplayError> {
        self.with(id, |contents, _, _| contents.unite(piece));
        Ok(())
    }

    fn remove(&self, id: u64) {
        let mut filled = unpoisoned(self.filters.write());
        filled.contents.remove(&id);
        if let Some(Coming { name, .. }) = filled.by_id.remove(&id)
            && let Some(ids) = &mut filled.ids
            && ids.get(&name) == Some(&id)
        {
            ids.remove(&name);
        }
    }

    fn rename(&self, id: u64, name: &[u8]) {
        let mut filled = unpoisoned(self.filters.write());
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
        if let Some(coming) = unpoisoned(self.filters.write()).by_id.get_mut(&id) {
            coming.expires_at = expires_at;
        }
    }

    fn clear(&self) {
        let mut filled = unpoisoned(self.filters.write());
        filled.by_id.clear();
        filled.ids = None;
    }
}
