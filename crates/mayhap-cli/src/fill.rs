//! Filling a filter from input: what `build` and `add` share.

use crate::error::Error;
use crate::input::Source;
use crate::key_options::KeyOptions;
use crate::lines::LineReader;
use crate::number::{format_bytes, format_count};
use crate::progress::Progress;
use crate::seen::Inserter;
use crate::signals::Stop;
use crate::talk::{Talk, grouped, rate};
use mayhap::{AnyFilter, Block, Health};
use serde::Serialize;
use std::rc::Rc;
use std::time::Duration;

/// Keys after which they are recorded, in a filter with a log.
const RECORD_KEYS: usize = 4096;

/// What was read and how much of it was new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines dealt with.
    pub lines: u64,
    /// Those whose key was not in the filter.
    pub new: u64,
}

/// Inserts every line; `counts` is right even where an error ends it.
///
/// # Errors
///
/// Those of [`LineReader`] and [`Inserter`]; [`Error::Full`] with this `advice`.
pub fn fill(
    reader: &mut LineReader,
    inserter: &mut Inserter,
    counts: &mut Counts,
    (talk, progress): (Talk, &mut Progress),
    advice: &'static str,
) -> Result<(), Error> {
    while let Some(batch) = reader.next_batch(|| inserter.record())? {
        inserter.digest(&batch);
        let mut from = 0;
        while from < batch.len() {
            let (count, new) = inserter.insert(from)?;
            if count == 0 {
                let expected_items = inserter.seen().expected_items().unwrap_or(0);
                return Err(Error::Full { expected_items, lines: counts.lines, advice });
            }
            counts.lines += count as u64;
            counts.new += new.count_ones() as u64;
            from += count;
            inserter.warn_if_near_full(talk, || progress.clear());
        }
        if inserter.unrecorded() >= RECORD_KEYS {
            inserter.record()?;
        }
        progress.tick(counts.lines, reader.raw_bytes(), || inserter.load());
    }
    inserter.record()
}

/// Counts the lines of regular files, compressed ones too; `None` if one is a pipe.
///
/// # Errors
///
/// Those of [`Source`] and [`LineReader`].
pub fn count_lines(
    sources: &[Source],
    options: &KeyOptions,
    max_line: usize,
    stop: &Rc<Stop>,
) -> Result<Option<u64>, Error> {
    let mut total = 0;
    for source in sources {
        if source.size()?.is_none() {
            return Ok(None);
        }
        total += match source.count_lines(options.separator(), Some(stop))? {
            Some(lines) => lines,
            // Reading standard input would use it up.
            None if *source == Source::Stdin => return Ok(None),
            None => {
                let stop = Some(Rc::clone(stop));
                let mut reader = LineReader::new(vec![source.clone()], options, max_line, stop);
                while reader.next_batch(|| Ok(()))?.is_some() {}
                reader.lines()
            }
        };
    }
    Ok(Some(total))
}

/// The state of a filter, as the summaries of several verbs print it.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// Layout or kind.
    pub layout: &'static str,
    /// Bytes of memory.
    pub filter_bytes: u64,
    /// Insertions that were new.
    pub items: u64,
    /// Keys that it was made for; a growing one has no such number.
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

impl State {
    /// Looks at all bits of a filter.
    pub fn of<S: AsRef<[Block]>>(filter: &AnyFilter<S>) -> Self {
        let params = filter.params();
        let items = filter.inserted_items();
        Self {
            layout: params.layout().name(),
            filter_bytes: params.num_bytes(),
            items,
            expected_items: Some(params.expected_items()),
            target_fpp: params.target_fpp(),
            fpp_now: filter.estimated_fpp(),
            fill_ratio: filter.fill_ratio(),
            health: Health::of(items as f64, params.expected_items()).name(),
        }
    }

    /// In two lines.
    pub fn text(&self) -> String {
        let of = self.expected_items.map(|items| format!(" of {}", format_count(items)));
        format!(
            "{} filter of {}: {}{} keys, fill {:.1} %\nrate now {}, asked {}",
            self.layout,
            format_bytes(self.filter_bytes),
            format_count(self.items),
            of.unwrap_or_default(),
            self.fill_ratio * 100.0,
            rate(self.fpp_now),
            rate(self.target_fpp),
        )
    }
}

/// What `build`, `create` and `add` did, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Summary {
    file: String,
    lines_read: u64,
    new: u64,
    already_there: u64,
    seconds: f64,
    complete: bool,
    #[serde(flatten)]
    state: State,
}

impl Summary {
    /// Of a filter in `file` after `counts` lines.
    pub fn new(
        file: String,
        counts: Counts,
        seconds: Duration,
        complete: bool,
        state: State,
    ) -> Self {
        Self {
            file,
            lines_read: counts.lines,
            new: counts.new,
            already_there: counts.lines - counts.new,
            seconds: seconds.as_secs_f64(),
            complete,
            state,
        }
    }

    /// Prints it: JSON to stdout if asked for, else words to stderr.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub fn print(&self, talk: Talk, json: bool) -> Result<(), Error> {
        if json {
            return Talk::json(self, true);
        }
        if self.lines_read == 0 && self.state.items == 0 {
            talk.say(&format!("{}: empty\n{}", self.file, self.state.text()));
            return Ok(());
        }
        talk.say(&format!(
            "{}: {} new, {} already there ({} lines, {:.2} s)\n{}",
            self.file,
            grouped(self.new),
            grouped(self.already_there),
            grouped(self.lines_read),
            self.seconds,
            self.state.text(),
        ));
        Ok(())
    }
}
