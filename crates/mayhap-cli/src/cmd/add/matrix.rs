//! Lists into the sets of a matrix file.

use super::Args;
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::memory;
use crate::set::create::matrix::{Lists, fill};
use crate::set::session::Waiting;
use crate::set::summary::Summary;
use mayhap::BloomMatrix;
use mayhap::native::{Header, Native};
use mayhap_keys::KeyOptions;
use mayhap_lists::Stop;
use mayhap_sets::{Measurements, matrix_state};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Refuses options that only apply to a matrix.
///
/// # Errors
///
/// [`Error::Usage`].
pub(super) fn refuse_sets(args: &Args) -> Result<(), Error> {
    if args.set.is_none() && !args.replace_sets {
        return Ok(());
    }
    Err(Error::usage(
        "--set and --replace-sets are for matrix files",
        "omit them; a matrix is built with mayhap build --layout matrix",
    ))
}

/// Adds each list to the set of its name, or all of them to that of `--set`; the file is replaced
/// at the end, whole or not at all.
///
/// # Errors
///
/// Any of [`Error`].
pub(super) fn add(args: &Args, talk: Reporter) -> Result<(), Error> {
    if args.clear_at.is_some() || args.no_refresh {
        return Err(Error::usage(
            "--clear-at and --no-refresh are not for a matrix",
            "omit them; --replace-sets forgets the keys of a set",
        ));
    }
    let start = Instant::now();
    let stop = Stop::on_signals()?;
    let lock = Waiting::new("add", args.lock, talk, Some(&stop)).lock(&args.file)?;
    let (name, given) = (args.file.display().to_string(), args.lines.key_options());
    let header = mayhap_store::read_header(&args.file)?;
    let limit = args.open.max_bytes();
    memory::check(header.body_bytes(), limit)?;
    let options = KeyOptions::from_header(&name, header.key_options())?.agree(&name, &given)?;
    let key = args.open.secret_key()?;
    let mut matrix: BloomMatrix = mayhap_store::load_as(&args.file, key)?.filter;
    matrix.set_max_bytes(limit);
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let sets = files.iter().map(|path| set_of(&mut matrix, args, path)).collect::<Result<_, _>>();
    let sets: Vec<usize> = sets?;
    if args.replace_sets {
        for &set in &sets {
            matrix.remove_set(set);
        }
    }
    let reading = args.lines.reading();
    let skip_bad = args.lines.skip_bad;
    let lists = Lists { files, options: &options, reading, skip_bad, stop: &stop, talk };
    let most = Some(matrix.expected_items()).filter(|_| !args.overfill);
    let counts = fill(&mut matrix, &sets, most, &lists)?;
    stop.check()?;
    let header = Header::of(&matrix, &options.to_header());
    lock.save(&header, &matrix.segments(), true)?;
    let numbers = Measurements::Own(matrix_state(&matrix));
    Summary::new(name, counts, start.elapsed(), true, numbers).print(talk, args.json)
}

/// The set of a list: a new one if there is none of its name.
fn set_of(matrix: &mut BloomMatrix, args: &Args, path: &Path) -> Result<usize, Error> {
    let name = match &args.set {
        Some(name) => name.clone(),
        None if path == Path::new("-") => {
            return Err(Error::usage("standard input has no name", "name its set with --set NAME"));
        }
        None => path.display().to_string(),
    };
    let num_sets = matrix.num_sets();
    if num_sets > 0 && matrix.name(0).is_none() {
        let number = name.parse().ok().filter(|&set: &usize| set < num_sets);
        return number.ok_or_else(|| {
            Error::usage(
                format!("the sets of this matrix have no names, and there is no number {name}"),
                format!("give --set 0 to --set {}", num_sets - 1),
            )
        });
    }
    let mut names: Vec<String> =
        (0..num_sets).filter_map(|set| matrix.name(set).map(Into::into)).collect();
    if let Some(set) = names.iter().position(|other| *other == name) {
        return Ok(set);
    }
    matrix.add_sets(1)?;
    names.push(name);
    matrix.set_names(&names)?;
    Ok(num_sets)
}
