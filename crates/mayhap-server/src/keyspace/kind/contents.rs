//! A filter for one owner: a copy of one that is in use, or one that is being put together.

use super::{Filter, Home};
use crate::durable::{Answered, Snapshot};
use crate::keyspace::{RecoveryError, Spec};
use mayhap::native::HEADER_BYTES;
use mayhap::{Bitmap, Charge, Digest, Error};
use std::any::Any;
use std::fmt::Debug;
use std::io;

/// A filter for one owner: for images, dumps, unions and recovery.
///
/// [`Snapshot::write`] writes it as a file of the native format, or one of `mayhap-formats`.
pub(in crate::keyspace) trait Contents: Snapshot + Any + Debug + Send {
    /// Bytes of its bits.
    fn num_bytes(&self) -> u64;

    /// What it was created to be, as far as it says.
    fn spec(&self) -> Spec;

    /// The id of its kind in the native format; 0 for others.
    fn kind_id(&self) -> u64;

    /// The same for many threads. `charge` has its bytes.
    fn into_filter(self: Box<Self>, spec: &Spec, home: Home<'_>, charge: Charge)
    -> Box<dyn Filter>;

    /// Counts no more than so many keys, where a copy of a filter that is in use may count others
    /// than it has: those of kinds that are filled without a lock.
    fn limit_items(&mut self, most: u64) {
        let _ = most;
    }

    /// Its dump for other servers.
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    fn dump(&self) -> io::Result<Dump> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        let ends = vec![bytes.len()];
        Ok(Dump { bytes, header_bytes: HEADER_BYTES, ends })
    }

    /// Makes it the union of both.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] with what differs.
    fn union_with(&mut self, other: &dyn Contents) -> Result<(), Error> {
        Err(incompatible(self.kind_id(), other))
    }

    /// How many of its bits or counters are set, where a union can have too many.
    fn num_set(&self) -> u64 {
        0
    }

    /// How many keys a union has, if they are more than one of this capacity holds.
    fn items_beyond(&self, capacity: u64) -> Option<u64> {
        let _ = capacity;
        None
    }

    /// Takes digests of the log, in any order and any number of times.
    fn replay(
        &mut self,
        digests: &[Digest],
        answered: Answered,
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        let _ = (digests, answered, scratch);
        Err(RecoveryError::NoDigests)
    }

    /// Takes digests of the log that have an order and stand in no image; `what` is a time, or
    /// `REMOVAL`.
    fn replay_ordered(
        &mut self,
        order: u64,
        what: u64,
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        let _ = (order, what, digests, scratch);
        Err(RecoveryError::NoOrder)
    }

    /// Takes keys of the log.
    fn replay_keys(&mut self, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), RecoveryError> {
        let _ = keys;
        Err(RecoveryError::NoKeys)
    }
}

/// A filter's bytes for other servers.
#[derive(Debug)]
pub(in crate::keyspace) struct Dump {
    pub(in crate::keyspace) bytes: Vec<u8>,
    pub(in crate::keyspace) header_bytes: usize,
    /// Where no chunk may go across.
    pub(in crate::keyspace) ends: Vec<usize>,
}

/// The other one, if it is of the same kind.
pub(super) fn same_kind<'a, T: Contents>(
    ours: &T,
    other: &'a dyn Contents,
) -> Result<&'a T, Error> {
    let any: &dyn Any = other;
    any.downcast_ref().ok_or_else(|| incompatible(ours.kind_id(), other))
}

fn incompatible(left: u64, other: &dyn Contents) -> Error {
    Error::Incompatible { parameter: "kind", left, right: other.kind_id() }
}
