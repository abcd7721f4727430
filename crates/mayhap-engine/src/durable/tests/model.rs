//! Filters as sets of digests, which a log has to restore.

use crate::durable::{
    Answered, Error, Filters, Image, Piece, ReadBack, Replay, ReplayError, Saved, Snapshot, Tally,
};
use mayhap::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) name: Vec<u8>,
    pub(super) spec: Vec<u8>,
    pub(super) expires_at: u64,
    pub(super) digests: BTreeSet<u64>,
    /// Keys counted by the log, and keys counted by the filter itself: from records of keys.
    pub(super) tallied: u64,
    pub(super) keys: u64,
    /// For changes applied exactly once: how often each was inserted, and the number of all
    /// changes.
    pub(super) counts: BTreeMap<u64, u64>,
    pub(super) mark: u64,
    /// How many pieces came, each with a digest.
    pub(super) pieces: u64,
    pub(super) done_above_mark: BTreeSet<u64>,
}

impl Set {
    /// All keys that it counts.
    pub(super) fn items(&self) -> u64 {
        self.tallied + self.keys
    }
}

/// A keyspace of sets: the sets, contents of future ones, and the log's counts for each.
#[derive(Debug, Default)]
pub(super) struct Model(
    pub(super) Mutex<BTreeMap<u64, Set>>,
    Mutex<BTreeMap<u64, BTreeSet<u64>>>,
    Mutex<BTreeMap<u64, Arc<Tally>>>,
);

impl Model {
    /// The log's counts for a set. Has to be called before anything is inserted into it.
    pub(super) fn tally(&self, id: u64) -> Arc<Tally> {
        let tallied = self.0.lock().unwrap().get(&id).map_or(0, |set| set.tallied);
        let mut tallies = self.2.lock().unwrap();
        tallies.entry(id).or_insert_with(|| Arc::new(Tally::new(tallied))).clone()
    }

    /// Insertions into all sets that are not safe.
    pub(super) fn at_risk(&self) -> u64 {
        let tallies = self.2.lock().unwrap();
        tallies.values().map(|tally| tally.at_risk()).sum()
    }

    /// The bits of a set as a checkpoint copies them.
    pub(super) fn copy(&self, id: u64) -> Option<Set> {
        self.0.lock().unwrap().get(&id).cloned()
    }

    /// How many keys such a copy counts, read after its bits.
    pub(super) fn count(&self, id: u64, segment: u64, copy: Set) -> Box<dyn Snapshot> {
        let now = self.0.lock().unwrap().get(&id).map_or(0, |set| set.tallied);
        Box::new(Set { tallied: now.min(self.tally(id).before(segment)), ..copy })
    }

    pub(super) fn digests(&self) -> BTreeSet<(u64, u64)> {
        let sets = self.0.lock().unwrap();
        let all = sets.iter().flat_map(|(&id, set)| set.digests.iter().map(move |&d| (id, d)));
        all.collect()
    }

