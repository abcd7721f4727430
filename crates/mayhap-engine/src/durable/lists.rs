//! The lists of a folder: which of them stay, how a new one is written, what they contain together.
//!
//! A checkpoint writes a list of the changes since the one before it, so that it writes as much as
//! has changed and not as much as exists. Each list absorbs those before it that are at most twice
//! as long as its contents so far: so each is more than twice as long as the next one, they are
//! few, and a record is written again once for each time that its list grows by half. Once all
//! changes together are more than a quarter of the first list, a new one has all filters.

use super::disk::write_all_at;
use super::image::ImageOf;
use super::list::{self, BadList, Record, Records};
use super::store::list_path;
use super::{Error, Saved, Store};
use crate::fail_point::fail_point;
use std::collections::{BTreeMap, HashSet};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes written at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Changes are at most this fraction of the filters of the first list.
const PART: u64 = 4;
/// Up to this many changes do not cause a new list of all filters. Tests have few filters.
const FEW_CHANGES: u64 = if cfg!(test) { 6 } else { 1024 };
/// Bounds the lists of changes that absorbed none before them, as they became longer than expected.
const MOST_LISTS: usize = 32;

/// A list, as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ListOf {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) checksum: u64,
    pub(super) records: u64,
    /// The filters that it has records of, in order; empty for the first list, which has all.
    pub(super) touched: Vec<(u64, Touch)>,
}

impl ListOf {
    pub(super) fn path(&self) -> String {
        list_path(self.number)
    }
}

/// Which part of a filter a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Touch {
    /// Only its image.
    Image,
    /// All of it, or its removal.
    All,
}

/// How many of the lists stay when `changed` filters have changed; 0 if all filters have to be
/// listed.
pub(super) fn staying(lists: &[ListOf], changed: u64) -> usize {
    let Some((first, _)) = lists.split_first() else { return 0 };
    let (mut stay, mut taken) = (lists.len(), changed);
    while stay > 1 && (lists[stay - 1].records <= 2 * taken || stay > MOST_LISTS) {
        taken += lists[stay - 1].records;
        stay -= 1;
    }
    let changes = lists[1..stay].iter().map(|list| list.records).sum::<u64>() + taken;
    if changes > FEW_CHANGES.max(first.records / PART) { 0 } else { stay }
}

/// The contents of lists that a new one absorbs.
pub(super) fn taken_in(lists: &[ListOf]) -> BTreeMap<u64, Touch> {
    let mut all = BTreeMap::new();
    for &(id, touch) in lists.iter().flat_map(|list| &list.touched) {
        let known = all.entry(id).or_insert(touch);
        *known = touch.max(*known);
    }
    all
}

/// Writes a list and syncs it; none if there are no records. It survives a crash once the folder
/// is synced.
pub(super) fn write<'a>(
    store: &Store,
    number: u64,
    records: impl Iterator<Item = Record<&'a Saved>>,
) -> Result<Option<ListOf>, Error> {
    let mut records = records.peekable();
    if records.peek().is_none() {
        return Ok(None);
    }
    let path = &list_path(number);
    let file = store.disk.create(path).map_err(store.error("create", path))?;
    fail_point("list.created");
    let mut of = ListOf { number, ..ListOf::default() };
    let (mut buffer, mut checksum) = (list::header().to_vec(), Xxh3::new());
    let mut flush = |of: &mut ListOf, buffer: &mut Vec<u8>| {
        checksum.update(buffer);
        write_all_at(&*file, buffer, of.bytes).map_err(store.error("write", path))?;
        of.bytes += buffer.len() as u64;
        buffer.clear();
        Ok(())
    };
    for record in records {
        list::encode(&record, &mut buffer);
        of.records += 1;
        if buffer.len() >= CHUNK_BYTES {
            flush(&mut of, &mut buffer)?;
        }
    }
    flush(&mut of, &mut buffer)?;
    of.checksum = checksum.digest();
    fail_point("list.written");
    store.sync(&*file, path)?;
    fail_point("list.synced");
    Ok(Some(of))
}

