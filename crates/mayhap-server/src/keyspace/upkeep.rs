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
use std::time::Duration;

/// Between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_millis(200);
/// Filters that one sweep looks at.
const SWEPT: usize = 1000;
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
            // What cannot be written now stays, as good as gone.
            let swept = keyspace.sweep(cursor, SWEPT, crate::clock::unix_ms(), log.as_deref());
            cursor = swept.unwrap_or(0);
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

    /// Removes filters whose time is over and dumps that nobody went on with, sizes the next layer
    /// of filters that are about to grow, and says which ones cleared themselves or found the clock
    /// set back, of up to `count` filters from `cursor` on; returns where to go on, 0 at the end.
    ///
    /// # Errors
    ///
    /// [`Refused`]; they stay in memory then, as good as gone.
    pub fn sweep(
        &self,
        cursor: u64,
        count: usize,
        now: u64,
        log: Option<&Log>,
    ) -> Result<u64, Refused> {
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
        }
        for Named { entry, .. } in part.iter().filter(|named| named.entry.is_expired(now)) {
            let _changing = locked(&self.changing);
            // It may have got another time, another name, or be gone meanwhile.
            let named = read(&self.by_id).get(&entry.id).cloned();
            if let Some(Named { name, entry }) = named.filter(|named| named.entry.is_expired(now)) {
                self.drop_entry(&name, &entry, log)?;
                self.expired.add(1);
            }
        }
        Ok(next)
    }
}

/// Says that a filter forgot its keys.
fn say_cleared(name: &[u8], entry: &Entry, clears: u64) {
    let Shape::Clearing { at, .. } = entry.spec.shape else { return };
    let (name, percent) = (name.escape_ascii(), at * 100.0);
    let times = if clears == 1 { String::new() } else { format!(" {clears} times") };
    log::info!("the filter {name} was cleared{times}: {percent} % of its bits were set");
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
