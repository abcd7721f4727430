//! What matters to the tests beside the calls of a disk.

/// Something that a client sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A digest in a filter, answered as new.
    Inserted(u64, u64),
    /// A digest in a filter that was there, or came with it.
    There(u64, u64),
    /// A digest in a filter to which everything is done once.
    Counted(u64, u64),
    /// So many keys, at least, are counted by a filter.
    Items(u64, u64),
    /// A digest of the contents with which a filter was to be created.
    Contents(u64, u64),
    /// So many operations.
    Operations(usize),
}

#[derive(Debug, Clone)]
pub(crate) enum Note {
    Issued(What),
    /// At this time.
    Acknowledged(What, u64),
}
