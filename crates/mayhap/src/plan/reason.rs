//! Why a kind is not taken, or no filter at all.

use core::fmt;

/// Why not; short texts by `Display`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Keys have to be removed, and it cannot.
    CannotDelete,
    /// Old keys have to be forgotten, and it cannot.
    CannotForget,
    /// The number of keys is unknown, and it cannot grow.
    CannotGrow,
    /// Keys come later, and it is built once.
    CannotInsert,
    /// No size of it reaches the rate.
    RateUnreachable {
        /// The lowest that it reaches.
        lowest_fpp: f64,
    },
    /// It would be larger than any filter can be.
    TooLarge,
    /// Nothing of it fits in the memory.
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
    /// Another one of the same memory has a lower rate.
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
        /// Lines that it touches per question.
        lines: f64,
        /// Lines that the best one touches.
        best: f64,
    },
    /// The keys themselves take less memory.
    KeysAreSmaller {
        /// Bytes of a hash set of the keys.
        num_bytes: u64,
    },
    /// What the filter saves is less than it costs to ask it.
    SavesTooLittle {
        /// P1 · (C2 − C1): disk accesses saved, per question.
        saved: f64,
        /// C1: asking it, per question.
        spent: f64,
    },
    /// No kind serves the needs.
    NothingServes,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CannotDelete => f.write_str("cannot delete"),
            Self::CannotForget => f.write_str("cannot forget old keys"),
            Self::CannotGrow => f.write_str("cannot grow"),
            Self::CannotInsert => f.write_str("is built once, from all keys"),
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
                write!(f, "touches {lines:.1} cache lines per question, the best {best:.1}")
            }
            Self::KeysAreSmaller { num_bytes } => {
                write!(f, "a hash set of the keys themselves takes {num_bytes} bytes")
            }
            Self::SavesTooLittle { saved, spent } => write!(
                f,
                "a question costs {spent:.3} for the filter and saves {saved:.3} on average"
            ),
            Self::NothingServes => f.write_str("no kind of filter serves these needs"),
        }
    }
}
