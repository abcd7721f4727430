//! Inserting into a set with an eye on its capacity.

use super::batch_keys::BatchKeys;
use super::clearing::Clearing;
use super::kept::Kept;
use super::open;
use super::session::{Due, Writer};
use super::with_cr::WithCr;
use crate::error::{End, Error, Full, Limit, WhenFull};
use crate::io::messages::{Talk, counted, rate};
use mayhap::{Bitmap, Digest, DigestFunction, Estimate};
use mayhap_keys::KeyOptions;
use mayhap_lists::Batch;
use mayhap_measure::{Lost, RateSum};
use mayhap_sets::{Forgotten, KeySet, Keys, Room};
use mayhap_units::number::{counted_short, format_count};
use std::time::Duration;

/// Lines that a filter on a server is given at once when it holds more keys than it was created
/// for: one that is far away gets tens of thousands before.
const OVERFILLED_BATCH: u64 = 1024;
/// Batches until such a filter is full, at least, unless it is for a few thousand keys: in between,
/// the rate is close to a power of the keys.
const RATE_LOOKS: u64 = 8;

/// Inserts batches of lines, stops at capacity, and knows what was lost.
#[derive(Debug)]
pub struct Inserter {
    set: Box<dyn KeySet>,
    writer: Option<Writer>,
    /// The digests of all lines, if they are to be kept.
    kept: Option<Kept>,
    overfill: bool,
    absent_only: bool,
    /// The [`KeySet::items`] at which it is full.
    full_at: Option<u64>,
    /// Those at which there is a warning.
    warn_at: u64,
    /// Keys at the start and those inserted as new since: what is forgotten still counts.
    counted: u64,
    /// What came and what was counted at the start.
    first: Option<(Estimate, u64)>,
    /// What others lost of theirs since.
    others: Lost,
    /// What was lost until the filter was last cleared.
    earlier: Lost,
    clearing: Option<Clearing>,
    /// Keys that were forgotten early before.
    forgotten: u64,
    /// Keys that earlier versions may have inserted instead.
    with_cr: Option<WithCr>,
    /// Why a filter that grows does not any more.
    no_memory: Option<Limit>,
    rates: RateSum,
    rate_step: u64,
    /// Lines since the rate was looked at, where it rises without new keys: on a server.
    lines_since: u64,
    digest_function: DigestFunction,
    digests: Vec<Digest>,
    /// The keys instead, of a set that takes these.
    keys: BatchKeys,
    new: Bitmap,
}

impl Inserter {
    /// An inserter that stops at capacity unless `overfill` is set.
    pub fn new(set: Box<dyn KeySet>, overfill: bool) -> Self {
        let items = set.items();
        let mut inserter = Self {
            rates: RateSum::starting_at(items, set.expected_fpp()),
            rate_step: set.rate_step(),
            lines_since: 0,
            digest_function: set.digest_function(),
            // A filter that is past it already warns with its first new key.
            warn_at: set.warn_at().unwrap_or(u64::MAX),
            writer: None,
            kept: None,
            overfill,
            absent_only: false,
            full_at: None,
            counted: items,
            first: None,
            others: Lost::default(),
            earlier: Lost::default(),
            clearing: None,
            forgotten: set.forgotten().map_or(0, |forgotten| forgotten.keys),
            with_cr: None,
            no_memory: None,
            digests: Vec::new(),
            keys: BatchKeys::default(),
            new: Bitmap::new(),
            set,
        };
        inserter.look_at_start();
        inserter
    }

    fn look_at_start(&mut self) {
        let (set, absent_only) = (&self.set, self.absent_only);
        self.full_at = set.full_at(absent_only);
        self.first = self.look();
    }

    /// What came and what was counted of it until now.
    fn look(&self) -> Option<(Estimate, u64)> {
        let is_overfull = self.full_at.is_some_and(|full_at| self.counted > full_at);
        // Below that a look at the bits would say no more.
        let came = if is_overfull {
            self.set.distinct_items_by_all(self.absent_only)
        } else {
            self.set.distinct_items(self.absent_only)
        };
        came.map(|came| (came, self.counted))
    }

    /// No warning at 80 %, where the capacity was counted from the input itself.
    #[must_use]
    pub fn without_warning(mut self, counted: bool) -> Self {
        if counted {
            self.warn_at = u64::MAX;
        }
        self
    }

    /// Inserts no key that is there already, not even where it would count.
    #[must_use]
    pub fn absent_only(mut self) -> Self {
        self.absent_only = true;
        self.look_at_start();
        self
    }

