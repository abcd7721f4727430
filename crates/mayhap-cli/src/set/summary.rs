//! What a verb did to a filter.

use super::fill::Counts;
use crate::error::Error;
use crate::io::messages::{Talk, counted, grouped, rate};
use mayhap::Health;
use mayhap_sets::{Forgotten, KeySet, State};
use serde::Serialize;
use std::time::Duration;

/// What `build`, `create` and `add` did, as `--json` prints it; with the state of the filter.
#[derive(Debug, Serialize)]
pub struct Summary<S> {
    file: String,
    lines_read: u64,
    new: u64,
    already_there: u64,
    lines_without_key: u64,
    seconds: f64,
    complete: bool,
    #[serde(flatten)]
    forgotten: Option<Forgotten>,
    #[serde(flatten)]
    state: S,
}

impl<S: Serialize> Summary<S> {
    /// Of a filter in `file` after `counts` lines.
    pub fn new(file: String, counts: Counts, seconds: Duration, complete: bool, state: S) -> Self {
        Self {
            file,
            lines_read: counts.lines,
            new: counts.new,
            already_there: counts.lines - counts.new - counts.without_key,
            lines_without_key: counts.without_key,
            seconds: seconds.as_secs_f64(),
            complete,
            forgotten: None,
            state,
        }
    }

    /// With the keys that were forgotten before their time, by what does so.
    #[must_use]
    pub fn with_forgotten(self, forgotten: Option<Forgotten>) -> Self {
        Self { forgotten, ..self }
    }

    /// Prints it: JSON to stdout if requested, else words to stderr, with these for the state.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub fn print_with(&self, text: fn(&S) -> String, talk: Talk, json: bool) -> Result<(), Error> {
        if json {
            return Talk::json(self, true);
        }
        let line = format!(
            "{}: {} new, {} already there ({}, {:.2} s)",
            self.file,
            grouped(self.new),
            grouped(self.already_there),
            counted(self.lines_read, "line"),
            self.seconds,
        );
        talk.report(&line, &text(&self.state));
        Ok(())
    }
}

impl Summary<State> {
    /// [`Summary::print_with`] for mayhap's own filters, and a warning if more came than it was
    /// made for.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub fn print(&self, talk: Talk, json: bool) -> Result<(), Error> {
        if let Some(forgotten) = self.forgotten {
            forgotten.text().inspect(|text| talk.warn(text));
        } else if self.state.health == Health::OverCapacity {
            // A window of time of an older version gets here without being full: by keys that come
            // all at once.
            talk.warn(&format!(
                "the rate is {}, its target {}: there are more keys, or more at a time, than its \
                 capacity",
                rate(self.state.estimated_fpp),
                rate(self.state.target_fpp)
            ));
        }
        if !json && self.lines_read == 0 && self.state.items == 0 {
            talk.report(&format!("{}: empty", self.file), &self.state.text());
            return Ok(());
        }
        self.print_with(State::text, talk, json)
    }
}

/// Warns of keys that were sent to a server again after a reply was lost.
pub fn warn_of_unsure(set: &dyn KeySet, talk: Talk) {
    let keys = set.unsure_keys();
    if keys > 0 {
        talk.warn(&format!(
            "{} keys were sent again after a reply was lost: they are in the filter, and count as \
             new, but some may have been there before",
            grouped(keys)
        ));
    }
}
