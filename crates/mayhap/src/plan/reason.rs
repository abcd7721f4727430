//! Reasons not to choose a kind, or any filter at all.

use core::fmt;

/// The reason; `Display` gives a short text.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Keys have to be removed, which it does not support.
    CannotDelete,
    /// Old keys have to be forgotten, which it does not support.
    CannotForget,
    /// The number of keys is unknown, but it cannot grow.
    CannotGrow,
    /// Keys are inserted later, but it is built once.
    CannotInsert,
    /// No size of it reaches the rate.
    RateUnreachable {
        /// The lowest rate that it reaches.
        lowest_fpp: f64,
    },
    /// It would be larger than any filter can be.
    TooLarge,
    /// Even its smallest size does not fit in the memory.
    BudgetTooSmall {
        /// The memory for one set.
        max_bytes: u64,
    },
    /// It keeps the rate, but above the budget.
    OverBudget {
        /// Bytes that it needs.
        num_bytes: u64,
    },
    /// Another one needs fewer bits.
    MoreBits {
        /// Its bits as a multiple of the best one's.
        times: f64,
    },
    /// Another candidate has a lower rate in the same memory.
    HigherRate {
        /// Its rate as a multiple of the best one's.
        times: f64,
    },
    /// Another one holds more keys in the same memory.
    FewerItems {
        /// Its keys as a share of the best one's.
        share: f64,
    },
    /// Another one touches fewer cache lines.
    MoreCacheLines {
        /// Lines that it touches per query.
        lines: f64,
        /// Lines that the best one touches.
        best: f64,
    },
    /// The keys themselves take less memory.
    KeysAreSmaller {
        /// Bytes of a hash set of the keys.
        num_bytes: u64,
    },
    /// The filter saves less than its queries cost.
    SavesTooLittle {
        /// P1 · (C2 − C1): the cost of the disk accesses saved, per query.
        saved: f64,
        /// C1: the cost of querying it, per query.
        spent: f64,
    },
    /// No kind meets the needs.
    NothingServes,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CannotDelete => f.write_str("cannot delete"),
            Self::CannotForget => f.write_str("cannot forget old keys"),
            Self::CannotGrow => f.write_str("cannot grow"),
            Self::CannotInsert => f.write_str("is built once, from all keys"),
            Self::RateUnreachable { lowest_fpp: 1.0.. } => {
                f.write_str("cannot hold this number of keys")
            }
            Self::RateUnreachable { lowest_fpp } => {
                write!(f, "reaches no rate below {lowest_fpp:.3e}")
            }
            Self::TooLarge => f.write_str("would be larger than 2^56 bits"),
            Self::BudgetTooSmall { max_bytes } => write!(f, "does not fit in {max_bytes} bytes"),
            Self::OverBudget { num_bytes } => {
                write!(f, "needs {num_bytes} bytes, more than the budget")
            }
            Self::MoreBits { times } => write!(f, "needs {times:.2} times the bits"),
            Self::HigherRate { times } => write!(f, "has {times:.2} times the rate"),
            Self::FewerItems { share } => write!(f, "holds {:.0} % of the keys", share * 100.0),
            Self::MoreCacheLines { lines, best } => {
                write!(f, "touches {lines:.1} cache lines per query, the best {best:.1}")
            }
            Self::KeysAreSmaller { num_bytes } => {
                write!(f, "a hash set of the keys themselves takes {num_bytes} bytes")
            }
            Self::SavesTooLittle { saved, spent } => {
                write!(f, "a query costs {spent:.3} for the filter and saves {saved:.3} on average")
            }
            Self::NothingServes => f.write_str("no kind of filter serves these needs"),
        }
    }
}