    /// After the last record: the next change comes after all earlier ones.
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

fn wrong(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ReplayError {
    ReplayError::Filters(why.into())
}

impl Replay for Model {
    fn create(
        &self,
        id: u64,
        name: &[u8],
        spec: &[u8],
        expires_at: u64,
    ) -> Result<(), ReplayError> {
        let mut sets = self.0.lock().unwrap();
        if !sets.contains_key(&id) {
            sets.retain(|_, set| set.name != name);
            let (name, spec) = (name.to_vec(), spec.to_vec());
            let digests = self.1.lock().unwrap().remove(&id).unwrap_or_default();
            let tallied = digests.len() as u64;
            sets.insert(id, Set { name, spec, expires_at, digests, tallied, ..Set::default() });
        }
        Ok(())
    }

    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), ReplayError> {
        let mut bytes = Vec::new();
        image.read_to_end(&mut bytes).map_err(wrong)?;
        let numbers: Vec<u64> =
            bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let (&[tallied, keys, pieces, digests], rest) =
            numbers.split_first_chunk().ok_or_else(|| wrong("no image"))?;
        let (digests, counts) =
            rest.split_at_checked(digests as usize).ok_or_else(|| wrong("a short image"))?;
        self.with(id, |set| {
            set.digests.extend(digests);
            (set.tallied, set.keys, set.pieces) = (tallied, keys, pieces);
            set.counts = counts.as_chunks::<2>().0.iter().map(|&[d, n]| (d, n)).collect();
            set.mark = mark;
        });
        Ok(())
    }

    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), ReplayError> {
        self.with(id, |set| {
            for digest in digests {
                let new = set.digests.insert(digest.get());
                set.tallied += u64::from(match answered {
                    Answered::New => true,
                    Answered::There => false,
                    Answered::Unknown => new,
                });
            }
        });
        Ok(())
    }

    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        for key in keys {
            let digest =
                u64::from_le_bytes(key.try_into().map_err(|_| wrong("no key of the test"))?);
            self.with(id, |set| set.keys += u64::from(set.digests.insert(digest)));
        }
        Ok(())
    }

    fn ordered(
        &self,
        id: u64,
        order: u64,
        what: u64,
        digests: &[Digest],
    ) -> Result<(), ReplayError> {
        let mut done = Ok(());
        self.with(id, |set| {
            for (order, digest) in (order..).zip(digests) {
                // Below the mark: in the image. Twice: a bug of the log.
                if order >= set.mark {
                    if !set.done_above_mark.insert(order) {
                        done = Err(wrong(format!("{order} is replayed twice")));
                    }
                    *set.counts.entry(digest.get()).or_default() += what;
                }
            }
        });
        done
    }

    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), ReplayError> {
        let mut contents = self.1.lock().unwrap();
        let contents = contents.entry(id).or_default();
        if part != contents.len() as u64 {
            return Err(wrong(format!("part {part} after {}", contents.len())));
        }
        let digests = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        contents.extend(digests);
        Ok(())
    }

    /// The pieces of a filter are numbered: an image may have some of those that follow in the log,
    /// but none is missing before one that is there.
    fn unite(&self, id: u64, piece: Piece<'_>) -> Result<(), ReplayError> {
        let digest = piece.bits.try_into().map_err(|_| wrong("no piece of the test"))?;
        let mut done = Ok(());
        self.with(id, |set| {
            if piece.offset > set.pieces {
                done = Err(wrong(format!("piece {} after {}", piece.offset, set.pieces)));
            }
            set.pieces = set.pieces.max(piece.offset + 1);
            set.digests.insert(u64::from_le_bytes(digest));
            set.tallied += piece.items;
        });
        done
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
    fn ids(&self) -> Vec<u64> {
        self.0.lock().unwrap().keys().copied().collect()
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        let sets = self.0.lock().unwrap();
        let Set { name, spec, expires_at, .. } = sets.get(&id)?;
        let (name, spec) = (name.as_slice().into(), spec.as_slice().into());
        Some(Saved { id, name, spec, expires_at: *expires_at })
    }

    fn image_bytes(&self, id: u64) -> u64 {
        let mut bytes = Vec::new();
        self.copy(id).map_or(0, |copy| copy.write(&mut bytes).map_or(0, |()| bytes.len() as u64))
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        Ok(self.copy(id).map(|copy| self.count(id, segment, copy)))
    }

    fn put_back(&self, ids: &[u64], read: &ReadBack<'_>) -> Result<(), Error> {
        let found = Self::default();
        read(ids.iter().filter_map(|&id| self.saved(id)).collect(), &found)?;
        found.go_on();
        let (mut sets, mut found) = (self.0.lock().unwrap(), found.0.lock().unwrap());
        for &id in ids {
            let Some(now) = sets.remove(&id) else { continue };
            self.2.lock().unwrap().remove(&id);
            if let Some(set) = found.remove(&id) {
                let (name, spec, expires_at) = (now.name, now.spec, now.expires_at);
                sets.insert(id, Set { name, spec, expires_at, ..set });
            }
        }
        Ok(())
    }
}

impl Snapshot for Set {
    fn mark(&self) -> u64 {
        self.mark
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for number in [self.tallied, self.keys, self.pieces, self.digests.len() as u64] {
            out.write_all(&number.to_le_bytes())?;
        }
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
