//! More keys into a filter of another system.

use super::Args;
use super::turns::Turns;
use crate::error::{End, Error, Full, Limit, WhenFull};
use crate::io::messages::{Talk, grouped};
use crate::io::progress::Progress;
use crate::io::reader;
use crate::outcome::Outcome;
use crate::set::fill::Counts;
use crate::set::foreign::{Opener, warn_of_not_keys};
use crate::set::session::Waiting;
use crate::set::summary::Summary;
use mayhap_foreign::{FULL_FILL, ForeignFile, KeyBytes, NotKeys, Numbers};
use mayhap_keys::KeyOptions;
use mayhap_lists::{Batch, LineReader, Source, Stop};
use mayhap_measure::RateSum;
use mayhap_sets::{Held, Room, near_full};
use mayhap_units::number::format_count;

/// Keys between looks at all bits, at least; looking costs less than they do then.
const MIN_LOOK_KEYS: u64 = 4096;

/// Adds the keys of `sources` and saves the filter as its system would have.
///
/// # Errors
///
/// Any of [`Error`]; the keys before it are in the file then, but for errors of saving.
pub(super) fn run(
    file: ForeignFile,
    (sources, total_bytes): (Vec<Source>, Option<u64>),
    args: &Args,
    talk: Talk,
) -> Result<Outcome, Error> {
    file.check_change()?;
    let options = args.lines.key_options();
    say_options(file.name(), file.filter().format().name(), &options, talk);
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("add", args.lock, talk, Some(&stop));
    let turns = Turns::new(waiting, Opener::of(&args.open, talk), total_bytes.is_none());
    let mut reader = reader::open(sources, &options, args.lines.reading(), Some(stop), talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    let mut adder = Adder::new(file, turns, args.overfill, talk);
    let result = adder.fill(&mut reader, &mut progress);
    let seconds = progress.elapsed();
    progress.clear();
    reader::warn_of_keyless(&reader, talk);
    let Adder { mut file, mut turns, counts, not_keys, .. } = adder;
    warn_of_not_keys(&not_keys, file.name(), talk);
    turns.end(&mut file)?;
    let numbers = Numbers::of(&file);
    if let Some(problem) = numbers.overfilled() {
        talk.warn(&format!("{}: {problem}", file.name()));
    }
    let name = file.name().to_owned();
    Summary::new(name, counts, seconds, result.is_ok(), numbers).print_with(
        Numbers::text,
        talk,
        args.json,
    )?;
    result.map(|()| Outcome::Done)
}

/// Says how keys are cut where a filter of this format cannot record it.
pub(super) fn say_options(name: &str, format: &str, options: &KeyOptions, talk: Talk) {
    if *options != KeyOptions::default() {
        talk.say(&format!(
            "{name}: a key is {}; a {format} filter cannot record that, so give the same options \
             with each query",
            options.describe(),
        ));
    }
}

fn full(held: u64, expected: u64, lines: u64) -> Error {
    let advice = WhenFull {
        outcome: "the keys up to there were saved",
        next: "create a larger filter, or continue with --overfill",
    };
    Error::Full(Full { held, limit: Limit::Keys(expected), end: End::After(lines), advice })
}

/// Room in a filter that was made for `expected` keys, with so many `items` by its own estimate.
fn room(rates: &RateSum, items: u64, expected: u64, clears_next: bool) -> Room {
    match Room::left(Held::Estimated(items), expected) {
        _ if clears_next => Room::Repeats,
        // With those that were taken for repeats.
        Room::Keys(_) if rates.is_full(items, expected) => Room::Repeats,
        room => room,
    }
}

/// Inserts, with an eye on how full the filter is.
struct Adder<'a> {
    file: ForeignFile,
    turns: Turns<'a>,
    keys: KeyBytes,
    not_keys: NotKeys,
    counts: Counts,
    overfill: bool,
    talk: Talk,
    expected_items: Option<u64>,
    /// By the filter's own estimate at the start, and what was new since.
    items: u64,
    /// New keys that were taken for repeats.
    rates: RateSum,
    /// In what is new, when to look at the rate again.
    rate_at: u64,
    /// How many keys it had each time that it cleared itself, until that is said.
    cleared: Vec<u64>,
    warn_at: u64,
    /// When to look at all bits again, in new keys.
    look_at: u64,
}

impl<'a> Adder<'a> {
    fn new(file: ForeignFile, turns: Turns<'a>, overfill: bool, talk: Talk) -> Self {
        let expected_items = file.expected_items();
        // One whose estimate fails has all bits set.
        let items = file.filter().estimated_items().unwrap_or(u64::MAX);
        Self {
            rates: RateSum::starting_at(items, file.filter().estimated_fpp()),
            rate_at: 0,
            keys: KeyBytes::default(),
            not_keys: NotKeys::default(),
            counts: Counts::default(),
            overfill,
            talk,
            items,
            cleared: Vec::new(),
            warn_at: expected_items.map_or(u64::MAX, near_full),
            look_at: if expected_items.is_none() { 1 } else { u64::MAX },
            expected_items,
            file,
            turns,
        }
    }

