//! A dump that is going out.

use super::kind::Dump;
use mayhap::Charge;

/// A dump that is going out: what the filter held when it began. Charged until it is dropped.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(super) dump: Dump,
    /// When a chunk of it was last requested.
    pub(super) touched: u64,
    pub(super) _charge: Charge,
}

impl Outgoing {
    /// The whole dump.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.dump.bytes
    }
}
