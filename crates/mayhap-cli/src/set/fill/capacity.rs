//! How much room a set has, and the warning before it is full.

use crate::error::{End, Error, Full, Limit, WhenFull};
use mayhap::set::Repeats;
use mayhap_sets::{KeySet, Room};
use mayhap_units::number::{counted_short, format_count};

/// Lines that a filter on a server is given at once when it holds more keys than it was created
/// for: one that is far away gets tens of thousands before.
const OVERFILLED_BATCH: u64 = 1024;
/// Batches until such a filter is full, at least, unless it is for a few thousand keys: in between,
/// the rate is close to a power of the keys.
const RATE_LOOKS: u64 = 8;

/// When a set is full, and whether that was warned of.
#[derive(Debug)]
pub(super) struct Capacity {
    /// Whether it is filled beyond that.
    overfill: bool,
    /// Whether it cannot be, and repeats take room too.
    is_hard: bool,
    /// Whether others fill it too, and its capacity then.
    is_shared: bool,
    shared_keys: Option<u64>,
    /// The [`KeySet::items`] at which it is full.
    full_at: Option<u64>,
    /// The [`KeySet::items`] at which there is a warning.
    warn_at: u64,
    /// Why a filter that grows cannot grow any more.
    no_memory: Option<Limit>,
}

impl Capacity {
    /// That of a set, before it is looked at.
    pub(super) fn of(set: &dyn KeySet, overfill: bool) -> Self {
        let numbers = set.numbers(Repeats::Renew);
        // A filter that is past it already warns with its first new key.
        let warn_at = numbers.warn_at.unwrap_or(u64::MAX);
        let is_shared = set.remote().is_some();
        let shared_keys = numbers.capacity.filter(|_| is_shared);
        let (is_hard, overfill) = (numbers.is_hard, overfill && !numbers.is_hard);
        Self { overfill, is_hard, is_shared, shared_keys, full_at: None, warn_at, no_memory: None }
    }

    /// Finds out when the set is full if keys are inserted in this way.
    pub(super) fn look(&mut self, set: &dyn KeySet, repeats: Repeats) {
        self.full_at = set.numbers(repeats).full_at;
    }

    /// Whether a full set has fewer items than these.
    pub(super) fn is_exceeded_by(&self, items: u64) -> bool {
        self.full_at.is_some_and(|full_at| items > full_at)
    }

    /// Never warns.
    pub(super) fn never_warn(&mut self) {
        self.warn_at = u64::MAX;
    }

    /// Neither stops when the set is full nor warns.
    pub(super) fn never_stop(&mut self) {
        self.overfill = true;
        self.never_warn();
    }

    /// The room for new keys; `None` without a limit.
    pub(super) fn room(&self, set: &dyn KeySet, repeats: Repeats) -> Option<Room> {
        if self.overfill {
            return None;
        }
        // On a server it changes with each look at the bits.
        let full_at = if self.is_shared { set.numbers(repeats).full_at } else { self.full_at };
        full_at.map(|full_at| match Room::left(set.held(), full_at) {
            Room::Repeats if self.is_hard && repeats == Repeats::Renew => Room::None,
            room => room,
        })
    }

    /// The most lines that the set is given at once.
    pub(super) fn most_at_once(&self, set: &dyn KeySet) -> u64 {
        let (mut most, items) = (u64::MAX, set.items());
        if items < self.warn_at {
            // Up to the warning and no further, so that it is printed in time.
            most = self.warn_at - items;
        }
        if let Some(capacity) = self.shared_keys {
            // The rate is looked at between batches, and beyond the capacity it rises fast.
            let part = if items < capacity { capacity / RATE_LOOKS } else { 0 };
            most = most.min(part.max(OVERFILLED_BATCH));
        }
        most
    }

    /// Notes that the set has no memory to grow.
    pub(super) fn no_memory(&mut self, needed: u64, limit: u64) {
        self.no_memory = Some(Limit::Bytes { needed, limit });
    }

    /// The error for a set that accepts no more lines, after this many.
    pub(super) fn full(&self, set: &dyn KeySet, lines: u64, advice: WhenFull) -> Error {
        let made_for = set.numbers(Repeats::Renew).capacity.unwrap_or(0);
        let limit = if self.is_hard { Limit::Copies(made_for) } else { Limit::Keys(made_for) };
        let limit = self.no_memory.unwrap_or(limit);
        let held = set.measurements().keys().unwrap_or(set.items());
        Error::Full(Full { held, limit, end: End::After(lines), advice })
    }

    /// The warning, once, when 80 % of the capacity are used.
    pub(super) fn warning(&mut self, set: &dyn KeySet, repeats: Repeats) -> Option<String> {
        if set.items() < self.warn_at {
            return None;
        }
        self.warn_at = u64::MAX;
        let numbers = set.numbers(repeats);
        let (items, expected) = (numbers.keys(), numbers.capacity?);
        let percent = items as f64 / expected as f64 * 100.0;
        let next = match (self.overfill, items < expected) {
            (true, _) => "beyond that the rate rises",
            (false, true) => "it stops when it is full",
            (false, false) => "it stops at the next new key",
        };
        let (items, of) = (format_count(items), counted_short(expected, "key"));
        Some(format!("the filter is {percent:.0} % full ({items} of {of}); {next}"))
    }
}
