//! Waiting for others to finish changing a file, with the messages meanwhile.

use crate::args::LockArgs;
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::kept::ReplacedDigests;
use crate::set::short;
use mayhap::native::Header;
use mayhap::{Block, Digest};
use mayhap_lists::Stop;
use mayhap_sets::{Contents, KeySet, OwnSet};
use mayhap_store::{FilterLock, LockOptions, Memory, Wait};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Nobody wants to read of a wait that is over sooner.
const WORTH_SAYING: Duration = Duration::from_secs(1);

/// The waiting for a lock, and its messages.
#[derive(Debug, Clone)]
pub struct Waiting {
    verb: &'static str,
    args: LockArgs,
    talk: Reporter,
    stop: Option<Arc<Stop>>,
}

impl Waiting {
    /// For a verb, until a signal comes if these are looked for.
    pub fn new(
        verb: &'static str,
        args: LockArgs,
        talk: Reporter,
        stop: Option<&Arc<Stop>>,
    ) -> Self {
        Self { verb, args, talk, stop: stop.map(Arc::clone) }
    }

    /// Says for whom it waits, after a second of each wait.
    pub(super) fn options(&self) -> LockOptions {
        let (talk, stop) = (self.talk, self.stop.clone());
        let mut said = false;
        let on_wait = move |wait: &Wait<'_>| {
            if wait.waited < WORTH_SAYING {
                said = false;
            } else if !said {
                said = true;
                talk.say(&text(wait));
            }
            match stop.as_ref().and_then(|stop| stop.signal()) {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        };
        let LockArgs { lock_timeout, lock } = self.args;
        LockOptions::new(&format!("mayhap {}", self.verb))
            .kind(lock.kind())
            .timeout(lock_timeout)
            .on_wait(on_wait)
    }

    /// Takes the lock of a filter file that is to be made, replaced or changed.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if others hold it for too long; [`Error::Stopped`].
    pub fn lock(&self, path: &Path) -> Result<FilterLock, Error> {
        self.check(FilterLock::take(path, &mut self.options()))
    }

    /// Saves a filter as a file of its own; one that is there is replaced, with its log, only if
    /// `force` is set.
    ///
    /// # Errors
    ///
    /// As [`Waiting::lock`]; [`Error::Store`].
    pub fn save(
        &self,
        path: &Path,
        header: &Header,
        segments: &[&[Block]],
        force: bool,
    ) -> Result<(), Error> {
        let digests = ReplacedDigests::of(path);
        self.lock(path)?.save(header, segments, force)?;
        digests.say(self.talk);
        Ok(())
    }

    /// [`Waiting::save`] of a set, with these key options, which files of other systems cannot
    /// record, and with the digests of all its keys beside the file if there are any.
    ///
    /// # Errors
    ///
    /// As [`Waiting::save`]; [`Error::Usage`] for sets that cannot be the contents of a file;
    /// [`Error::Store`] if another file has the name of the digests.
    pub fn save_set(
        &self,
        path: &Path,
        (set, key_options): (&mut dyn KeySet, &str),
        digests: Option<Vec<Digest>>,
        force: bool,
    ) -> Result<(), Error> {
        match (set.contents().ok_or_else(not_of_a_file)?, digests) {
            (Contents::Own(own), Some(digests)) => {
                let (header, lock) = (own.header(key_options), self.lock(path)?);
                Ok(lock.save_with_digests(&header, &own.segments(), digests, force)?)
            }
            (Contents::Own(own), None) => {
                let header = own.header(key_options);
                self.save(path, &header, &own.segments(), force)
            }
            (Contents::Whole(_), Some(_)) => Err(not_of_a_file()),
            (Contents::Whole(file), None) => Ok(file.save(&self.lock(path)?, force)?),
        }
    }

    /// [`Waiting::save`] of a set as a short file, with these key options.
    ///
    /// # Errors
    ///
    /// As [`Waiting::save`]; [`Error::Usage`] for sets that have no short form.
    pub fn save_short(
        &self,
        path: &Path,
        (set, key_options): (&mut dyn KeySet, &str),
        force: bool,
    ) -> Result<(), Error> {
        let set = own(set)?;
        let (header, segments) = (set.header(key_options), set.segments());
        short::check(path, &header, &segments)?;
        let digests = ReplacedDigests::of(path);
        self.lock(path)?.save_short(&header, &segments, force)?;
        digests.say(self.talk);
        Ok(())
    }

    /// A result of the store; where a signal has ended a wait, that is the error.
    pub(super) fn check<T>(&self, result: Result<T, mayhap_store::Error>) -> Result<T, Error> {
        match (result, self.stop.as_ref().and_then(|stop| stop.signal())) {
            (Err(mayhap_store::Error::WaitStopped { .. }), Some(signal)) => {
                Err(Error::Stopped { signal })
            }
            (result, _) => Ok(result?),
        }
    }
}

fn text(wait: &Wait<'_>) -> String {
    let path = wait.path.display();
    match wait.holder {
        Some(holder) => format!("waiting for {holder}, which is changing {path}"),
        None => format!("waiting for another process, which is changing {path}"),
    }
}

pub(super) fn not_of_a_file() -> Error {
    Error::usage("this filter is not in a file", "name a file")
}

/// The filter of a file of our own.
pub(super) fn own(set: &mut dyn KeySet) -> Result<&mut OwnSet, Error> {
    set.own_mut().ok_or_else(not_of_a_file)
}