    /// A line that ends with a carriage return is no longer new if its key with that is there, in a
    /// filter of these key options that may have such keys.
    #[must_use]
    pub fn also_with_cr(mut self, options: &KeyOptions) -> Self {
        self.with_cr = WithCr::of(options);
        self
    }

    /// Clears the filter whenever this share of its bits is set, and does not stop when it is full.
    ///
    /// # Errors
    ///
    /// Those of [`Clearing::new`].
    pub fn clearing_at(mut self, share: Option<f64>) -> Result<Self, Error> {
        if let Some(share) = share {
            if self.writer.as_ref().is_some_and(Writer::keeps_digests) {
                return Err(Error::usage(
                    "the digests of all keys are kept beside the filter, and would bring back what \
                     --clear-at forgets",
                    "omit it, or remove the file of the digests first",
                ));
            }
            self.clearing = Some(Clearing::new(&mut *self.set, share)?);
            (self.overfill, self.warn_at) = (true, u64::MAX);
        }
        Ok(self)
    }

    /// Repeats do not make their keys in a window young again, if `keeps_ages`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for sets that are no windows in memory or in files.
    pub fn without_refresh(mut self, keeps_ages: bool) -> Result<Self, Error> {
        if keeps_ages && !self.set.stop_refresh() {
            let kind = self.set.name();
            return Err(Error::usage(
                format!("--no-refresh is for windows in memory and in files, not for {kind}"),
                "omit it; a window on mayhap serve is created without: BF.RESERVE ... NOREFRESH",
            ));
        }
        Ok(self)
    }

    /// Keeps the file of the filter in step with it, in turns with others.
    #[must_use]
    pub fn with_writer(mut self, writer: Writer) -> Self {
        self.writer = Some(writer);
        self
    }

    /// Keeps the digests of all lines.
    #[must_use]
    pub fn with_digests(mut self, kept: Kept) -> Self {
        self.kept = Some(kept);
        self
    }

    /// The digests of all lines that were dealt with, if they were to be kept.
    pub fn take_digests(&mut self) -> Option<Vec<Digest>> {
        self.kept.take().map(Kept::into_digests)
    }

    /// What remembers the keys.
    pub fn set(&self) -> &dyn KeySet {
        &*self.set
    }

    /// What remembers the keys, to be saved.
    pub fn set_mut(&mut self) -> &mut dyn KeySet {
        &mut *self.set
    }

    /// The new lines that were taken for repeats so far. Reads all bits.
    pub fn lost(&mut self) -> Lost {
        let came = self.set.distinct_items_by_all(self.absent_only);
        if let (Some(first), Some(came)) = (self.first, came) {
            let mut lost = Lost::between(first, (came, self.counted)).without(self.others);
            lost += self.earlier;
            return lost;
        }
        self.rates.advance(self.counted, self.set.expected_fpp());
        self.rates.lost()
    }

    /// How often it was cleared, if it is.
    pub fn times_cleared(&self) -> Option<u64> {
        self.clearing.as_ref().map(Clearing::times)
    }

    /// The share of set bits, if the filter is to be cleared by now.
    pub fn due_to_clear(&mut self) -> Option<f64> {
        self.clearing.as_mut()?.due(&mut *self.set)
    }

