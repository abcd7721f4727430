//! What a verb did to a filter.

use super::fill::Counts;
use crate::error::Error;
use crate::io::messages::{Talk, counted, grouped};
use mayhap_sets::{Forgotten, KeySet, Numbers};
use serde::Serialize;
use std::time::Duration;

/// What `build`, `create` and `add` did, as `--json` prints it; with the state of the filter.
#[derive(Debug, Serialize)]
pub struct Summary {
    file: String,
    lines_read: u64,
    new: u64,
    already_there: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    seconds: f64,
    complete: bool,
    #[serde(flatten)]
    forgotten: Option<Forgotten>,
    #[serde(flatten)]
    numbers: Numbers,
}

impl Summary {
    /// Of a filter in `file` after `counts` lines.
    pub fn new(
        file: String,
        counts: Counts,
        seconds: Duration,
        complete: bool,
        numbers: Numbers,
    ) -> Self {
        Self {
            file,
            lines_read: counts.lines,
            new: counts.new,
            already_there: counts.lines - counts.new - counts.without_key,
            lines_without_key: counts.without_key,
            lines_with_crlf: counts.with_cr,
            seconds: seconds.as_secs_f64(),
            complete,
            forgotten: None,
            numbers,
        }
    }

    /// With the keys that were forgotten before their time, by what does so.
    #[must_use]
    pub fn with_forgotten(self, forgotten: Option<Forgotten>) -> Self {
        Self { forgotten, ..self }
    }

    /// Prints it: JSON to stdout if requested, else words to stderr; and a warning if more came
    /// than it was made for.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub fn print(&self, talk: Talk, json: bool) -> Result<(), Error> {
        let warning = match self.forgotten {
            Some(forgotten) => forgotten.text(),
            // A window of time of an older version gets here without being full: by keys that come
            // all at once.
            None => self.numbers.warning(&self.file),
        };
        if let Some(text) = warning {
            talk.warn(&text);
        }
        if json {
            return Talk::json(self, true);
        }
        let is_empty = match &self.numbers {
            Numbers::Own(state) => state.items == 0,
            Numbers::Foreign(numbers) => numbers.fill_ratio == 0.0,
        };
        let line = if self.lines_read == 0 && is_empty {
            format!("{}: empty", self.file)
        } else {
            format!(
                "{}: {} new, {} already there ({}, {:.2} s)",
                self.file,
                grouped(self.new),
                grouped(self.already_there),
                counted(self.lines_read, "line"),
                self.seconds,
            )
        };
        talk.report(&line, &self.numbers.text());
        Ok(())
    }
}

/// Refuses to be done with keys that went into a filter that is not there any more.
///
/// # Errors
///
/// [`Error::Remote`], with how many.
pub fn check_replaced(name: &str, set: &dyn KeySet) -> Result<(), Error> {
    let keys = set.replaced_keys();
    if keys == 0 {
        return Ok(());
    }
    let message = format!(
        "{name}: another client replaced the filter meanwhile (mayhap push --force, mayhap clear), \
         and {} of this run went into the old one: the new one has them only if it was made with \
         them",
        counted(keys, "key")
    );
    Err(Error::Remote { message, hint: Some("run it again with the same input".into()) })
}

/// Warns of keys that were sent to a server again after a reply was lost.
pub fn warn_of_unsure(set: &dyn KeySet, talk: Talk) {
    let keys = set.unsure_keys();
    if keys > 0 {
        talk.warn(&format!(
            "sent {} again after a reply was lost: what was sent is in the filter, and counts as \
             new, but some of it may have been there before",
            counted(keys, "key")
        ));
    }
}
