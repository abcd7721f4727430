//! Filters without room, and filters that would be of no use.

use mayhap_units::number::{counted, format_bytes, format_fpp, grouped, noun};
use std::fmt;

/// The next step where a compact filter has no room.
pub const MORE_COPIES: &str =
    "a compact filter takes no more copies: double it with mayhap grow, or create it larger";

/// The limit of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The keys that it was made for.
    Keys(u64),
    /// The copies of keys that it was made for, of which it takes no more.
    Copies(u64),
    /// The memory that it may take.
    Bytes {
        /// The memory that it would need for the next key.
        needed: u64,
        /// The memory that it may take.
        limit: u64,
    },
    /// The rate that it was meant to keep for any number of keys.
    Rate {
        /// The rate with all of them.
        now: f64,
        /// The rate promised.
        target: f64,
    },
}

/// Where a command ended for lack of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After this number of lines was handled.
    After(u64),
    /// Before anything was written.
    Unwritten,
}

/// The fate of the earlier keys, and the next step: for the hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WhenFull {
    /// The fate of the earlier keys.
    pub outcome: &'static str,
    /// The next step where the number of keys is the limit.
    pub next: &'static str,
}

/// A filter that is full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Full {
    /// The number of distinct keys that it holds, or would hold: all keys inserted, even if they
    /// were mistaken for repeats.
    pub held: u64,
    /// Its limit.
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
            Limit::Keys(_) | Limit::Rate { .. } => self.advice.next,
            Limit::Copies(_) => MORE_COPIES,
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
            Limit::Keys(keys) => {
                write!(f, "the filter is full ({held} of {})", counted(keys, "key"))
            }
            Limit::Copies(copies) => {
                write!(f, "the filter is full ({held} of {} of keys)", copies_of(copies))
            }
            Limit::Rate { now, target } => {
                let (now, target) = (format_fpp(now), format_fpp(target));
                write!(
                    f,
                    "the filter is full (with {held} {} its rate is {now}, above {target})",
                    noun(self.held, "key")
                )
            }
            Limit::Bytes { needed, limit } => {
                let (needed, limit) = (format_bytes(needed), format_bytes(limit));
                write!(
                    f,
                    "the filter is full ({held} {}; more need {needed}, above {limit})",
                    noun(self.held, "key")
                )
            }
        }?;
        match self.end {
            End::After(lines) => write!(f, "; stopped after {}", counted(lines, "line")),
            End::Unwritten => f.write_str("; nothing was written"),
        }
    }
}

fn copies_of(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "copy" } else { "copies" })
}

/// The result would exceed its capacity or its rate, so it is not written.
pub fn over_full(held: u64, limit: Limit) -> Full {
    let outcome = match limit {
        Limit::Rate { .. } => "create chains that will be merged with a share of the rate each",
        _ => "create filters that will be merged with the -n of all keys together",
    };
    let advice = WhenFull { outcome, next: "create them again, or continue with --overfill" };
    Full { held, limit, end: End::Unwritten, advice }
}

/// A filter that could not keep a useful rate.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "{} in {} would have a rate of {}",
    counted(self.items, "key"),
    format_bytes(self.bytes),
    format_fpp(self.fpp)
)]
pub struct Useless {
    /// The number of keys that it was meant for.
    pub items: u64,
    /// Its memory.
    pub bytes: u64,
    /// The rate that it would have.
    pub fpp: f64,
    /// The memory at the default rate, and that rate.
    pub usual: Option<(u64, f64)>,
}

impl Useless {
    /// The next step.
    pub fn hint(&self) -> String {
        let usual = self.usual.map(|(bytes, fpp)| {
            format!("omit --mem for {} at {}, ", format_bytes(bytes), format_fpp(fpp))
        });
        // Rounded up, so that it can be typed.
        let percent = (self.fpp * 100.0).ceil().min(99.0);
        format!("{}or accept that rate: -p {percent}%", usual.unwrap_or_default())
    }
}
