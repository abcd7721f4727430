//! Dumps in progress: those that are written, and those that are loaded.

use super::kind::Dump;
use super::loading::Loading;
use mayhap::Charge;
use std::collections::HashMap;
use std::sync::Mutex;

/// A dump in progress: the contents of the filter when it began. Charged until it is dropped.
#[derive(Debug)]
pub struct Outgoing {
    pub(super) dump: Dump,
    /// When a chunk of it was last requested.
    pub(super) touched: u64,
    pub(super) _charge: Charge,
}

impl Outgoing {
    /// The whole dump.
    pub fn bytes(&self) -> &[u8] {
        &self.dump.bytes
    }
}

/// A dump that is being loaded under a name that is not yet visible.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) loading: Loading,
    pub(super) charge: Charge,
    /// When its last chunk arrived.
    pub(super) touched: u64,
}

/// Dumps that are being loaded, by name.
pub(super) type Loads = Mutex<HashMap<Box<[u8]>, Incoming>>;
