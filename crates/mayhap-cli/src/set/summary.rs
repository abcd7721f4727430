//! The summary of a verb that changed a filter.

use super::fill::Counts;
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped};
use mayhap_sets::{Forgotten, KeySet, Measurements};
use serde::Serialize;
use std::time::Duration;

/// The summary of `build`, `create` and `add`, as `--json` prints it; with the state of the filter.
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
    measured: Measurements,
}

impl Summary {
    /// Of a filter in `file` after `counts` lines.
    pub fn new(
        file: String,
        counts: Counts,
        seconds: Duration,
        complete: bool,
        measured: Measurements,
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
            measured,
        }
    }

    /// Of a filter that was given no keys.
    pub fn unfilled(file: String, measured: Measurements) -> Self {
        Self::new(file, Counts::default(), Duration::ZERO, true, measured)
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
    /// The errors of the write.
    pub fn print(&self, talk: Reporter, json: bool) -> Result<(), Error> {
        let warning = match self.forgotten {
            Some(forgotten) => forgotten.text(),
            // A window of time of an older version gets here without being full: by keys that come
            // all at once.
            None => self.measured.warning(&self.file),
        };
        if let Some(text) = warning {
            talk.warn(&text);
        }
        if json {
            return Reporter::json(self, true);
        }
        let is_empty = match &self.measured {
            Measurements::Own(state) => state.items == 0,
            Measurements::Foreign(numbers) => numbers.fill_ratio == 0.0,
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
        talk.report(&line, &self.measured.text());
        Ok(())
    }
}

/// Refuses to be done with keys that went into a filter that is not there any more.
///
/// # Errors
///
/// [`Error::Usage`], with how many.
pub fn check_replaced(name: &str, set: &dyn KeySet) -> Result<(), Error> {
    let keys = set.remote().map_or(0, |remote| remote.replaced_keys);
    if keys == 0 {
        return Ok(());
    }
    let message = format!(
        "{name}: another client replaced the filter meanwhile (mayhap push --force, mayhap clear), \
         and {} of this run went into the old one: the new one has them only if it was made with \
         them",
        counted(keys, "key")
    );
    Err(Error::usage(message, "run it again with the same input"))
}

/// Warns of keys that were sent to a server again after a reply was lost.
pub fn warn_of_unsure(set: &dyn KeySet, talk: Reporter) {
    let keys = set.remote().map_or(0, |remote| remote.unsure_keys);
    if keys > 0 {
        talk.warn(&format!(
            "sent {} again after a reply was lost: what was sent is in the filter, and counts as \
             new, but some of it may have been there before",
            counted(keys, "key")
        ));
    }
}
