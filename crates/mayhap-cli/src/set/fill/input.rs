//! Filling a filter from input: what `build` and `add` share.

use super::distinct::Distinct;
use super::inserter::Inserter;
use crate::error::{Error, WhenFull};
use crate::io::messages::Reporter;
use crate::io::progress::Progress;
use mayhap::DigestFunction;
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Reading, Source, Stop};
use std::sync::Arc;

/// Lines read, and how many of them were new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines dealt with.
    pub lines: u64,
    /// Lines whose key was not in the filter.
    pub new: u64,
    /// Lines without a key.
    pub without_key: u64,
    /// Lines that end with a carriage return that is not part of their key.
    pub with_cr: u64,
}

/// Inserts every line that has a key; `counts` is right even where an error ends it.
///
/// # Errors
///
/// Those of [`LineReader`] and [`Inserter`]; [`Error::Full`] with this `advice`.
pub fn fill(
    reader: &mut LineReader,
    inserter: &mut Inserter,
    counts: &mut Counts,
    (talk, progress): (Reporter, &mut Progress),
    advice: WhenFull,
) -> Result<(), Error> {
    if let Some(function) = inserter.digest_function() {
        reader.digest_by(function);
    }
    while let Some(batch) = reader.next_batch_in_pauses(|paused| {
        let due = inserter.due_in_pause(paused);
        inserter.settle(due).map(|()| due.pause())
    })? {
        inserter.ready()?;
        let mut from = 0;
        if batch.is_keyless() {
            from = batch.len();
            counts.lines += batch.len() as u64;
            counts.without_key += batch.len() as u64;
        } else {
            inserter.digest(&batch);
        }
        while from < batch.len() {
            let (count, new) = inserter.insert(from)?;
            if count == 0 {
                return Err(inserter.full(counts.lines, advice));
            }
            counts.lines += count as u64;
            counts.new += new.count_ones() as u64;
            let not_keys = inserter.set().not_keys();
            counts.without_key += not_keys.partition_point(|&line| line < count) as u64;
            from += count;
            inserter.warn(talk, || progress.clear());
            if let Some(fill) = inserter.due_to_clear() {
                progress.clear();
                inserter.clear(fill, talk)?;
            }
        }
        let due = inserter.due();
        inserter.settle(due)?;
        counts.with_cr = reader.cr_lines();
        progress.tick(counts.lines, reader.raw_bytes(), || inserter.load());
    }
    Ok(())
}

/// The contents of regular files, counted by reading them once beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Lines.
    pub lines: u64,
    /// Distinct keys: exact for small numbers, an estimate beyond.
    pub distinct: u64,
    /// Keys to make room for.
    pub room: u64,
}

impl Counted {
    /// The copies to make room for in a compact filter: each line has one, up to 15 of a key, and
    /// each repeat the room of two, since copies are less even than keys. Of a million keys that
    /// all come 14 times, a filter takes 81 % of the copies that it is for at a rate of 1 %, and 60
    /// % at 1e-11.
    pub fn copies(&self) -> u64 {
        let copies = self.lines.min(self.room.saturating_mul(15));
        copies + copies.saturating_sub(self.distinct)
    }
}

/// Counts the distinct keys of regular files, compressed ones too; `None` if one is a pipe.
/// Standard input stands where it stood before.
///
/// # Errors
///
/// Those of [`Source`] and [`LineReader`].
pub fn count_distinct(
    sources: &[Source],
    options: &KeyOptions,
    reading: Reading,
    stop: &Arc<Stop>,
    (talk, total_bytes): (Reporter, Option<u64>),
) -> Result<Option<Counted>, Error> {
    let Some(total_bytes) = total_bytes else { return Ok(None) };
    let mut progress = Progress::new(talk, Some(total_bytes));
    let stdin = sources.contains(&Source::Stdin).then(|| Source::Stdin.position()).transpose()?;
    // Warnings follow when they are read again.
    let stop = Some(Arc::clone(stop));
    let mut reader = LineReader::new(sources.to_vec(), options, reading, stop)?;
    // By this thread: the other one has enough to do with reading, and counting is little.
    let (mut distinct, mut digests) = (Distinct::new(), Vec::new());
    loop {
        let (lines, raw_bytes) = (reader.lines(), reader.raw_bytes());
        let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
        if !batch.is_keyless() {
            batch.digest_into(&DigestFunction::default(), &mut digests);
            distinct.insert(&digests);
        }
        progress.tick(lines, raw_bytes, || ", counting".into());
    }
    progress.clear();
    if let Some(position) = stdin {
        Source::Stdin.seek(position)?;
    }
    let (distinct, room) = distinct.count();
    Ok(Some(Counted { lines: reader.lines(), distinct, room }))
}
