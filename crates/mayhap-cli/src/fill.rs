//! Filling a filter from input: what `build` and `add` share.

use crate::distinct::Distinct;
use crate::error::Error;
use crate::fullness::Forgotten;
use crate::input::{Reading, Source};
use crate::keys::KeyOptions;
use crate::lines::LineReader;
use crate::number::{format_bytes, format_count};
use crate::progress::Progress;
use crate::room::WhenFull;
use crate::seen::Inserter;
use crate::signals::Stop;
use crate::talk::{Talk, grouped, rate};
use mayhap::{AnyFilter, Block, DigestFunction, Estimate, Health};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// What was read and how much of it was new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines dealt with.
    pub lines: u64,
    /// Those whose key was not in the filter.
    pub new: u64,
    /// Those that have no key.
    pub without_key: u64,
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
    (talk, progress): (Talk, &mut Progress),
    advice: WhenFull,
) -> Result<(), Error> {
    reader.digest_by(inserter.seen().digest_function());
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
            from += count;
            inserter.warn_if_near_full(talk, || progress.clear());
        }
        let due = inserter.due();
        inserter.settle(due)?;
        progress.tick(counts.lines, reader.raw_bytes(), || inserter.load());
    }
    Ok(())
}

/// What is in regular files, seen by reading them once before they are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Lines.
    pub lines: u64,
    /// Distinct keys: see [`Distinct::count`].
    pub distinct: u64,
    /// Keys to make room for.
    pub room: u64,
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
    (talk, total_bytes): (Talk, Option<u64>),
) -> Result<Option<Counted>, Error> {
    let Some(total_bytes) = total_bytes else { return Ok(None) };
    let mut progress = Progress::new(talk, Some(total_bytes));
    let stdin = sources.contains(&Source::Stdin).then(|| Source::Stdin.position()).transpose()?;
    // What there is to say is said when they are read again.
    let reading = Reading { talk: talk.silent(), ..reading };
    let stop = Some(Arc::clone(stop));
    let mut reader = LineReader::new(sources.to_vec(), options, reading, stop)?;
    reader.digest_by(DigestFunction::default());
    let (mut distinct, mut digests) = (Distinct::new(), Vec::new());
    loop {
        let (lines, raw_bytes) = (reader.lines(), reader.raw_bytes());
        let Some(batch) = reader.next_batch(|| Ok(()))? else { break };
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

/// The state of a filter, as the summaries of several verbs print it.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// Layout or kind.
    pub layout: &'static str,
    /// Bytes of memory.
    pub filter_bytes: u64,
    /// Insertions that were new; on a server, where they are not counted, distinct keys.
    pub items: u64,
    /// Distinct keys that came, those that were taken for repeats too; `null` where nothing tells.
    pub distinct_items: Option<u64>,
    /// Distinct keys that it was made for; a growing one has no such number.
    pub expected_items: Option<u64>,
    /// The rate that was asked for.
    pub target_fpp: f64,
    /// The rate now, from the bits.
    pub fpp_now: f64,
    /// The share of bits set.
    pub fill_ratio: f64,
    /// [`Health::name`].
    pub health: &'static str,
}

/// The number of an estimate, if there is one.
pub fn whole(estimate: Estimate) -> Option<u64> {
    estimate.items.is_finite().then(|| estimate.rounded())
}

impl State {
    /// Looks at all bits of a filter.
    pub fn of<S: AsRef<[Block]>>(filter: &AnyFilter<S>) -> Self {
        let (params, items) = (filter.params(), filter.inserted_items());
        Self {
            layout: params.layout().name(),
            filter_bytes: params.num_bytes(),
            items,
            distinct_items: whole(filter.distinct_items()),
            expected_items: Some(params.expected_items()),
            target_fpp: params.target_fpp(),
            fpp_now: filter.estimated_fpp(),
            fill_ratio: filter.fill_ratio(),
            health: Health::of_inserted(params, items).name(),
        }
    }

    /// Distinct keys as far as is known: those that were counted at least.
    pub fn keys(&self) -> u64 {
        self.distinct_items.unwrap_or(self.items)
    }

    /// In two lines.
    pub fn text(&self) -> String {
        let of = self.expected_items.map(|items| format!(" of {}", format_count(items)));
        format!(
            "{} filter of {}: {}{} keys, fill {:.1} %\nrate now {}, asked {}",
            self.layout,
            format_bytes(self.filter_bytes),
            format_count(self.keys()),
            of.unwrap_or_default(),
            self.fill_ratio * 100.0,
            rate(self.fpp_now),
            rate(self.target_fpp),
        )
    }
}

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

    /// Prints it: JSON to stdout if asked for, else words to stderr, with these for the state.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub fn print_with(&self, text: fn(&S) -> String, talk: Talk, json: bool) -> Result<(), Error> {
        if json {
            return Talk::json(self, true);
        }
        let line = format!(
            "{}: {} new, {} already there ({} lines, {:.2} s)",
            self.file,
            grouped(self.new),
            grouped(self.already_there),
            grouped(self.lines_read),
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
        } else if self.state.health == Health::OverCapacity.name() {
            // A window of time of an older version gets here without being full: by keys that come
            // all at once.
            talk.warn(&format!(
                "the rate is {}, asked {}: there are more keys, or more at a time, than the filter \
                 was made for",
                rate(self.state.fpp_now),
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
