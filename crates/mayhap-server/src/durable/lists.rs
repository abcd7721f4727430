//! The lists of a folder: which of them stay, how another one is written, what all of them say.
//!
//! A checkpoint writes a list of what changed since the one before it, so that it writes as much as
//! changed and not as much as there is. Each list takes in those before it that are at most twice
//! as long as what it has so far: so each is more than twice as long as the next one, they are few,
//! and a record is written again once for each time that its list grows by half. Once all changes
//! together are more than a quarter of the first list, a new one has all filters.

use super::disk::{DiskFile, write_all_at};
use super::list::{self, BadList, Found, Record, Records};
use super::manifest::ImageOf;
use super::store::list_path;
use super::{Error, Saved, Store};
use crate::fail_point::fail_point;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are written together.
const CHUNK_BYTES: usize = 1 << 20;
/// Changes are at most this part of the filters of the first list.
const PART: u64 = 4;
/// So many changes are no reason to list all filters anew. Tests have few filters.
const FEW_CHANGES: u64 = if cfg!(test) { 6 } else { 1024 };
/// Lists of changes that took in none before them, since they were longer than expected, are few.
const MOST_LISTS: usize = 32;

/// A list, as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ListOf {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) checksum: u64,
    pub(super) records: u64,
    /// The filters that it has records of, in order; of the first list, which has all, none.
    pub(super) touched: Vec<(u64, Touch)>,
}

impl ListOf {
    pub(super) fn path(&self) -> String {
        list_path(self.number)
    }
}

/// What of a filter a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Touch {
    /// Its image alone.
    Image,
    /// All of it, or that it is gone.
    All,
}

/// How many of the lists stay when so many filters have changed; with none, all filters are to be
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

/// What the lists say that a new one takes in.
pub(super) fn taken_in(lists: &[ListOf]) -> BTreeMap<u64, Touch> {
    let mut all = BTreeMap::new();
    for &(id, touch) in lists.iter().flat_map(|list| &list.touched) {
        let known = all.entry(id).or_insert(touch);
        *known = touch.max(*known);
    }
    all
}

/// Writes a list and puts it onto the disk; none if there are no records. No crash takes it once
/// the folder is synced.
pub(super) fn write<'a>(
    store: &Store,
    number: u64,
    records: impl Iterator<Item = Record<'a>>,
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

/// All filters that the lists name, by their ids, in order. What each list has of which filter is
/// noted in it.
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
            bad => Error::Damaged { path: store.path(path), offset, what: bad.to_string() },
        };
        let mut records = Records::new(&bytes).map_err(|bad| damaged(0, bad))?;
        if place == 0 {
            // At once, for a million of them are hundreds of MiB; no more than there are bytes for.
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
                let is_image = matches!(record, Found::Image(..));
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

/// The bytes of a list, which are those that were written.
fn whole(store: &Store, of: &ListOf) -> Result<Vec<u8>, Error> {
    let path = &of.path();
    let damaged = |offset, what| Error::Damaged { path: store.path(path), offset, what };
    let file: Arc<dyn DiskFile> = store.open_image(path)?;
    let there = file.bytes().map_err(store.error("look at", path))?;
    if there != of.bytes {
        let what = format!("the file has {there} bytes instead of {}", of.bytes);
        return Err(damaged(there.min(of.bytes), what));
    }
    let bytes = store.read_file(&*file, path)?;
    if bytes.len() as u64 != of.bytes || xxh3_64(&bytes) != of.checksum {
        return Err(damaged(0, "the checksum of the whole file does not match".to_owned()));
    }
    Ok(bytes)
}

/// What lists say so far.
#[derive(Default)]
struct Listed {
    /// In order; those of `gone` are no more.
    filters: Vec<(Saved, ImageOf)>,
    /// Those that came after filters of higher ids: few.
    late: BTreeMap<u64, (Saved, ImageOf)>,
    gone: HashSet<u64>,
}

impl Listed {
    fn add(&mut self, record: Found) -> Result<(), BadList> {
        match record {
            Found::Filter(saved, of) => {
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
            Found::Image(id, of) => {
                let is_gone = self.gone.contains(&id);
                let entry = self.entry(id).filter(|_| !is_gone);
                entry.ok_or(BadList::Unknown { id })?.1 = of;
            }
            // Perhaps of a list that one took in, and then of no list any more.
            Found::Gone(id) => {
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
