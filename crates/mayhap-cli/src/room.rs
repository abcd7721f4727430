//! Room for keys: when a filter is full, and what is said then.
//!
//! One rule for all commands. A filter takes new keys until it holds as many as it was made for;
//! then keys that are there already pass, and the first one that is surely not there ends the
//! command with exit code 2 ([`Error::Full`]). A filter that holds more than that takes none from
//! the beginning: what it calls "there already" may well be new, and would be lost without a word.
//! What would hold more at once, by a merge, is not written. `--overfill` lifts all of it. A filter
//! that could not keep any useful rate is not created ([`check_rate`]).

use crate::args::DEFAULT_FPP;
use crate::error::Error;
use crate::number::format_bytes;
use crate::talk::{grouped, rate};
use mayhap::{Layout, sizing};
use std::fmt;

/// A rate above this one is not what somebody wants who names none: three bits a key have it.
const MAX_UNASKED_FPP: f64 = 0.25;

/// Room in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// For so many new keys.
    Keys(u64),
    /// For keys that are there already: it is full.
    Repeats,
    /// For none, as its answers are no longer those that were promised.
    None,
}

/// How the number of keys in a filter is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// They were counted.
    Counted(u64),
    /// From the bits, with a standard deviation of about √n.
    Estimated(u64),
}

impl Held {
    /// The number.
    pub fn keys(self) -> u64 {
        match self {
            Self::Counted(keys) | Self::Estimated(keys) => keys,
        }
    }
}

impl Room {
    /// What is left in a filter that is full with `full_at` keys.
    ///
    /// It is over-full above 1 % more, and by an estimate above 4 standard deviations more: a full
    /// one is not to be taken for that by chance.
    pub fn left(held: Held, full_at: u64) -> Self {
        let spread = match held {
            Held::Counted(_) => 0,
            Held::Estimated(_) => (4.0 * (full_at as f64).sqrt()).ceil() as u64,
        };
        let most = full_at.saturating_add(full_at / 100).saturating_add(spread);
        match held.keys() {
            keys if keys < full_at => Self::Keys(full_at - keys),
            keys if keys <= most => Self::Repeats,
            _ => Self::None,
        }
    }
}

/// What keeps a filter from holding more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The keys that it was made for.
    Keys(u64),
    /// The memory that it may take.
    Bytes {
        /// What it would need for the next key.
        needed: u64,
        /// What it may take.
        limit: u64,
    },
}

/// Where a command ended for lack of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After so many lines were dealt with.
    After(u64),
    /// Before anything was written.
    Unwritten,
}

/// What became of the keys before, and what to do: for the hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WhenFull {
    /// What became of the keys before.
    pub outcome: &'static str,
    /// What to do where the number of keys is the limit.
    pub next: &'static str,
}

/// A filter that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Keys that it holds, or would.
    pub held: u64,
    /// What keeps it from holding more.
    pub limit: Limit,
    /// Where the command ended.
    pub end: End,
    /// For the hint.
    pub advice: WhenFull,
}

impl Full {
    /// The next step.
    pub fn hint(&self) -> String {
        let next = match self.limit {
            Limit::Keys(_) => self.advice.next,
            Limit::Bytes { .. } => "allow more with --max-memory SIZE",
        };
        format!("{}; {next}", self.advice.outcome)
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = match self.held {
            u64::MAX => "any number".into(),
            held => grouped(held),
        };
        match self.limit {
            Limit::Keys(keys) => write!(f, "the filter is full ({held} of {} keys)", grouped(keys)),
            Limit::Bytes { needed, limit } => {
                let (needed, limit) = (format_bytes(needed), format_bytes(limit));
                write!(f, "the filter is full ({held} keys; more need {needed}, above {limit})")
            }
        }?;
        match self.end {
            End::After(lines) => write!(f, "; stopped after {} lines", grouped(lines)),
            End::Unwritten => f.write_str("; nothing was written"),
        }
    }
}

/// Why what would hold so many keys is not written: it was made for fewer.
pub fn over_full(held: u64, made_for: u64) -> Error {
    let advice = WhenFull {
        outcome: "filters that are merged have to be made with the -n of all keys together",
        next: "make them so, or go on with --overfill",
    };
    Error::Full(Full { held, limit: Limit::Keys(made_for), end: End::Unwritten, advice })
}

/// Refuses a filter of so many bytes for so many keys whose rate nobody named and nobody can use.
///
/// # Errors
///
/// [`Error::Useless`].
pub fn check_rate(items: u64, bytes: u64, fpp: f64, was_asked: bool) -> Result<(), Error> {
    if was_asked || fpp <= MAX_UNASKED_FPP {
        return Ok(());
    }
    let usual = sizing::for_items(Layout::Blocked, items, DEFAULT_FPP);
    let usual_bytes = usual.ok().map(|params| params.num_bytes());
    Err(Error::Useless(Useless { items, bytes, fpp, usual_bytes }))
}

/// A filter that could not keep a useful rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Useless {
    /// The keys that it was to be for.
    items: u64,
    /// Its memory.
    bytes: u64,
    /// The rate that it would have.
    fpp: f64,
    /// The memory at the default rate.
    usual_bytes: Option<u64>,
}

impl Useless {
    /// The next step.
    pub fn hint(&self) -> String {
        let usual = self.usual_bytes.map(|bytes| {
            format!("leave --mem out for {} at {}, ", format_bytes(bytes), rate(DEFAULT_FPP))
        });
        // Rounded up, so that it can be typed.
        let percent = (self.fpp * 100.0).ceil().min(99.0);
        format!("{}or name the rate that is wanted: -p {percent}%", usual.unwrap_or_default())
    }
}

impl fmt::Display for Useless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (items, bytes) = (grouped(self.items), format_bytes(self.bytes));
        write!(f, "{items} keys in {bytes} would have a rate of {}", rate(self.fpp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_full_at_its_keys_and_over_full_beyond_chance() {
        for (held, room) in [
            (0, Room::Keys(10_000)),
            (9_999, Room::Keys(1)),
            (10_000, Room::Repeats),
            (10_100, Room::Repeats),
            (10_101, Room::None),
            (u64::MAX, Room::None),
        ] {
            assert_eq!(Room::left(Held::Counted(held), 10_000), room, "{held}");
        }
        assert_eq!(Room::left(Held::Estimated(9_999), 10_000), Room::Keys(1));
        assert_eq!(Room::left(Held::Estimated(10_500), 10_000), Room::Repeats);
        assert_eq!(Room::left(Held::Estimated(10_501), 10_000), Room::None);
        assert_eq!(Room::left(Held::Counted(u64::MAX), u64::MAX), Room::Repeats);
    }
}
