//! The filters that exist after a log, without their contents.

use super::manifest::Manifest;
use super::{Replay, ReplayError};
use crate::sync::unpoisoned;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Replays only names.
#[derive(Default)]
pub(super) struct Census(Mutex<Names>);

#[derive(Default)]
struct Names {
    of: HashMap<u64, Arc<[u8]>>,
    ids: HashMap<Arc<[u8]>, u64>,
}

impl Names {
    /// The filter has this name from now on; a previous filter of that name is gone.
    fn set(&mut self, id: u64, name: Arc<[u8]>) {
        self.remove(id);
        if let Some(other) = self.ids.insert(name.clone(), id) {
            self.of.remove(&other);
        }
        self.of.insert(id, name);
    }

    fn remove(&mut self, id: u64) -> bool {
        let name = self.of.remove(&id);
        name.is_some_and(|name| self.ids.remove(&name).is_some())
    }
}

impl Census {
    /// The filters of a manifest whose lists were read.
    pub(super) fn of(manifest: &Manifest) -> Self {
        let mut names = Names::default();
        for (saved, _) in &manifest.filters {
            names.set(saved.id, saved.name.clone());
        }
        Self(names.into())
    }

    /// How many filters there are.
    pub(super) fn filters(&self) -> u64 {
        self.names().of.len() as u64
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        unpoisoned(self.0.lock())
    }
}

impl Replay for Census {
    fn create(&self, id: u64, name: &[u8], _: &[u8], _: u64) -> Result<(), ReplayError> {
        let mut names = self.names();
        if !names.of.contains_key(&id) {
            names.set(id, name.into());
        }
        Ok(())
    }

    fn remove(&self, id: u64) {
        self.names().remove(id);
    }

    fn rename(&self, id: u64, name: &[u8]) {
        let mut names = self.names();
        if names.of.contains_key(&id) {
            names.set(id, name.into());
        }
    }

    fn clear(&self) {
        *self.names() = Names::default();
    }
}
