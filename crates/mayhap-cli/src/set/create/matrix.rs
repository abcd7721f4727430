//! Many sets in one file, a set for each list.

use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::set::fill::{self, Counts};
use mayhap::{BloomMatrix, DigestFunction, Health};
use mayhap_keys::KeyOptions;
use mayhap_lists::{Reading, Source, Stop};
use mayhap_units::number::{counted, format_bytes, format_count, grouped};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Below this many sets, filters of their own take less memory: a row has bits for 512.
const FEW_SETS: usize = 100;

/// The lists of the sets, and how they are read.
#[derive(Debug)]
pub struct Lists<'a> {
    /// A list for each set.
    pub files: &'a [PathBuf],
    /// How keys are cut.
    pub options: &'a KeyOptions,
    /// How lists are read.
    pub reading: Reading,
    /// Whether lists of which hardly a line has a key are taken.
    pub skip_bad: bool,
    /// The signal that ends the run.
    pub stop: &'a Arc<Stop>,
    /// For messages.
    pub talk: Reporter,
}

/// Builds a matrix with a set for each list, named as the list is. Without -n each set gets room
/// for the keys of the longest list.
///
/// # Errors
///
/// [`Error::Usage`] for numbers that it has no use for, for lists without a name, and for one with
/// more than -n keys unless `overfills`; [`Error::TooMuchMemory`], [`Error::Filter`], those of
/// [`mayhap_lists::LineReader`].
pub fn build(
    size: &SizeArgs,
    digest: &DigestArgs,
    overfills: bool,
    lists: &Lists<'_>,
) -> Result<(BloomMatrix, Counts), Error> {
    check(size, lists.files)?;
    let items = match size.items {
        Some(items) => items,
        None => longest(lists)?,
    };
    let mut matrix = empty(size, digest, items, lists.files)?;
    if matrix.num_sets() < FEW_SETS {
        let (sets, bytes) = (matrix.num_sets(), format_bytes(matrix.num_bytes()));
        lists.talk.warn(&format!(
            "a matrix has room for 512 sets: {} in {bytes}; fewer than {FEW_SETS} take less memory \
             as filters (mayhap which -f A -f B)",
            counted(sets as u64, "set"),
        ));
    }
    let sets: Vec<usize> = (0..lists.files.len()).collect();
    let counts = fill(&mut matrix, &sets, size.items.filter(|_| !overfills), lists)?;
    Ok((matrix, counts))
}

/// Inserts each list into its set, which may get no more keys than `limit`.
///
/// # Errors
///
/// [`Error::Usage`] for a set with more keys; those of [`mayhap_lists::LineReader`].
pub fn fill(
    matrix: &mut BloomMatrix,
    sets: &[usize],
    limit: Option<u64>,
    lists: &Lists<'_>,
) -> Result<Counts, Error> {
    let sources: Vec<Source> = Source::from_paths(lists.files);
    let mut progress = Progress::new(lists.talk, Source::total_size(&sources)?);
    let mut counts = Counts::default();
    let mut bytes_before = 0;
    for (&set, path) in sets.iter().zip(lists.files) {
        let mut ticker = |read: Counts, raw_bytes: u64| {
            progress.tick(counts.lines + read.lines, bytes_before + raw_bytes, String::new);
        };
        let (read, raw_bytes) = fill_set(matrix, set, path, limit, lists, &mut ticker)?;
        counts.lines += read.lines;
        counts.new += read.new;
        counts.without_key += read.without_key;
        counts.with_cr += read.with_cr;
        bytes_before += raw_bytes;
    }
    progress.clear();
    Ok(counts)
}

/// Refuses what a matrix has no use for.
fn check(size: &SizeArgs, files: &[PathBuf]) -> Result<(), Error> {
    if size.mem.is_some() {
        return Err(Error::usage(
            "--mem does not size a matrix",
            "give the keys of each set with -n, the rate with -p; --max-memory is a limit",
        ));
    }
    if files.is_empty() || files.iter().any(|path| path == Path::new("-")) {
        return Err(Error::usage(
            "a matrix has a set for each list, named as its file, and standard input has no name",
            "for example: mayhap build --layout matrix -o shards.mayhap a.txt b.txt",
        ));
    }
    Ok(())
}

