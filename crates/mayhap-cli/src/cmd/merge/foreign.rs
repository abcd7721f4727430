//! Filters of one other system, made one.

use crate::error::{Error, over_full};
use crate::io::messages::{Talk, grouped};
use crate::outcome::Outcome;
use crate::set::foreign::Opener;
use mayhap_foreign::{ForeignFile, Numbers};
use mayhap_sets::{Held, Room};
use mayhap_store::FilterLock;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A request of `mayhap merge`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job<'a> {
    /// The files, the first of which is open already.
    pub files: &'a [PathBuf],
    /// The file to make.
    pub output: &'a Path,
    /// Its lock.
    pub lock: &'a FilterLock,
    /// Replace it.
    pub force: bool,
    /// Write it even if it holds more keys than it was made for.
    pub overfill: bool,
    /// Print the summary as JSON, on stdout.
    pub json: bool,
}

/// What was merged, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    merged: Vec<Part>,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Debug, Serialize)]
struct Part {
    file: String,
    estimated_items: Option<u64>,
}

impl Part {
    fn of(file: &ForeignFile) -> Self {
        let estimated_items = file.filter().estimated_items();
        Self { file: file.name().to_owned(), estimated_items }
    }
}

/// Takes the keys of all other files over into the first one, and saves that elsewhere.
///
/// # Errors
///
/// Those of [`Opener::open`]; [`Error::Usage`] naming what differs; [`Error::Store`].
pub(super) fn run(
    first: ForeignFile,
    opener: Opener<'_>,
    job: &Job<'_>,
    talk: Talk,
) -> Result<Outcome, Error> {
    let mut merged = vec![Part::of(&first)];
    let mut sum = first;
    sum.check_change()?;
    for path in &job.files[1..] {
        let Some(more) = opener.open(path)? else {
            return Err(Error::usage(
                format!(
                    "{} is no filter of another system, but {} is of {}",
                    path.display(),
                    sum.name(),
                    sum.filter().format().name()
                ),
                "merge files of one system; --format names it",
            ));
        };
        let union = sum.filter_mut().union_with(more.filter());
        union.map_err(|source| unlike(&sum, &more, &source))?;
        merged.push(Part::of(&more));
    }
    // What the file does not say, or the bits do not show, is only warned of below.
    if let (Some(expected), Some(items)) = (sum.expected_items(), sum.filter().estimated_items())
        && Room::left(Held::Estimated(items), expected) == Room::None
        && !job.overfill
    {
        return Err(Error::Full(over_full(items, expected)));
    }
    sum.save(job.lock, job.force)?;
    let numbers = Numbers::of(&sum);
    let file = job.output.display().to_string();
    if let Some(problem) = numbers.overfilled() {
        talk.warn(&format!("{file}: {problem}"));
    }
    let summary = Summary { file, merged, numbers };
    if job.json {
        Talk::json(&summary, true)?;
    } else {
        let merged = grouped(summary.merged.len() as u64);
        let line = format!("{}: {merged} filters merged", summary.file);
        talk.report(&line, &summary.numbers.text());
    }
    Ok(Outcome::Done)
}

fn unlike(sum: &ForeignFile, more: &ForeignFile, source: &mayhap_formats::Error) -> Error {
    Error::usage(
        format!(
            "{} and {} cannot be merged: {source}; nothing was written",
            more.name(),
            sum.name()
        ),
        "query them together with mayhap check -f FILTER -f FILTER",
    )
}
