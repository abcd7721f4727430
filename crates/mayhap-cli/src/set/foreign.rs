//! Files of other systems, opened as the command line says; and what there is to say of them.

use crate::args::{OpenArgs, secret_key};
use crate::error::Error;
use crate::io::messages::Talk;
use mayhap::SecretKey;
use mayhap_foreign::ForeignFile;
use mayhap_keys::KeyOptions;
use mayhap_sets::KeyTypes;
use std::path::Path;

/// Opens a file; `None` if it is mayhap's own, or nothing that is known, so that opening it as
/// mayhap's own says what is wrong.
///
/// # Errors
///
/// Those of [`ForeignFile::open`], [`ForeignFile::check_filters`] and [`secret_key::refuse`].
pub fn open(path: &Path, args: &OpenArgs) -> Result<Option<ForeignFile>, Error> {
    let file = open_any(path, args, args.secret_key()?)?;
    file.as_ref().map_or(Ok(()), ForeignFile::check_filters)?;
    Ok(file)
}

/// [`open`] for verbs that need keys, also of a column without filters, with the secret key that is
/// meant for this filter: says of which type keys are taken to be, if that was guessed.
///
/// # Errors
///
/// Those of [`open`].
pub fn open_for_keys(
    path: &Path,
    args: &OpenArgs,
    key: Option<SecretKey>,
    talk: Talk,
) -> Result<Option<ForeignFile>, Error> {
    let file = open_any(path, args, key)?;
    if let Some(file) = &file {
        let format = file.filter().format().name();
        say_guess(file.name(), format, Some(file.key_types()), talk);
    }
    Ok(file)
}

/// [`open`] also of a column without filters.
fn open_any(
    path: &Path,
    args: &OpenArgs,
    key: Option<SecretKey>,
) -> Result<Option<ForeignFile>, Error> {
    let (known, max_bytes) = (args.foreign.known(), args.max_bytes());
    let file = match args.column.as_deref() {
        None => ForeignFile::open(path, known, max_bytes)?,
        column => ForeignFile::open_column(path, column, known, max_bytes)?,
    };
    if file.is_some() {
        secret_key::refuse(key, path)?;
    }
    Ok(file)
}

/// Says of which type the keys of a filter are taken to be, if that was guessed.
pub fn say_guess(name: &str, format: &str, types: Option<KeyTypes>, talk: Talk) {
    if let Some(KeyTypes { taken, others, .. }) = types.filter(|types| types.is_guess) {
        talk.say(&format!(
            "{name}: a {format} filter; keys are encoded as {taken} (--key-type chooses: {})",
            others.join(", ")
        ));
    }
}

/// Says how keys are cut where a filter of this format cannot record it.
pub fn say_options(name: &str, format: &str, options: &KeyOptions, talk: Talk) {
    if *options != KeyOptions::default() {
        talk.say(&format!(
            "{name}: a key is {}; a {format} filter cannot record that, so give the same options \
             with each query",
            options.describe(),
        ));
    }
}
