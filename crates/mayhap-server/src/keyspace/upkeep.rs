//! What a keyspace needs done now and then, and the threads that do it.

use super::growth::Growing;
use super::lock::{locked, read};
use super::names::Named;
use super::{Entry, Keyspace, Shape};
use crate::durable::{Log, Refused};
use crate::periodic::Periodic;
use mayhap::ClockJumps;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_millis(200);
/// Filters that one sweep looks at.
const SWEPT: usize = 1000;
/// Between two sweeps while they find filters that have expired, so that others get at the names.
const BREATH: Duration = Duration::from_millis(1);
/// Sweeps without a pause, before the thread looks whether it is to end.
const MAX_RUN: usize = 100;
/// A filter that stays over its capacity is reported this often.
const OVER_PAUSE_MS: u64 = 3_600_000;
/// Between two looks at files.
const FILES_PAUSE: Duration = Duration::from_millis(500);

/// The threads that look after a keyspace; they end when this is dropped.
#[derive(Debug)]
pub struct Upkeep {
    _growing: Growing,
    _files: Periodic,
    _sweeping: Periodic,
}

impl Keyspace {
    /// Starts all threads that look after the keyspace: one that allocates layers before they are
    /// needed, one that notices changed files, one that sweeps what has expired and says what was
    /// cleared.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start_upkeep(self: &Arc<Self>, log: Option<Arc<Log>>) -> io::Result<Upkeep> {
        let growing = self.start_growing()?;
        let keyspace = self.clone();
        let files = Periodic::start("files", FILES_PAUSE, move || keyspace.refresh_files())?;
        let (keyspace, mut cursor) = (self.clone(), 0);
        let sweeping = Periodic::start("sweep", SWEEP_PAUSE, move || {
            cursor = keyspace.sweep_expired(cursor, log.as_deref());
        })?;
        Ok(Upkeep { _growing: growing, _files: files, _sweeping: sweeping })
    }

    /// Starts the thread that allocates layers of growing filters before they are needed.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start_growing(self: &Arc<Self>) -> io::Result<Growing> {
        let keyspace = self.clone();
        Growing::start(self.growth.clone(), move |id| {
            let Some(entry) = keyspace.entry_of(id) else { return };
            // One that was removed meanwhile is ours alone: its memory is to go.
            entry.grow_ahead(&|| keyspace.growth.runs() && Arc::strong_count(&entry) > 1);
        })
    }

    fn entry_of(&self, id: u64) -> Option<Arc<Entry>> {
        read(&self.by_id).get(&id).map(|named| named.entry.clone())
    }

    /// Sweeps once, and on for as long as there are filters that have expired: so many may end at
    /// one moment. Returns where to go on.
    pub(super) fn sweep_expired(&self, mut cursor: u64, log: Option<&Log>) -> u64 {
        for _ in 0..MAX_RUN {
            let before = self.expired.get();
            cursor = self.sweep(cursor, SWEPT, crate::clock::unix_ms(), log);
            if self.expired.get() == before {
                break;
            }
            thread::sleep(BREATH);
        }
        cursor
    }

    /// How many filters have more keys than they were created for, as of the last sweep.
    pub fn over_capacity(&self) -> u64 {
        self.over.get()
    }

    /// Removes filters whose time is over and dumps that nobody went on with, sizes the next layer
    /// of filters that are about to grow, and says which ones cleared themselves, found the clock
    /// set back or have more keys than they were created for, of up to `count` filters from
    /// `cursor` on; returns where to go on, 0 at the end. What the log does not take stays in
    /// memory, as good as gone.
    pub fn sweep(&self, cursor: u64, count: usize, now: u64, log: Option<&Log>) -> u64 {
        if cursor == 0 {
            self.over_so_far.replace(0);
        }
        let (part, next) = self.part(cursor, count);
        let entries: Vec<_> = part.iter().map(|named| named.entry.clone()).collect();
        self.forget_idle_dumps(&entries, now);
        for Named { name, entry } in &part {
            entry.prepare_growth();
            let clears = entry.new_clears();
            if clears > 0 {
                self.clears.add(clears);
                say_cleared(name, entry, clears);
            }
            if let Some(jumps) = entry.new_clock_jumps() {
                say_set_back(name, jumps);
            }
            if entry.is_over_capacity() {
                self.over_so_far.add(1);
                if entry.says_over_capacity(now, OVER_PAUSE_MS) {
                    say_over_capacity(name, entry);
                }
            }
        }
        if next == 0 {
            self.over.replace(self.over_so_far.get());
        }
        for Named { entry, .. } in part.iter().filter(|named| named.entry.is_expired(now)) {
            let _changing = locked(&self.changing);
            // It may have got another time, another name, or be gone meanwhile.
            let named = read(&self.by_id).get(&entry.id).cloned();
            if let Some(Named { name, entry }) = named.filter(|named| named.entry.is_expired(now)) {
                match self.drop_entry(&name, &entry, log) {
                    Ok(()) => drop(self.expired.add(1)),
                    // The same for the others; those behind them are looked after all the same.
                    Err(Refused(_)) => break,
                }
            }
        }
        next
    }
}

/// Says that a filter forgot its keys.
fn say_cleared(name: &[u8], entry: &Entry, clears: u64) {
    let Shape::Clearing { at, .. } = entry.spec.shape else { return };
    let (name, percent) = (name.escape_ascii(), at * 100.0);
    let times = if clears == 1 { String::new() } else { format!(" {clears} times") };
    log::info!("the filter {name} was cleared{times}: {percent} % of its bits were set");
}

/// Says that a filter has more keys than it was created for.
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

/// Says that the clock is behind the latest time of a window.
fn say_set_back(name: &[u8], jumps: ClockJumps) {
    let (name, ClockJumps { ahead, restored, .. }) = (name.escape_ascii(), jumps);
    log::warn!(
        "the window {name} has a time that is {ahead} ms ahead of the clock; if the clock stays \
         where it is, that time is set back. Keys that it made forgotten and that are remembered \
         again, so far: {restored}"
    );
}
