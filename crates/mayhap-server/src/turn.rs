//! The working state of a turn of a loop thread.

use crate::metrics::Counts;
use mayhap_engine::Work;

/// The working state of a turn of a loop thread: that of the filters, and what is counted and
/// decided on the way.
#[derive(Debug, Default)]
pub struct Turn {
    /// The digests, the answers, and the changes of this turn.
    pub work: Work,
    /// The counts of this turn; the loop adds them to its lane at the end.
    pub counts: Counts,
    /// The number of that lane: [`crate::metrics::Metrics::claim`].
    pub lane: usize,
    /// Set by a command whose answer depends on records of this turn: it may be sent only once
    /// these are as safe as the policy promises, and becomes an error if they cannot be.
    pub wrote: bool,
    /// Set by a command whose answer reports an operation, which is in the log: it may be sent only
    /// once that is as safe as the policy promises.
    pub operated: bool,
    /// For a transaction with [`Turn::wrote`]: the offset in the answers of the first one that
    /// depends on records, and the number of answers from there on.
    pub wrote_from: Option<(usize, u32)>,
    /// Nanoseconds of work done, as estimated by the rows of the commands.
    pub work_ns: u64,
    /// Bytes of answers of the current transaction.
    pub answered: u64,
    /// When a delayed login ([`crate::command::After::Later`]) may be tried, in milliseconds since
    /// 1970; 0 for at once.
    pub not_before: u64,
    /// Other connections wait for the end of this turn: long requests are not executed, but
    /// [`crate::command::After::Later`].
    pub hurried: bool,
}
