//! Regular maintenance of a keyspace, and the threads that do it.

use super::growth::Growing;
use super::index::Named;
use super::kind::News;
use super::{Entry, Files, Keyspace, Shape};
use crate::durable::Log;
use crate::periodic::Periodic;
use mayhap::ClockJumps;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Pause between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_millis(200);
/// Filters that one sweep visits.
const SWEPT: usize = 1000;
/// Pause between two sweeps while they find expired filters, so that others get the lock on names.
const BREATH: Duration = Duration::from_millis(1);
/// Sweeps without a pause, before the thread checks whether it has to end.
const MAX_RUN: usize = 100;
/// A filter that stays over its capacity is reported this often.
const OVER_PAUSE_MS: u64 = 3_600_000;
/// Pause between two checks of files.
const FILES_PAUSE: Duration = Duration::from_millis(500);

/// The threads that maintain a keyspace; they end when this is dropped.
#[derive(Debug)]
pub struct Upkeep {
    _growing: Growing,
    _files: Periodic,
    _sweeping: Periodic,
}

impl Upkeep {
    /// Starts all threads that maintain the keyspace: one that allocates layers ahead of need, one
    /// that detects changed files, one that sweeps expired filters and reports cleared ones.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start(keyspace: &Arc<Keyspace>, log: Option<Arc<Log>>) -> io::Result<Self> {
        let growing = Self::start_growing(keyspace)?;
        let ours = keyspace.clone();
        let files = Periodic::start("files", FILES_PAUSE, move || Files::refresh(&ours))?;
        let (ours, mut cursor) = (keyspace.clone(), 0);
        let sweeping = Periodic::start("sweep", SWEEP_PAUSE, move || {
            cursor = Self::sweep_expired(&ours, cursor, log.as_deref());
        })?;
        Ok(Self { _growing: growing, _files: files, _sweeping: sweeping })
    }

    /// Starts the thread that allocates layers of growing filters ahead of need.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start_growing(keyspace: &Arc<Keyspace>) -> io::Result<Growing> {
        let keyspace = keyspace.clone();
        Growing::start(keyspace.resources.growth.clone(), move |id| {
            let Some(Named { entry, .. }) = keyspace.names.by_id(id) else { return };
            let Some(chain) = entry.filter().chain() else { return };
            // A filter that was removed meanwhile has no other owner: its memory should be freed.
            chain.grow_ahead(|| keyspace.resources.growth.runs() && Arc::strong_count(&entry) > 1);
        })
    }

    /// Sweeps once, and again for as long as it finds expired filters: many may expire at one
    /// moment. Returns where to continue.
    pub(super) fn sweep_expired(keyspace: &Keyspace, mut cursor: u64, log: Option<&Log>) -> u64 {
        for _ in 0..MAX_RUN {
            let before = keyspace.expired();
            cursor = Self::sweep(keyspace, cursor, SWEPT, crate::clock::unix_ms(), log);
            if keyspace.expired() == before {
                break;
            }
            thread::sleep(BREATH);
        }
        cursor
    }

    /// Removes expired filters and idle dumps, sizes the next layer of filters that are about to
    /// grow, and reports the filters that cleared themselves, found the clock set back or are over
    /// their capacity, among up to `count` filters from `cursor` on; returns where to continue, 0
    /// at the end. An expired filter whose removal the log refuses stays in memory, but is not
    /// visible.
    pub fn sweep(
        keyspace: &Keyspace,
        cursor: u64,
        count: usize,
        now: u64,
        log: Option<&Log>,
    ) -> u64 {
        let swept = &keyspace.swept;
        if cursor == 0 {
            swept.over_so_far.replace(0);
        }
        let (part, next) = keyspace.names.index().part(cursor, count);
        let entries: Vec<_> = part.iter().map(|named| named.entry.clone()).collect();
        keyspace.forget_idle_dumps(&entries, now);
        for Named { name, entry } in &part {
            let filter = entry.filter();
            if let Some(chain) = filter.chain() {
                chain.prepare_growth();
            }
            match filter.news() {
                Some(News::Cleared(clears)) => {
                    swept.clears.add(clears);
                    say_cleared(name, entry, clears);
                }
                Some(News::SetBack(jumps)) => say_set_back(name, jumps),
                None => {}
            }
            if filter.is_over_capacity() {
                swept.over_so_far.add(1);
                if entry.says_over_capacity(now, OVER_PAUSE_MS) {
                    say_over_capacity(name, entry);
                }
            }
        }
        if next == 0 {
            swept.over.replace(swept.over_so_far.get());
        }
        for Named { entry, .. } in part.iter().filter(|named| named.entry.is_expired(now)) {
            let _changing = keyspace.names.change();
            // It may have another expiry or name by now, or be gone.
            let named = keyspace.names.by_id(entry.id);
            if let Some(Named { name, entry }) = named.filter(|named| named.entry.is_expired(now)) {
                match keyspace.drop_entry(&name, &entry, log) {
                    Ok(()) => drop(swept.expired.add(1)),
                    // The same would happen to the others; later filters are maintained all the
                    // same.
                    Err(_) => break,
                }
            }
        }
        next
    }
}

/// Reports that a filter forgot its keys.
fn say_cleared(name: &[u8], entry: &Entry, clears: u64) {
    let Shape::Clearing { at, .. } = entry.spec.shape else { return };
    let (name, percent) = (name.escape_ascii(), at * 100.0);
    let times = if clears == 1 { String::new() } else { format!(" {clears} times") };
    log::info!("the filter {name} was cleared{times}: {percent} % of its bits were set");
}

/// Reports that a filter has more keys than its capacity.
fn say_over_capacity(name: &[u8], entry: &Entry) {
    let (name, info) = (name.escape_ascii(), entry.info());
    if let Some(forgotten) = info.forgotten_early {
        log::warn!(
            "the window {name} got more than its {} items within its time and forgets the oldest \
             early, {forgotten} so far; create a larger one",
            info.capacity
        );
        return;
    }
    log::warn!(
        "the filter {name} has {} items, above its capacity of {}: its rate is {:.2e}, promised \
         were {:.2e}; create a larger one",
        info.distinct_items,
        info.capacity,
        info.expected_fpp,
        info.target_fpp
    );
}

/// Reports that the clock is behind the latest time of a window.
fn say_set_back(name: &[u8], jumps: ClockJumps) {
    let (name, ClockJumps { ahead, restored, .. }) = (name.escape_ascii(), jumps);
    log::warn!(
        "the window {name} has a time that is {ahead} ms ahead of the clock; if the clock stays \
         where it is, that time is set back. Keys that it made forgotten and that are remembered \
         again, so far: {restored}"
    );
}