/// The keys of the longest list, with the room that counting needs.
fn longest(lists: &Lists<'_>) -> Result<u64, Error> {
    let mut most = 1;
    for path in lists.files {
        let source = Source::from_paths(std::slice::from_ref(path));
        let talk = (lists.talk, Source::total_size(&source)?);
        let found = fill::count_distinct(&source, lists.options, lists.reading, lists.stop, talk)?;
        let Some(found) = found else {
            return Err(Error::usage(
                format!(
                    "{} cannot be counted before it is read, so -n has to say how many keys come",
                    path.display()
                ),
                "for example: mayhap build --layout matrix -n 10M -o shards.mayhap A B",
            ));
        };
        most = most.max(found.room);
    }
    let (sets, keys) = (counted(lists.files.len() as u64, "list"), format_count(most));
    lists.talk.say(&format!("counted {sets}: room for {keys} distinct keys each"));
    Ok(most)
}

/// The matrix without keys, its sets named.
fn empty(
    size: &SizeArgs,
    digest: &DigestArgs,
    items: u64,
    files: &[PathBuf],
) -> Result<BloomMatrix, Error> {
    size.refuse_preset("matrix")?;
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let make = |function: DigestFunction| {
        let built = BloomMatrix::builder()
            .num_sets(files.len())
            .expected_items(items)
            .target_fpp(size.fpp.unwrap_or(DEFAULT_FPP))
            .digest_function(function)
            .max_bytes(size.max_bytes())
            .build();
        let mut matrix = built.map_err(|error| match error {
            mayhap::Error::TooLarge { limit, found: needed, .. } if limit == size.max_bytes() => {
                Error::TooMuchMemory { needed, limit }
            }
            error => error.into(),
        })?;
        matrix.set_names(&names)?;
        Ok(matrix)
    };
    if digest.new_key_file.is_some() {
        // So that no key file is made for a matrix that is refused.
        make(DigestFunction::default()).map(drop)?;
    }
    make(digest.function()?)
}

/// Inserts a list into a set; what was read of it, and its bytes.
fn fill_set(
    matrix: &mut BloomMatrix,
    set: usize,
    path: &Path,
    limit: Option<u64>,
    lists: &Lists<'_>,
    tick: &mut dyn FnMut(Counts, u64),
) -> Result<(Counts, u64), Error> {
    let source = Source::from_paths(&[path.to_owned()]);
    let stop = Some(Arc::clone(lists.stop));
    let mut reader = reader::open(source, lists.options, lists.reading, stop, lists.talk)?;
    let function = *matrix.digest_function();
    reader.digest_by(function);
    let (mut counts, mut digests) = (Counts::default(), Vec::new());
    loop {
        let raw_bytes = reader.raw_bytes();
        let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
        counts.lines += batch.len() as u64;
        if batch.is_keyless() {
            continue;
        }
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        counts.new += matrix.insert_digests(set, &digests).count_ones() as u64;
        if let Some(limit) = limit
            && matrix.health_by_count(set) == Health::OverCapacity
        {
            return Err(Error::usage(
                format!(
                    "the set of {} has more than {} distinct keys, the -n of each set; nothing was \
                     written",
                    path.display(),
                    grouped(limit)
                ),
                "build a matrix with a larger -n, or continue with --overfill",
            ));
        }
        tick(counts, raw_bytes);
    }
    (counts.without_key, counts.with_cr) = (reader.keyless().lines(), reader.cr_lines());
    let (lines, with) = ((counts.without_key, counts.lines), (lists.talk, lists.skip_bad));
    reader::usable(&reader, lines, with, "nothing was written")?;
    lists.stop.check()?;
    Ok((counts, reader.raw_bytes()))
}
