//! Notes about a filter, printed when it is opened or created.

use crate::io::messages::Reporter;
use mayhap_keys::KeyOptions;
use mayhap_sets::Note;

/// Prints the notes about a filter that is opened.
pub fn say<'a>(notes: impl IntoIterator<Item = Note<'a>>, talk: Reporter) {
    for note in notes {
        match note {
            Note::GuessedKeys { name, format, types } => talk.say(&format!(
                "{name}: a {format} filter; keys are encoded as {} (--key-type chooses: {})",
                types.taken,
                types.others.join(", ")
            )),
            Note::LogMissing { path, log } => talk.warn(&format!(
                "{}: read without {}; the keys recorded there are missing",
                path.display(),
                log.display()
            )),
            Note::LogOfAnother { log } => {
                talk.warn(&format!("{} belongs to another filter; not touched", log.display()));
            }
        }
    }
}

/// Says how keys are cut where a filter of this format cannot record it.
pub fn say_options(name: &str, format: &str, options: &KeyOptions, talk: Reporter) {
    if *options != KeyOptions::default() {
        talk.say(&format!(
            "{name}: a key is {}; a {format} filter cannot record that, so give the same options \
             with each query",
            options.describe(),
        ));
    }
}
