//! Merging filters of one other system.

use super::Args;
use crate::error::{Error, Limit, over_full};
use crate::io::messages::{Reporter, counted};
use crate::set::open;
use mayhap_sets::file::ForeignFile;
use mayhap_sets::{ByFormula, Held, Room};
use mayhap_store::FilterLock;
use serde::Serialize;

/// The merged filter, as `--json` prints it.
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

/// Adds the keys of all other files to the first one, and saves the result elsewhere.
///
/// # Errors
///
/// Those of [`open::foreign`]; [`Error::Usage`] naming what differs; [`Error::Store`].
pub(super) fn run(
    first: ForeignFile,
    (args, lock): (&Args, &FilterLock),
    talk: Reporter,
) -> Result<(), Error> {
    let mut merged = vec![Part::of(&first)];
    let mut sum = first;
    sum.check_change()?;
    for path in &args.files[1..] {
        let Some(more) = open::foreign(path, &args.open, talk)? else {
            let (path, name, format) = (path.display(), sum.name(), sum.filter().format().name());
            return Err(Error::usage(
                format!("{path} is not a filter of another system, but {name} is one of {format}"),
                "merge files of one system; --format names it",
            ));
        };
        let union = sum.filter_mut().union_with(more.filter());
        union.map_err(|source| unlike(&sum, &more, &source))?;
        merged.push(Part::of(&more));
    }
    // Without a capacity in the file, or an estimate from the bits, there is only the warning
    // below.
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
    talk.summary(args.json, &summary, |Summary { file, merged, numbers }| {
        let merged = counted(merged.len() as u64, "filter");
        (format!("{file}: {merged} merged"), numbers.text())
    })
}

fn unlike(sum: &ForeignFile, more: &ForeignFile, source: &mayhap_formats::Error) -> Error {
    let (more, sum) = (more.name(), sum.name());
    Error::usage(
        format!("{more} and {sum} cannot be merged: {source}; nothing was written"),
        "query them together with mayhap check -f FILTER -f FILTER",
    )
}