/// All filters that the lists name, by id, in order. Each list records which part of which filter
/// it has.
///
/// # Errors
///
/// [`Error::Missing`], [`Error::Damaged`], [`Error::Newer`], [`Error::Io`].
pub(super) fn read(store: &Store, lists: &mut [ListOf]) -> Result<Vec<(Saved, ImageOf)>, Error> {
    let mut all = Listed::default();
    for (place, of) in lists.iter_mut().enumerate() {
        let path = &of.path();
        let bytes = whole(store, of)?;
        let damaged = |offset, bad: BadList| match bad {
            BadList::Newer { found } => {
                Error::Newer { path: store.path(path), found, supported: list::VERSION }
            }
            bad => store.damaged(path, offset, bad.to_string()),
        };
        let mut records = Records::new(&bytes).map_err(|bad| damaged(0, bad))?;
        if place == 0 {
            // Reserved at once, as a million of them take hundreds of MiB; no more than the bytes
            // allow.
            let most = bytes.len() / list::FILTER_BYTES;
            all.filters.reserve(usize::try_from(of.records).unwrap_or(most).min(most));
        }
        of.touched.clear();
        let mut found = 0;
        loop {
            let offset = records.offset();
            let record = match records.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(bad) => return Err(damaged(offset, bad)),
            };
            found += 1;
            if place > 0 {
                let is_image = matches!(record, Record::Image(..));
                of.touched.push((record.id(), if is_image { Touch::Image } else { Touch::All }));
            }
            all.add(record).map_err(|bad| damaged(offset, bad))?;
        }
        if found != of.records {
            let bad = BadList::Count { found, expected: of.records };
            return Err(damaged(records.offset(), bad));
        }
    }
    Ok(all.finish())
}

/// The bytes of a list, verified by its checksum.
fn whole(store: &Store, of: &ListOf) -> Result<Vec<u8>, Error> {
    let path = &of.path();
    let bytes = store.read_file(&*store.open_whole(path, of.bytes)?, path)?;
    if bytes.len() as u64 != of.bytes || xxh3_64(&bytes) != of.checksum {
        return Err(store.damaged(path, 0, "the checksum of the whole file does not match"));
    }
    Ok(bytes)
}

/// The contents of the lists so far.
#[derive(Default)]
struct Listed {
    /// In order; filters in `gone` no longer exist.
    filters: Vec<(Saved, ImageOf)>,
    /// The few that follow filters of higher ids.
    late: BTreeMap<u64, (Saved, ImageOf)>,
    gone: HashSet<u64>,
}

impl Listed {
    fn add(&mut self, record: Record<Saved>) -> Result<(), BadList> {
        match record {
            Record::Filter(saved, of) => {
                let id = saved.id;
                self.gone.remove(&id);
                if let Some(entry) = self.entry(id) {
                    *entry = (saved, of);
                } else if self.filters.last().is_none_or(|(last, _)| last.id < id) {
                    self.filters.push((saved, of));
                } else {
                    self.late.insert(id, (saved, of));
                }
            }
            Record::Image(id, of) => {
                let is_gone = self.gone.contains(&id);
                let entry = self.entry(id).filter(|_| !is_gone);
                entry.ok_or(BadList::Unknown { id })?.1 = of;
            }
            // The filter may be in a list that was absorbed, and so in no list any more.
            Record::Gone(id) => {
                self.gone.insert(id);
            }
        }
        Ok(())
    }

    fn entry(&mut self, id: u64) -> Option<&mut (Saved, ImageOf)> {
        match self.filters.binary_search_by_key(&id, |(saved, _)| saved.id) {
            Ok(place) => self.filters.get_mut(place),
            Err(_) => self.late.get_mut(&id),
        }
    }

    fn finish(self) -> Vec<(Saved, ImageOf)> {
        let Self { mut filters, late, gone } = self;
        if !late.is_empty() {
            filters.extend(late.into_values());
            filters.sort_by_key(|(saved, _)| saved.id);
        }
        if !gone.is_empty() {
            filters.retain(|(saved, _)| !gone.contains(&saved.id));
        }
        filters
    }
}
