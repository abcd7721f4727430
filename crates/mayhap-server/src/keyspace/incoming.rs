//! A dump that is coming in.

use super::loading::Loading;
use mayhap::Charge;

/// A dump that is coming in under a name that nobody sees yet.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) loading: Loading,
    pub(super) charge: Charge,
    /// When its last chunk came.
    pub(super) touched: u64,
}
