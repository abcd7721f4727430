//! Lists of keys, opened for a verb: notes about them go to stderr, and lines without a key affect
//! the exit code of the verb.

use super::messages::{Reporter, counted, grouped};
use crate::error::Error;
use mayhap_keys::{KeyOptions, NoKey};
use mayhap_lists::{LineReader, Reading, Source, Stop};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

/// The sources that file arguments name, and their bytes if all of them are regular files.
///
/// # Errors
///
/// [`Error::Terminal`] instead of waiting for keys that are typed; the errors of
/// [`Source::total_size`].
pub fn input(paths: &[PathBuf]) -> Result<(Vec<Source>, Option<u64>), Error> {
    let sources = Source::from_paths(paths);
    if sources.contains(&Source::Stdin) && std::io::stdin().is_terminal() {
        return Err(Error::Terminal);
    }
    let total_bytes = Source::total_size(&sources)?;
    Ok((sources, total_bytes))
}

/// A reader of these sources that reports the parts of their lines that belong to no key.
///
/// # Errors
///
/// The errors of [`LineReader::new`].
pub fn open(
    sources: Vec<Source>,
    options: &KeyOptions,
    reading: Reading,
    stop: Option<Arc<Stop>>,
    talk: Reporter,
) -> Result<LineReader, Error> {
    let mut reader = LineReader::new(sources, options, reading, stop)?;
    reader.on_note(move |note| talk.say_over_progress(&note.to_string()));
    Ok(reader)
}

/// Reports the number of lines that end with CR LF, and warns of lines without a key.
pub fn warn_of_keyless(reader: &LineReader, talk: Reporter) {
    say_cr_lines(reader, talk);
    if reader.keyless().lines() > 0 {
        talk.warn(&reader.keyless().to_string());
    }
}

fn say_cr_lines(reader: &LineReader, talk: Reporter) {
    let Some(lines) = reader.surprising_cr_lines() else { return };
    let all = reader.lines();
    let of = if lines < all { format!(" of {}", grouped(all)) } else { String::new() };
    let ends = if lines == 1 && all <= 1 { "line ends" } else { "lines end" };
    talk.say(&format!(
        "{}{of} {ends} with CR LF; the CR is not part of their keys (--raw keeps it)",
        grouped(lines)
    ));
}

/// The messages at the end of a verb that queries. A line without a key was not queried: whether it
/// is in the filter is unknown.
///
/// # Errors
///
/// [`Error::Usage`] if there were such lines, unless they may be skipped: then a warning.
pub fn answered(reader: &LineReader, talk: Reporter, skip_bad: bool) -> Result<(), Error> {
    if skip_bad || reader.keyless().lines() == 0 {
        warn_of_keyless(reader, talk);
        return Ok(());
    }
    say_cr_lines(reader, talk);
    let line = if reader.keyless().lines() == 1 { "it was" } else { "they were" };
    Err(Error::usage(
        format!("{}: {line} not looked up", reader.keyless()),
        hint(reader, "answers for the other lines alone"),
    ))
}

/// The messages at the end of a verb that fills a filter, or removes keys from one, when some of
/// the lines have no key. `outcome` is the fate of the others.
///
/// # Errors
///
/// [`Error::Usage`] if none has a key, or if fewer than half have one and the others may not be
/// skipped; else at most a warning.
pub fn usable(
    reader: &LineReader,
    (without_key, lines): (u64, u64),
    (talk, skip_bad): (Reporter, bool),
    outcome: &str,
) -> Result<(), Error> {
    let is_half = without_key > lines - without_key.min(lines);
    if !(is_half && (without_key >= lines || !skip_bad)) {
        warn_of_keyless(reader, talk);
        return Ok(());
    }
    say_cr_lines(reader, talk);
    let bad = match reader.keyless().lines() {
        0 if without_key == 1 => "1 line has no key".into(),
        0 => format!("{} have no key", counted(without_key, "line")),
        _ => reader.keyless().to_string(),
    };
    let share = if without_key >= lines { "all there are" } else { "more than half" };
    Err(Error::usage(
        format!("{bad}, {share}; {outcome}"),
        hint(reader, "goes on without such lines"),
    ))
}

/// The hint, depending on the reason why the first line has no key.
fn hint(reader: &LineReader, skipping: &str) -> String {
    match reader.keyless().first() {
        Some((_, NoKey::Hex)) => format!(
            "--sha1 takes words for a list of SHA-1 hashes; SHA-256, NTLM and other hashes have \
             to be computed first; --skip-bad {skipping}"
        ),
        _ => format!("choose the key options for these lines; --skip-bad {skipping}"),
    }
}