    /// Forgets all keys, in the file too, and says so. To be called when everything inserted is
    /// out.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn clear(&mut self, fill: f64, talk: Talk) -> Result<(), Error> {
        let (keys, percent) = (counted(self.set.items(), "key"), fill * 100.0);
        self.earlier = self.lost();
        self.others = Lost::default();
        self.set.clear()?;
        if let Some(writer) = &mut self.writer {
            writer.save(&mut *self.set)?;
        }
        self.first = self.look();
        self.rates.go_on_at(self.counted, self.set.expected_fpp());
        self.clearing.iter_mut().for_each(Clearing::cleared);
        talk.say(&format!("cleared with {percent:.1} % of its bits set: {keys} forgotten"));
        Ok(())
    }

    /// What was forgotten before its time since the start, by what does so.
    pub fn forgotten(&self) -> Option<Forgotten> {
        Some(self.set.forgotten()?.since(self.forgotten))
    }

    /// For the progress bar: how full it is, and the rate.
    pub fn load(&self) -> String {
        let items = self.distinct_items();
        let (keys, fpp) = (format_count(items), rate(self.set.expected_fpp()));
        match self.set.capacity() {
            Some(expected) => {
                let percent = items as f64 / expected as f64 * 100.0;
                format!(", {percent:.0} % full, p {fpp}")
            }
            None => format!(", {keys} keys, p {fpp}"),
        }
    }

    /// The distinct keys that came to it, as far as it knows.
    fn distinct_items(&self) -> u64 {
        let came = self.set.distinct_items(self.absent_only);
        came.map_or(self.set.items(), |came| came.rounded())
    }

    /// How keys become digests, if they do before they are inserted.
    pub fn digest_function(&self) -> Option<DigestFunction> {
        open::digest_function(&*self.set)
    }

    /// Digests the lines that [`Inserter::insert`] then works on, or keeps their keys.
    #[inline]
    pub fn digest(&mut self, batch: &Batch<'_>) {
        if let Some(with_cr) = &mut self.with_cr {
            with_cr.set(batch);
        }
        if self.set.takes_keys() {
            return self.keys.keep(batch);
        }
        batch.digest_into(&self.digest_function, &mut self.digests);
    }

    /// The error for a filter that took none of the lines, after so many.
    pub fn full(&self, lines: u64, advice: WhenFull) -> Error {
        let made_for = self.set.capacity().unwrap_or(0);
        let limit = self.no_memory.unwrap_or(Limit::Keys(made_for));
        let held = self.set.numbers().keys().unwrap_or(self.set.items());
        Error::Full(Full { held, limit, end: End::After(lines), advice })
    }

    /// Inserts lines of the batch from `from` on; how many were dealt with, and for each whether it
    /// is new. None were if there is no [`Room`] for the next line, or no memory.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`]; [`Error::Remote`], after which any of the lines may be in it;
    /// [`Error::Store`] and [`Error::TooMuchMemory`] where digests are kept.
    pub fn insert(&mut self, from: usize) -> Result<(usize, &Bitmap), Error> {
        let by_key = self.set.takes_keys();
        let (texts, first_line) = if by_key { self.keys.from(from) } else { (Vec::new(), None) };
        let keys = Keys { texts: &texts, first_line };
        let digests = if by_key { &[][..] } else { &self.digests[from..] };
        let mut count = if by_key { texts.len() } else { digests.len() };
        let items = self.set.items();
        // On a server it changes with each look at the bits.
        let shared = self.set.is_shared().then(|| self.set.full_at(self.absent_only));
        let full_at = shared.unwrap_or(self.full_at);
        if let (Some(full_at), false) = (full_at, self.overfill) {
            match Room::left(self.set.held(), full_at) {
                Room::Keys(keys) => {
                    count = count.min(usize::try_from(keys).unwrap_or(usize::MAX));
                }
                room @ (Room::Repeats | Room::None) => {
                    if by_key {
                        self.set.contains_keys_into(keys, &mut self.new)?;
                    } else {
                        self.set.contains_digests_into(digests, &mut self.new)?;
                    }
                    // What is no key needs no room, and passes.
                    let not_keys = self.set.not_keys();
                    let found = |i: &usize| room == Room::Repeats && self.new.get(*i);
                    let passes = |i: &usize| found(i) || not_keys.binary_search(i).is_ok();
                    count = (0..count).take_while(passes).count();
                }
            }
        }
        count = count.min(usize::try_from(self.most_at_once(items)).unwrap_or(usize::MAX));
        let (set, batch) = (&mut self.set, (keys, digests));
        let inserted = open::insert(&mut **set, batch, (count, self.absent_only), &mut self.new);
        if by_key {
            count = self.new.len();
        }
        if let Err(error) = inserted {
            // What was inserted before the chain could not grow counts; the caller comes back for
            // the rest, inserts nothing, and then gets the error.
            if !by_key {
                count = self.new.iter_ones().last().map_or(0, |last| last + 1);
            }
            match error {
                mayhap_sets::Error::Filter(mayhap::Error::TooLarge { limit, found, .. }) => {
                    self.no_memory = Some(Limit::Bytes { needed: found, limit });
                }
                error if count == 0 => return Err(error.into()),
                _ => {}
            }
        }
        if let Some(kept) = &mut self.kept {
            // Those too that are not new: it may be another key that is there.
            kept.extend(&digests[..count])?;
        }
        // No log has keys but as digests.
        if let (Some(writer), false) = (&mut self.writer, by_key) {
            let inserted = (&digests[..count], &self.new);
            writer.note_inserted(&*self.set, self.absent_only, inserted);
            writer.spill_digests()?;
        }
        if let Some(with_cr) = &mut self.with_cr {
            with_cr.clear_known(&mut *self.set, from..from + count, &mut self.new)?;
        }
        self.count_new(count as u64);
        Ok((count, &self.new))
    }

    /// The most lines that a set of so many `items` is given at once.
    fn most_at_once(&self, items: u64) -> u64 {
        let mut most = u64::MAX;
        if items < self.warn_at {
            // Up to the warning and no further, so that it comes in time.
            most = self.warn_at - items;
        }
        if let (true, Some(capacity)) = (self.set.is_shared(), self.set.capacity()) {
            // The rate is looked at between batches, and beyond the capacity it rises fast.
            let part = if items < capacity { capacity / RATE_LOOKS } else { 0 };
            most = most.min(part.max(OVERFILLED_BATCH));
        }
        self.clearing.as_ref().map_or(most, |clearing| most.min(clearing.most_lines()))
    }

    /// Counts what was new of so many lines, and looks at the rate if it is time.
    fn count_new(&mut self, lines: u64) {
        let new = self.new.count_ones() as u64;
        self.counted = self.counted.saturating_add(new);
        self.clearing.iter_mut().for_each(|clearing| clearing.advance(new));
        if self.set.is_shared() {
            // Between two new keys of one that is overfilled the rate rises.
            self.lines_since += lines;
        }
        let new_since = self.counted - self.rates.items();
        if self.first.is_none() && new_since.max(self.lines_since) >= self.rate_step {
            self.rates.advance(self.counted, self.set.expected_fpp());
            self.lines_since = 0;
        }
    }

    /// Warns of what the set says, and once when 80 % of the capacity are used.
    pub fn warn(&mut self, talk: Talk, mut before: impl FnMut()) {
        for text in self.set.warnings() {
            before();
            talk.warn(&text);
        }
        let items = self.set.items();
        let Some(expected) = self.set.capacity().filter(|_| items >= self.warn_at) else {
            return;
        };
        self.warn_at = u64::MAX;
        before();
        let items = self.distinct_items();
        let percent = items as f64 / expected as f64 * 100.0;
        let next = match (self.overfill, items < expected) {
            (true, _) => "beyond that the rate rises",
            (false, true) => "it stops when it is full",
            (false, false) => "it stops at the next new key",
        };
        let (items, of) = (format_count(items), counted_short(expected, "key"));
        talk.warn(&format!("the filter is {percent:.0} % full ({items} of {of}); {next}"));
    }

    /// Takes the lock of the filter's file, unless it is held or there is none, and brings the
    /// filter to where others left it. To be called before [`Inserter::insert`].
    ///
    /// # Errors
    ///
    /// Those of [`Writer::ready`].
    #[inline]
    pub fn ready(&mut self) -> Result<(), Error> {
        match &self.writer {
            Some(writer) if !writer.is_ready() => self.catch_up(),
            _ => Ok(()),
        }
    }

    fn catch_up(&mut self) -> Result<(), Error> {
        self.rates.advance(self.counted, self.set.expected_fpp());
        let (items, before) = (self.set.items(), self.look());
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if writer.ready(&mut *self.set)? {
            // What others inserted is there, and was not lost here.
            let by_others = self.set.items().saturating_sub(items);
            self.counted = self.counted.saturating_add(by_others);
            self.full_at = self.set.full_at(self.absent_only);
            self.rates.go_on_at(self.counted, self.set.expected_fpp());
            if let (Some(before), Some(after)) = (before, self.look()) {
                self.others += Lost::between(before, after);
            }
        }
        Ok(())
    }

    /// What is due after a batch.
    #[inline]
    pub fn due(&mut self) -> Due {
        self.writer.as_mut().map_or(Due::Nothing, Writer::due)
    }

    /// What is due when the next lines have not been there for so long.
    pub fn due_in_pause(&self, paused: Duration) -> Due {
        self.writer.as_ref().map_or(Due::Nothing, |writer| writer.due_in_pause(paused))
    }

    /// Does what is due: to be called when the lines are out.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn settle(&mut self, due: Due) -> Result<(), Error> {
        match &mut self.writer {
            Some(writer) => writer.settle(&mut *self.set, due),
            None => Ok(()),
        }
    }

    /// Saves the whole filter, to be called when everything inserted is out; counts the bits of one
    /// on a server.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`].
    pub fn finish(&mut self) -> Result<(), Error> {
        match self.writer.take() {
            Some(writer) => writer.finish(&mut *self.set),
            None => Ok(self.set.refresh()?),
        }
    }
}
