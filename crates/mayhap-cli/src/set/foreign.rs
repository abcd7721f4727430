//! Files of other systems, opened as the command line says; and what there is to say of them.

use crate::args::OpenArgs;
use crate::error::Error;
use crate::io::messages::Talk;
use mayhap_foreign::ForeignFile;
use mayhap_keys::KeyOptions;
use mayhap_sets::KeyTypes;
use std::path::Path;

/// Opens a file; `None` if it is mayhap's own, or nothing that is known, so that opening it as
/// mayhap's own says what is wrong.
///
/// # Errors
///
/// Those of [`ForeignFile::open`] and [`ForeignFile::check_filters`].
pub fn open(path: &Path, args: &OpenArgs) -> Result<Option<ForeignFile>, Error> {
    let file = open_any(path, args)?;
    file.as_ref().map_or(Ok(()), ForeignFile::check_filters)?;
    Ok(file)
}

/// [`open`] also of a column without filters.
fn open_any(path: &Path, args: &OpenArgs) -> Result<Option<ForeignFile>, Error> {
    let (known, max_bytes) = (args.foreign.known(), args.max_bytes());
    Ok(match args.column.as_deref() {
        None => ForeignFile::open(path, known, max_bytes)?,
        column => ForeignFile::open_column(path, column, known, max_bytes)?,
    })
}

/// [`open`] for verbs that need keys, also of a column without filters: says of which type keys are
/// taken to be, if that was guessed.
///
/// # Errors
///
/// Those of [`ForeignFile::open`].
pub fn open_for_keys(
    path: &Path,
    args: &OpenArgs,
    talk: Talk,
) -> Result<Option<ForeignFile>, Error> {
    let file = open_any(path, args)?;
    if let Some(file) = &file {
        let format = file.filter().format().name();
        say_guess(file.name(), format, Some(file.key_types()), talk);
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
