//! Events that matter to the tests besides the calls of a disk.

/// A fact that a client sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A digest in a filter, answered as new.
    Inserted(u64, u64),
    /// A digest in a filter that was present, or came with its contents.
    There(u64, u64),
    /// A digest in a filter that applies every change exactly once.
    Counted(u64, u64),
    /// At least this many keys are counted by a filter.
    Items(u64, u64),
    /// A digest of the contents with which a filter had to be created.
    Contents(u64, u64),
    /// This many operations.
    Operations(usize),
}

#[derive(Debug, Clone)]
pub(crate) enum Note {
    Issued(What),
    /// At this time.
    Acknowledged(What, u64),
}
