//! Opening files of other systems, as the command line says.

use super::ForeignFile;
use crate::args::{ForeignArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use std::path::Path;

/// Opens files of other systems.
#[derive(Debug, Clone, Copy)]
pub struct Opener<'a> {
    args: &'a ForeignArgs,
    max_bytes: u64,
    talk: Talk,
}

impl<'a> Opener<'a> {
    /// Opens filters of at most `max_bytes`.
    pub fn new(args: &'a ForeignArgs, max_bytes: u64, talk: Talk) -> Self {
        Self { args, max_bytes, talk }
    }

    /// As the arguments of a verb say.
    pub fn of(args: &'a OpenArgs, talk: Talk) -> Self {
        Self::new(&args.foreign, args.max_bytes(), talk)
    }

    /// Opens a file; `None` if it is mayhap's own, or nothing that is known, so that opening it as
    /// mayhap's own says what is wrong.
    ///
    /// # Errors
    ///
    /// Those of [`ForeignFile::open`].
    pub fn open(&self, path: &Path) -> Result<Option<ForeignFile>, Error> {
        ForeignFile::open(path, self.args, self.max_bytes)
    }

    /// [`Opener::open`] for verbs that need keys: says of which type they are taken to be, if that
    /// was guessed.
    ///
    /// # Errors
    ///
    /// Those of [`ForeignFile::open`].
    pub fn open_for_keys(&self, path: &Path) -> Result<Option<ForeignFile>, Error> {
        let file = self.open(path)?;
        if let Some(guess) = file.as_ref().and_then(ForeignFile::guess) {
            self.talk.say(&guess);
        }
        Ok(file)
    }
}
