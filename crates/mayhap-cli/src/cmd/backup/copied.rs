//! A data folder that was copied.

use crate::error::Error;
use crate::hints::message_of_data;
use crate::io::messages::Reporter;
use mayhap_engine::durable::{self, Backup, back_up};
use mayhap_units::number::{counted, format_bytes};
use std::ffi::OsString;
use std::path::Path;

/// Copies a data folder and reports it.
///
/// # Errors
///
/// [`Error::Usage`] with the problem.
pub(in crate::cmd) fn copy(
    from: &OsString,
    to: &OsString,
    with_key: bool,
    talk: Reporter,
) -> Result<(), Error> {
    let (from, to) = (Path::new(from), Path::new(to));
    report(to, back_up(from, to, with_key), talk)
}

/// Reports a copy.
///
/// # Errors
///
/// [`Error::Usage`] with the problem.
pub(super) fn report(
    to: &Path,
    backup: Result<Backup, durable::Error>,
    talk: Reporter,
) -> Result<(), Error> {
    let Backup { filters, image_bytes, log_bytes, has_key, key_id, .. } =
        backup.map_err(|error| Error::usage(message_of_data(&error), "see mayhap man backup"))?;
    let key = if has_key { "with the secret key" } else { "without a secret key" };
    let (images, log) = (format_bytes(image_bytes), format_bytes(log_bytes));
    let (to, filters) = (to.display(), counted(filters, "filter"));
    talk.say(&format!(
        "{to}: {filters} in {images} of images and {log} of log, {key}; everything verified"
    ));
    if !has_key {
        talk.say(&format!(
            "it opens with the secret key {key_id:016x} alone: mayhap serve --key-file FILE, or \
             put the file key of the server's data folder into the restored one"
        ));
    }
    Ok(())
}