    fn fill(&mut self, reader: &mut LineReader, progress: &mut Progress) -> Result<(), Error> {
        loop {
            let raw_bytes = reader.raw_bytes();
            let (file, turns) = (&mut self.file, &mut self.turns);
            let batch = reader.next_batch_in_pauses(|paused| turns.in_pause(file, paused))?;
            let Some(batch) = batch else { return Ok(()) };
            if turns.begin(file)? {
                self.items = file.filter().estimated_items().unwrap_or(u64::MAX);
                self.rates.go_on_at(self.items, file.filter().estimated_fpp());
            }
            self.turns.changed();
            let inserted = self.insert(&batch);
            self.say_cleared(progress);
            inserted?;
            self.look_at_rate();
            self.warn_if_full(progress);
            self.turns.after_batch(&mut self.file)?;
            progress.tick(self.counts.lines, raw_bytes, String::new);
        }
    }

    /// Inserts the keys of a batch; counts what was dealt with even where an error ends it.
    fn insert(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        self.keys.encode(self.file.key_type(), batch, &mut self.not_keys);
        let mut stopped = None;
        for (line, key) in self.keys.lines_and_keys() {
            let filter = self.file.filter_mut();
            let clears_next = filter.clears_next();
            if let (Some(expected), false) = (self.expected_items, self.overfill) {
                let room = room(&self.rates, self.items, expected, clears_next);
                let is_repeat = room == Room::Repeats && filter.contains(key);
                if clears_next && is_repeat {
                    // It is there, and inserting it again would forget it with all others.
                    continue;
                }
                if !is_repeat && !matches!(room, Room::Keys(_)) {
                    let lines = self.counts.lines + line as u64;
                    stopped = Some((line, full(self.items, expected, lines)));
                    break;
                }
            }
            if clears_next {
                self.cleared.push(std::mem::take(&mut self.items));
                self.rates.go_on_at(0, 0.0);
            }
            match filter.insert(key) {
                Ok(new) => {
                    self.counts.new += u64::from(new);
                    self.items = self.items.saturating_add(u64::from(new));
                }
                Err(source) => {
                    let name = self.file.name().to_owned();
                    stopped = Some((line, Error::Foreign { name, source }));
                    break;
                }
            }
        }
        let done = stopped.as_ref().map_or(batch.len(), |(line, _)| *line);
        self.counts.lines += done as u64;
        self.counts.without_key += if batch.is_keyless() {
            done as u64
        } else {
            self.keys.not_keys().iter().filter(|&&line| line < done).count() as u64
        };
        stopped.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Looks at the rate after each 16th of the keys that it is for. That reads all bits, in all as
    /// many words as it is for keys a few times over.
    fn look_at_rate(&mut self) {
        if let Some(expected) = self.expected_items.filter(|_| self.counts.new >= self.rate_at) {
            self.rate_at = self.counts.new + (expected / 16).max(1);
            self.rates.advance(self.items, self.file.filter().estimated_fpp());
        }
    }

    /// Says of each time that the filter has forgotten all keys.
    fn say_cleared(&mut self, progress: &mut Progress) {
        for keys in self.cleared.drain(..) {
            progress.clear();
            self.talk.warn(&format!(
                "{} was full and cleared itself, as in its own system: {} keys were removed",
                self.file.name(),
                grouped(keys)
            ));
        }
    }

    /// Warns, once, at 80 % of the keys, or at half of the bits where the keys are not known.
    fn warn_if_full(&mut self, progress: &mut Progress) {
        let name = self.file.name();
        let items = self.items.saturating_add(self.rates.lost().lines as u64);
        if let Some(expected) = self.expected_items.filter(|_| items >= self.warn_at) {
            self.warn_at = u64::MAX;
            progress.clear();
            let (items, expected) = (format_count(items), format_count(expected));
            let next = match (self.overfill, self.file.filter().clears_after()) {
                (true, Some(_)) => "it clears itself when it is full",
                (true, None) => "beyond that the rate rises",
                (false, _) => "it stops when it is full",
            };
            self.talk.warn(&format!("{name} holds {items} of {expected} keys; {next}"));
        }
        if self.counts.new >= self.look_at {
            let filter = self.file.filter();
            let step = filter.num_bits() / 16 / u64::from(filter.num_hashes());
            self.look_at = self.counts.new + step.max(MIN_LOOK_KEYS);
            if self.file.fill_ratio() > FULL_FILL {
                self.look_at = u64::MAX;
                progress.clear();
                self.talk.warn(&format!(
                    "half of the bits of {name} are set; the rate now rises \
                                         fast"
                ));
            }
        }
    }
}
