//! The digests of all keys of a state, where they are kept beside it.

use super::session::Session;
use crate::Error;
use mayhap::Digest;

impl Session {
    /// Whether the digests of all keys are kept in a file beside the filter
    /// ([`crate::KeptDigests`]): then every digest has to be noted, not only those that were new.
    pub fn keeps_digests(&self) -> bool {
        self.keeper.is_some()
    }

    /// Writes the noted digests to the file beside the filter if they take much memory; to be
    /// called now and then while many are noted. Does nothing without the lock.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsBehind`] if another file has the name of the digests by now;
    /// [`Error::NoSpace`], [`Error::Io`].
    pub fn spill_digests(&mut self) -> Result<(), Error> {
        match &mut self.keeper {
            Some(keeper) if self.lock.is_some() => keeper.spill(),
            _ => Ok(()),
        }
    }

    /// Passes the distinct digests of all keys, those in the log included, to `each`: in ascending
    /// order, in batches of at most 1024. There are none if [`Session::keeps_digests`] is false.
    ///
    /// # Errors
    ///
    /// As [`crate::KeptDigests::for_each`] and [`Session::spill_digests`].
    ///
    /// # Panics
    ///
    /// If the lock is not held.
    pub fn for_each_digest<E: From<Error>>(
        &mut self,
        each: impl FnMut(&[Digest]) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(self.lock.is_some(), "the lock is held while digests are read");
        match &mut self.keeper {
            Some(keeper) => keeper.for_each(each),
            None => Ok(()),
        }
    }
}
