//! A filter in memory, which the store keeps in step with its files.

use crate::error::Error;
use crate::full::limit_of;
use crate::held::{is_of_time, now};
use mayhap::native::{Header, Kind};
use mayhap::set::Set;
use mayhap::{Block, DigestFunction, SecretKey};
use mayhap_store::{Image, Memory, Record};

/// The filter of a state.
pub(crate) struct Kept {
    pub(crate) set: Box<dyn Set>,
    /// That of [`limit_of`]: another process may have replaced the filter by a larger one.
    pub(crate) limit: u64,
    /// For reading it again.
    secret_key: Option<SecretKey>,
}

impl Kept {
    /// A filter that becomes a state.
    ///
    /// # Errors
    ///
    /// [`mayhap::Error::NotOfKind`] for kinds that never change.
    pub(super) fn new(set: Box<dyn Set>) -> Result<Self, Error> {
        if !set.capabilities().inserts {
            return Err(no_state(set.kind()));
        }
        let secret_key = match *set.digest_function() {
            DigestFunction::Sip13 { key } => Some(key),
            _ => None,
        };
        Ok(Self { limit: limit_of(&*set), set, secret_key })
    }

    /// Reads the filter of an image.
    ///
    /// # Errors
    ///
    /// The errors of [`Image::load_set`] and [`Kept::new`].
    pub(super) fn load(image: &Image, secret_key: Option<SecretKey>) -> Result<Self, Error> {
        match image.header().kind() {
            kind @ (Kind::Matrix | Kind::Segment) => Err(no_state(kind)),
            _ => Self::new(image.load_set(secret_key)?),
        }
    }
}

fn no_state(kind: Kind) -> Error {
    mayhap::Error::NotOfKind { operation: "state", kind: kind.name() }.into()
}

impl Memory for Kept {
    fn load(&mut self, image: &Image) -> Result<(), mayhap_store::Error> {
        self.set = image.load_set(self.secret_key)?;
        self.limit = limit_of(&*self.set);
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        if record.time.is_none() && is_of_time(&*self.set) {
            // A log of 0.1, which has no times: replayed keys get the current time.
            self.set.advance(now());
        }
        mayhap_store::apply(&mut *self.set, record)
    }

    fn header(&mut self, key_options: &str) -> Header {
        self.set.header(key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.set.segments()
    }
}
