//! Filters of other systems: those of Parquet fold, as the crate `parquet` folds them.

use super::{Args, Fold};
use crate::error::Error;
use crate::set::session::Waiting;
use mayhap_formats::{ForeignFilter, SplitBlockFilter};
use mayhap_sets::Measurements;
use mayhap_sets::file::{ForeignFile, Known};

/// Folds the Parquet filter of a file that is none of our own, for which `error` is the reason.
///
/// # Errors
///
/// That error if it is no filter at all; [`Error::Usage`] for other systems and for numbers that
/// their filters do not have; [`Error::Store`].
pub(super) fn run(
    args: &Args,
    error: mayhap_store::Error,
    (waiting, limit): (&Waiting, u64),
) -> Result<Fold, Error> {
    let open = |path| ForeignFile::open(path, Known::default(), limit);
    // A file that is no filter needs no lock.
    if !matches!(open(&args.file), Ok(Some(_))) {
        return Err(error.into());
    }
    let output = args.output.as_ref().unwrap_or(&args.file);
    let lock = waiting.lock(output)?;
    let Some(file) = open(&args.file)? else { return Err(error.into()) };
    let Some(filter) = file.filter().as_any().downcast_ref::<SplitBlockFilter>() else {
        let format = file.filter().format().name();
        return Err(Error::usage(
            format!("{} is a {format} filter, which does not fold", file.name()),
            "build a smaller one from the keys: mayhap build --format",
        ));
    };
    let mut folded = filter.clone();
    let factor = fold(args, &mut folded)?;
    if factor > 1 || args.output.is_some() {
        lock.save_bytes(&folded.encode(), args.output.is_none() || args.force)?;
    }
    let numbers = open(output)?.map(|file| file.numbers());
    let Some(numbers) = numbers else { return Err(error.into()) };
    Ok(Fold {
        factor,
        num_bytes_before: filter.num_blocks() * 32,
        num_bytes_after: folded.num_blocks() * 32,
        measured: Measurements::Foreign(numbers),
    })
}

/// Folds it by the factor that is given, or as far as the rate allows.
fn fold(args: &Args, filter: &mut SplitBlockFilter) -> Result<u64, Error> {
    let name = args.file.display();
    match (args.factor, args.fpp, args.items) {
        (Some(factor), ..) => {
            let blocks = filter.num_blocks();
            filter.fold(factor).map_err(|_| {
                Error::usage(
                    format!(
                        "{name}: {} not fold by {factor}",
                        match blocks {
                            1 => "1 block does".into(),
                            blocks => format!("{blocks} blocks do"),
                        }
                    ),
                    "a factor has to divide their number, which in Parquet is a power of 2",
                )
            })?;
            Ok(factor)
        }
        (None, Some(fpp), None) => Ok(filter.fold_to_target_fpp(fpp)),
        _ => Err(Error::usage(
            format!("{name} is a parquet filter, which records no rate and no number of keys"),
            "give the rate that it is to keep for its keys with -p, or --factor, and omit -n",
        )),
    }
}
