//! Filters as sets of digests: what a log is to bring back.

use crate::durable::{Filters, Image, Replay, Saved, Snapshot};
use mayhap::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::Mutex;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) name: Vec<u8>,
    pub(super) spec: Vec<u8>,
    pub(super) expires_at: u64,
    pub(super) digests: BTreeSet<u64>,
    /// For what has to be done once: how often each was put in, and how much was done in all.
    pub(super) counts: BTreeMap<u64, u64>,
    pub(super) mark: u64,
    pub(super) done_above_mark: BTreeSet<u64>,
}

/// A keyspace of sets.
#[derive(Debug, Default)]
pub(super) struct Model(pub(super) Mutex<BTreeMap<u64, Set>>);

impl Model {
    pub(super) fn digests(&self) -> BTreeSet<(u64, u64)> {
        let sets = self.0.lock().unwrap();
        let all = sets.iter().flat_map(|(&id, set)| set.digests.iter().map(move |&d| (id, d)));
        all.collect()
    }

    /// After the last record, what is done next comes after all that was done.
    pub(super) fn go_on(&self) {
        for set in self.0.lock().unwrap().values_mut() {
            let last = set.done_above_mark.last().map_or(0, |order| order + 1);
            set.mark = set.mark.max(last);
            set.done_above_mark.clear();
        }
    }

    fn with(&self, id: u64, change: impl FnOnce(&mut Set)) {
        if let Some(set) = self.0.lock().unwrap().get_mut(&id) {
            change(set);
        }
    }
}

impl Replay for Model {
    fn create(&self, id: u64, name: &[u8], spec: &[u8], expires_at: u64) -> Result<(), String> {
        let mut sets = self.0.lock().unwrap();
        if !sets.contains_key(&id) {
            sets.retain(|_, set| set.name != name);
            let (name, spec) = (name.to_vec(), spec.to_vec());
            sets.insert(id, Set { name, spec, expires_at, ..Set::default() });
        }
        Ok(())
    }

    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), String> {
        let mut bytes = Vec::new();
        image.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let numbers: Vec<u64> =
            bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let (&digests, rest) = numbers.split_first().ok_or("an empty image")?;
        let (digests, counts) = rest.split_at_checked(digests as usize).ok_or("a short image")?;
        self.with(id, |set| {
            set.digests.extend(digests);
            set.counts = counts.as_chunks::<2>().0.iter().map(|&[d, n]| (d, n)).collect();
            set.mark = mark;
        });
        Ok(())
    }

    fn insert(&self, id: u64, digests: &[Digest]) -> Result<(), String> {
        self.with(id, |set| set.digests.extend(digests.iter().map(|digest| digest.get())));
        Ok(())
    }

    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), String> {
        for key in keys {
            let digest = u64::from_le_bytes(key.try_into().map_err(|_| "no key of the test")?);
            self.insert(id, &[Digest::new(digest)])?;
        }
        Ok(())
    }

    fn ordered(&self, id: u64, order: u64, what: u64, digests: &[Digest]) -> Result<(), String> {
        self.with(id, |set| {
            for (order, digest) in (order..).zip(digests) {
                // Below the mark: in the image. Twice: a bug of the log.
                if order >= set.mark {
                    assert!(set.done_above_mark.insert(order), "{order} is replayed twice");
                    *set.counts.entry(digest.get()).or_default() += what;
                }
            }
        });
        Ok(())
    }

    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), String> {
        let digests = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        self.with(id, |set| set.digests.extend(digests.map(|digest| digest.wrapping_add(part))));
        Ok(())
    }

    fn remove(&self, id: u64) {
        self.0.lock().unwrap().remove(&id);
    }

    fn rename(&self, id: u64, name: &[u8]) {
        let mut sets = self.0.lock().unwrap();
        if sets.contains_key(&id) {
            sets.retain(|&other, set| other == id || set.name != name);
            if let Some(set) = sets.get_mut(&id) {
                set.name = name.to_vec();
            }
        }
    }

    fn expire(&self, id: u64, expires_at: u64) {
        self.with(id, |set| set.expires_at = expires_at);
    }

    fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl Filters for Model {
    fn list(&self) -> Vec<Saved> {
        let sets = self.0.lock().unwrap();
        let saved = sets.iter().map(|(&id, set)| Saved {
            id,
            name: set.name.as_slice().into(),
            spec: set.spec.as_slice().into(),
            expires_at: set.expires_at,
        });
        saved.collect()
    }

    fn snapshot(&self, id: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let set = self.0.lock().unwrap().get(&id).cloned();
        Ok(set.map(|set| Box::new(set) as Box<dyn Snapshot>))
    }
}

impl Snapshot for Set {
    fn mark(&self) -> u64 {
        self.mark
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&(self.digests.len() as u64).to_le_bytes())?;
        for digest in &self.digests {
            out.write_all(&digest.to_le_bytes())?;
        }
        for (digest, count) in &self.counts {
            out.write_all(&digest.to_le_bytes())?;
            out.write_all(&count.to_le_bytes())?;
        }
        Ok(())
    }
}
