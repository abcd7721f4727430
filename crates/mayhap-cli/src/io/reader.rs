//! Lists of keys, opened for a verb: what there is to say of them goes to stderr.

use super::messages::Talk;
use crate::error::Error;
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Reading, Source, Stop};
use std::sync::Arc;

/// A reader of these sources that says what of their lines is no part of a key.
///
/// # Errors
///
/// Those of [`LineReader::new`].
pub fn open(
    sources: Vec<Source>,
    options: &KeyOptions,
    reading: Reading,
    stop: Option<Arc<Stop>>,
    talk: Talk,
) -> Result<LineReader, Error> {
    let mut reader = LineReader::new(sources, options, reading, stop)?;
    reader.on_note(move |note| talk.say_over_progress(&format!("{note} (--raw keeps it)")));
    Ok(reader)
}

/// Warns of lines without a key, if there were any.
pub fn warn_of_keyless(reader: &LineReader, talk: Talk) {
    let keyless = reader.keyless();
    if keyless.lines() > 0 {
        talk.warn(&keyless.to_string());
    }
}
