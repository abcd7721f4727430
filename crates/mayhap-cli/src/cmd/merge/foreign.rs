//! Filters of one other system, made one.

use super::Args;
use crate::error::{Error, Limit, over_full};
use crate::io::messages::{Talk, counted};
use crate::outcome::Outcome;
use crate::set::foreign::open;
use mayhap_foreign::ForeignFile;
use mayhap_sets::{ByFormula, Held, Room};
use mayhap_store::FilterLock;
use serde::Serialize;

/// What was merged, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    merged: Vec<Part>,
    #[serde(flatten)]
    numbers: ByFormula,
}

#[derive(Debug, Serialize)]
struct Part {
    file: String,
    estimated_items: Option<u64>,
}

impl Part {
    fn of(file: &ForeignFile) -> Self {
        Self { file: file.name().to_owned(), estimated_items: file.filter().estimated_items() }
    }
}

/// Takes the keys of all other files over into the first one, and saves that elsewhere.
///
/// # Errors
///
/// Those of [`open`]; [`Error::Usage`] naming what differs; [`Error::Store`].
pub(super) fn run(
    first: ForeignFile,
    (args, lock): (&Args, &FilterLock),
    talk: Talk,
) -> Result<Outcome, Error> {
    let mut merged = vec![Part::of(&first)];
    let mut sum = first;
    sum.check_change()?;
    for path in &args.files[1..] {
        let Some(more) = open(path, &args.open)? else {
            return Err(Error::usage(
                format!(
                    "{} is not a filter of another system, but {} is one of {}",
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
        && !args.overfill
    {
        return Err(Error::Full(over_full(items, Limit::Keys(expected))));
    }
    sum.save(lock, args.force)?;
    let numbers = sum.numbers();
    let file = args.output.display().to_string();
    if let Some(problem) = numbers.overfilled() {
        talk.warn(&format!("{file}: {problem}"));
    }
    let summary = Summary { file, merged, numbers };
    if args.json {
        Talk::json(&summary, true)?;
    } else {
        let merged = counted(summary.merged.len() as u64, "filter");
        let line = format!("{}: {merged} merged", summary.file);
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
