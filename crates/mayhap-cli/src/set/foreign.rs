//! Files of other systems, opened as the command line says; and what there is to say of them.

use crate::args::{ForeignArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use mayhap_foreign::{ForeignFile, NotKeys};
use mayhap_formats::KeyType;
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
        Ok(ForeignFile::open(path, self.args.known(), self.max_bytes)?)
    }

    /// [`Opener::open`] for verbs that need keys: says of which type they are taken to be, if that
    /// was guessed.
    ///
    /// # Errors
    ///
    /// Those of [`ForeignFile::open`].
    pub fn open_for_keys(&self, path: &Path) -> Result<Option<ForeignFile>, Error> {
        let file = self.open(path)?;
        if let Some(file) = file.as_ref().filter(|file| file.is_guess()) {
            let format = file.filter().format().name();
            say_guess(file.name(), format, file.key_type(), &file.other_types(), self.talk);
        }
        Ok(file)
    }
}

/// Says of which type the keys of a filter are taken to be.
pub fn say_guess(name: &str, format: &str, taken: KeyType, others: &[KeyType], talk: Talk) {
    talk.say(&format!(
        "{name}: a {format} filter; keys are encoded as {} (--key-type chooses: {})",
        taken.name(),
        names(others)
    ));
}

/// Warns of texts that are no keys; and where nothing was found in so many lines, says what that
/// may mean.
pub fn warn(file: &ForeignFile, lines: u64, found: u64, talk: Talk) {
    warn_of_not_keys(file.all_not_keys(), file.name(), talk);
    let others = file.other_types();
    if found == 0 && lines > file.all_not_keys().lines() && !others.is_empty() {
        talk.say(&format!(
            "{}: no key was found as {}; if it has keys of another type, choose it with \
             --key-type: {}",
            file.name(),
            file.key_type().name(),
            names(&others)
        ));
    }
}

/// Warns of lines that are no keys for a filter, if there were any.
pub fn warn_of_not_keys(not_keys: &NotKeys, name: &str, talk: Talk) {
    if let Some(text) = not_keys.text(name) {
        talk.warn(&text);
    }
}

/// Types of keys, as `--key-type` takes them.
fn names(types: &[KeyType]) -> String {
    types.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ")
}
