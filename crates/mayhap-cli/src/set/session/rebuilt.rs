//! A filter file that is replaced by another filter of the same keys, from their digests.

use super::waiting::Waiting;
use crate::error::Error;
use mayhap::native::Header;
use mayhap::{Block, Digest};
use mayhap_sets::OwnSet;
use mayhap_store::{Image, Memory, Record, Session, SessionOptions};
use std::path::Path;

/// The lock of a filter file whose digests are kept, and those of its log.
#[derive(Debug)]
pub struct Rebuilt {
    session: Session,
    waiting: Waiting,
}

impl Rebuilt {
    /// Takes the lock of a filter; its bits are not read.
    ///
    /// # Errors
    ///
    /// As [`Waiting::lock`]; [`Error::Store`], also if its digests are not those of all its keys;
    /// [`Error::Usage`] if none are kept.
    pub fn open(path: &Path, waiting: &Waiting) -> Result<Self, Error> {
        let options = SessionOptions::new(waiting.options()).keeps_digests();
        let opening = waiting.check(Session::open(path, options))?;
        let (session, _) = opening.follow(&mut Unread)?;
        if !session.keeps_digests() {
            let name = path.display();
            return Err(Error::usage(
                format!("no digests of its keys are kept beside {name}, so it cannot grow"),
                format!("build it again from its keys: mayhap build --keep-digests -o {name} KEYS"),
            ));
        }
        Ok(Self { session, waiting: waiting.clone() })
    }

    /// The header of its file.
    pub fn header(&self) -> &Header {
        self.session.image().header()
    }

    /// Passes all distinct digests to `each`, in batches.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; those of `each`.
    pub fn for_each_digest(
        &mut self,
        each: impl FnMut(&[Digest]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.session.for_each_digest(each)
    }

    /// Replaces the filter in the file by one that has been filled from the digests.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], before which nothing has changed.
    pub fn replace(mut self, set: &mut OwnSet) -> Result<(), Error> {
        self.waiting.check(self.session.checkpoint(set))
    }
}

/// In place of the filter, of which the digests are enough.
#[derive(Debug)]
struct Unread;

impl Memory for Unread {
    fn load(&mut self, _image: &Image) -> Result<(), mayhap_store::Error> {
        Ok(())
    }

    fn apply(&mut self, _record: &Record<'_>) -> Result<u64, mayhap::Error> {
        Ok(0)
    }

    fn header(&mut self, _key_options: &str) -> Header {
        unreachable!("nothing is saved while a log is followed")
    }

    fn segments(&self) -> Vec<&[Block]> {
        Vec::new()
    }
}
