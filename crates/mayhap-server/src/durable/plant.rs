//! Bugs that tests put in, each to be found by the harness that is to find such bugs.

/// A bug to be found; outside of this crate's own tests there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Plant {
    #[default]
    None,
    AckBeforeWrite,
    NoSyncBeforeRename,
    NoFolderSync,
    NoRecordChecksum,
    NoChain,
    LogDroppedEarly,
    ImageUnchecked,
    SyncErrorSwallowed,
}

impl Plant {
    pub(super) fn is(self, bug: Self) -> bool {
        cfg!(test) && self == bug
    }
}
