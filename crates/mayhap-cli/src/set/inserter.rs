//! The set of keys seen so far, and inserting into it with an eye on its capacity.

use crate::args::layout_name::LayoutName;
use crate::error::End;
use crate::error::Error;
use crate::error::Full;
use crate::error::Limit;
use crate::error::WhenFull;
use crate::io::lines::Batch;
use crate::io::messages::{Talk, rate};
use crate::measure::loss::{Lost, RateSum};
use crate::memory;
use crate::set::fullness::Forgotten;
use crate::set::kind::KindFilter;
use crate::set::remote::OnServer;
use crate::set::room::{Held, Room};
use crate::set::session::{Due, Writer};
use crate::set::state::State;
use mayhap::{
    AnyFilter, Bitmap, Digest, DigestFunction, Estimate, Layout, ScalableBloomFilter, sizing,
};
use mayhap_store::Operation;
use mayhap_units::number::format_count;
use std::time::Duration;

/// Room in the first filter of a growing chain: 3 MiB at 1e-4, and each further one is larger.
pub const FIRST_ITEMS: u64 = 1 << 20;

/// What remembers the keys.
#[derive(Debug)]
pub enum Seen {
    /// A filter of a given size.
    Fixed(AnyFilter),
    /// A chain of filters that grows.
    Growing(ScalableBloomFilter),
    /// One of another kind, of a file.
    Kind(Box<dyn KindFilter>),
    /// One on a server, which others may share.
    Remote(Box<dyn OnServer>),
}

impl Seen {
    /// One that grows as needed, up to `max_bytes`, and keeps `target_fpp` overall.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`], [`Error::TooMuchMemory`].
    pub fn growing(
        target_fpp: f64,
        function: DigestFunction,
        max_bytes: u64,
    ) -> Result<Self, Error> {
        let mut items = FIRST_ITEMS;
        // A quarter of the memory at most for the first one, so that others can follow.
        while items > 1
            && sizing::for_items(Layout::Blocked, items, target_fpp)?.num_bytes() > max_bytes / 4
        {
            items /= 2;
        }
        let mut filter = ScalableBloomFilter::new(items, target_fpp, function)?;
        memory::check(filter.num_bytes(), max_bytes)?;
        filter.set_max_bytes(max_bytes);
        Ok(Self::Growing(filter))
    }

    /// The filter, where there is exactly one.
    pub fn filter(&self) -> Option<&AnyFilter> {
        match self {
            Self::Fixed(filter) => Some(filter),
            Self::Growing(_) | Self::Kind(_) | Self::Remote(_) => None,
        }
    }

    /// The numbers of its state, for what has a file. Reads all bits.
    pub fn state(&self) -> Option<State> {
        match self {
            Self::Kind(filter) => Some(filter.state()),
            Self::Remote(filter) => Some(filter.state()),
            _ => self.filter().map(State::of),
        }
    }

    /// Refuses to grow beyond this many bytes, if it grows.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        match self {
            Self::Fixed(_) | Self::Remote(_) => {}
            Self::Growing(chain) => chain.set_max_bytes(max_bytes),
            Self::Kind(filter) => filter.set_max_bytes(max_bytes),
        }
    }

    /// How keys become digests.
    pub fn digest_function(&self) -> DigestFunction {
        match self {
            Self::Fixed(filter) => *filter.digest_function(),
            Self::Growing(chain) => *chain.digest_function(),
            Self::Kind(filter) => filter.digest_function(),
            Self::Remote(filter) => filter.digest_function(),
        }
    }

    /// Insertions that were new; on a server, where they are not counted, distinct keys.
    pub fn items(&self) -> u64 {
        match self {
            Self::Fixed(filter) => filter.inserted_items(),
            Self::Growing(chain) => chain.inserted_items(),
            Self::Kind(filter) => filter.items(),
            Self::Remote(filter) => filter.items(),
        }
    }

    /// [`Seen::items`], and how they are known.
    fn held(&self) -> Held {
        match self {
            Self::Remote(filter) => Held::Estimated(filter.items()),
            _ => Held::Counted(self.items()),
        }
    }

    /// Distinct keys that it was made for; a growing one has no such number.
    pub fn expected_items(&self) -> Option<u64> {
        match self {
            Self::Kind(filter) => filter.capacity(),
            Self::Remote(filter) => Some(filter.params().expected_items()),
            _ => self.filter().map(|filter| filter.params().expected_items()),
        }
    }

    /// Bytes of memory for the bits.
    pub fn num_bytes(&self) -> u64 {
        match self {
            Self::Fixed(filter) => filter.params().num_bytes(),
            Self::Growing(chain) => chain.num_bytes(),
            Self::Kind(filter) => filter.num_bytes(),
            Self::Remote(filter) => filter.params().num_bytes(),
        }
    }

    /// The layout's name, or `growing`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Kind(filter) => filter.name(),
            Self::Remote(filter) => filter.params().layout().name(),
            _ => self.filter().map_or("growing", |filter| filter.params().layout().name()),
        }
    }

    /// The rate that was asked for.
    pub fn target_fpp(&self) -> f64 {
        match self {
            Self::Fixed(filter) => filter.params().target_fpp(),
            Self::Growing(chain) => chain.target_fpp(),
            Self::Kind(filter) => filter.target_fpp(),
            Self::Remote(filter) => filter.params().target_fpp(),
        }
    }

    /// The rate now, from the bits where there is one filter. Reads all of them.
    pub fn fpp_now(&self) -> f64 {
        match self {
            Self::Fixed(filter) => filter.estimated_fpp(),
            Self::Growing(chain) => chain.expected_fpp(),
            Self::Kind(filter) => filter.state().fpp_now,
            Self::Remote(filter) => filter.state().fpp_now,
        }
    }

    /// The share of bits set. Reads all of them.
    pub fn fill_ratio(&self) -> f64 {
        match self {
            Self::Fixed(filter) => filter.fill_ratio(),
            Self::Growing(chain) => chain.fill_ratio(),
            Self::Kind(filter) => filter.state().fill_ratio,
            Self::Remote(filter) => filter.state().fill_ratio,
        }
    }

    /// Inserts many digests; which were new.
    ///
    /// # Errors
    ///
    /// Those of kinds that grow and cannot; what comes before is inserted. [`Error::Remote`].
    pub fn insert(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        match self {
            Self::Fixed(filter) => filter.insert_digests_into(digests, new),
            Self::Growing(chain) => chain.insert_digests_into(digests, new)?,
            Self::Kind(filter) => filter.insert_digests_into(digests, new)?,
            Self::Remote(filter) => filter.insert_digests_into(digests, new)?,
        }
        Ok(())
    }

    /// Removes many digests, from a counting filter; which were there.
    pub fn remove(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        if let Self::Kind(filter) = self {
            filter.remove_digests_into(digests, removed);
        }
    }

    /// [`Seen::insert`] where a key that is there already counts nothing.
    fn insert_absent(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        match self {
            Self::Kind(filter) => Ok(filter.insert_absent_into(digests, new)?),
            _ => self.insert(digests, new),
        }
    }

    /// Whether a log needs every key, and not only those that were new.
    fn repeats_change_it(&self, absent_only: bool) -> bool {
        match self {
            Self::Kind(filter) => {
                filter.repeats_change_it()
                    && !(absent_only && filter.layout_name() == LayoutName::Counting)
            }
            _ => false,
        }
    }

    /// The latest time that it was given, for windows of time; 0 for all others.
    fn now(&self) -> u64 {
        match self {
            Self::Kind(filter) => filter.now(),
            Self::Fixed(_) | Self::Growing(_) | Self::Remote(_) => 0,
        }
    }

    fn contains(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        match self {
            Self::Fixed(filter) => filter.contains_digests_into(digests, found),
            Self::Growing(chain) => chain.contains_digests_into(digests, found),
            Self::Kind(filter) => filter.contains_digests_into(digests, found),
            Self::Remote(filter) => return filter.contains_digests_into(digests, found),
        }
        Ok(())
    }
}

/// Inserts batches of lines, stops at capacity, and knows what was lost.
#[derive(Debug)]
pub struct Inserter {
    seen: Seen,
    writer: Option<Writer>,
    overfill: bool,
    absent_only: bool,
    /// The [`Seen::items`] at which it is full.
    full_at: Option<u64>,
    /// Those at which there is a warning.
    warn_at: u64,
    /// Keys at the start and those inserted as new since: what is forgotten still counts.
    counted: u64,
    /// What came and what was counted at the start.
    first: Option<(Estimate, u64)>,
    /// What others lost of theirs since.
    others: Lost,
    /// Keys that were forgotten early before.
    forgotten: u64,
    /// Why a filter that grows does not any more.
    no_memory: Option<Limit>,
    rates: RateSum,
    rate_step: u64,
    digest_function: DigestFunction,
    digests: Vec<Digest>,
    new: Bitmap,
}

impl Inserter {
    /// An inserter that stops at capacity unless `overfill` is set.
    pub fn new(seen: Seen, overfill: bool) -> Self {
        let items = seen.items();
        let mut inserter = Self {
            rates: RateSum::starting_at(items, seen.expected_fpp()),
            rate_step: seen.rate_step(),
            digest_function: seen.digest_function(),
            // A filter that is past it already warns with its first new key.
            warn_at: seen.warn_at().unwrap_or(u64::MAX),
            writer: None,
            overfill,
            absent_only: false,
            full_at: None,
            counted: items,
            first: None,
            others: Lost::default(),
            forgotten: seen.forgotten().map_or(0, |forgotten| forgotten.keys),
            no_memory: None,
            digests: Vec::new(),
            new: Bitmap::new(),
            seen,
        };
        inserter.look_at_start();
        inserter
    }

    fn look_at_start(&mut self) {
        let (seen, absent_only) = (&self.seen, self.absent_only);
        self.full_at = seen.full_at(absent_only);
        self.first = self.look();
    }

    /// What came and what was counted of it until now.
    fn look(&self) -> Option<(Estimate, u64)> {
        let is_overfull = self.full_at.is_some_and(|full_at| self.counted > full_at);
        // Below that a look at the bits would say no more.
        let came = if is_overfull {
            self.seen.distinct_items_by_all(self.absent_only)
        } else {
            self.seen.distinct_items(self.absent_only)
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

    /// Keeps the file of the filter in step with it, in turns with others.
    #[must_use]
    pub fn with_writer(mut self, writer: Writer) -> Self {
        self.writer = Some(writer);
        self
    }

    /// What remembers the keys.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// What remembers the keys, to be saved.
    pub fn seen_mut(&mut self) -> &mut Seen {
        &mut self.seen
    }

    /// The new lines that were taken for repeats so far. Reads all bits.
    pub fn lost(&mut self) -> Lost {
        let came = self.seen.distinct_items_by_all(self.absent_only);
        if let (Some(first), Some(came)) = (self.first, came) {
            return Lost::between(first, (came, self.counted)).without(self.others);
        }
        self.rates.advance(self.counted, self.seen.expected_fpp());
        self.rates.lost()
    }

    /// What was forgotten before its time since the start, by what does so.
    pub fn forgotten(&self) -> Option<Forgotten> {
        Some(self.seen.forgotten()?.since(self.forgotten))
    }

    /// For the progress bar: how full it is, and the rate.
    pub fn load(&self) -> String {
        let items = self.distinct_items();
        let (keys, fpp) = (format_count(items), rate(self.seen.expected_fpp()));
        match self.seen.expected_items() {
            Some(expected) => {
                let percent = items as f64 / expected as f64 * 100.0;
                format!(", {percent:.0} % full, p {fpp}")
            }
            None => format!(", {keys} keys, p {fpp}"),
        }
    }

    /// The distinct keys that came to it, as far as it knows.
    fn distinct_items(&self) -> u64 {
        let came = self.seen.distinct_items(self.absent_only);
        came.map_or(self.seen.items(), |came| came.rounded())
    }

    /// Digests the lines that [`Inserter::insert`] then works on.
    #[inline]
    pub fn digest(&mut self, batch: &Batch<'_>) {
        batch.digest_into(&self.digest_function, &mut self.digests);
    }

    /// The error for a filter that took none of the lines, after so many.
    pub fn full(&self, lines: u64, advice: WhenFull) -> Error {
        let made_for = self.seen.expected_items().unwrap_or(0);
        let limit = self.no_memory.unwrap_or(Limit::Keys(made_for));
        Error::Full(Full { held: self.seen.items(), limit, end: End::After(lines), advice })
    }

    /// Inserts lines of the batch from `from` on; how many were dealt with, and for each whether it
    /// is new. None were if there is no [`Room`] for the next line, or no memory.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`]; [`Error::Remote`], after which any of the lines may be in it.
    pub fn insert(&mut self, from: usize) -> Result<(usize, &Bitmap), Error> {
        let digests = &self.digests[from..];
        let mut count = digests.len();
        let items = self.seen.items();
        // On a server it changes with each look at the bits.
        let full_at = match &self.seen {
            Seen::Remote(filter) => Some(filter.full_at()),
            _ => self.full_at,
        };
        if let (Some(full_at), false) = (full_at, self.overfill) {
            match Room::left(self.seen.held(), full_at) {
                Room::Keys(keys) => {
                    count = count.min(usize::try_from(keys).unwrap_or(usize::MAX));
                }
                Room::Repeats => {
                    self.seen.contains(digests, &mut self.new)?;
                    count = leading_ones(&self.new);
                }
                Room::None => {
                    self.new.clear_to(0);
                    return Ok((0, &self.new));
                }
            }
        }
        if items < self.warn_at {
            // Up to the warning and no further, so that it comes in time.
            count = count.min(usize::try_from(self.warn_at - items).unwrap_or(usize::MAX));
        }
        let asked = &digests[..count];
        let inserted = if self.absent_only {
            self.seen.insert_absent(asked, &mut self.new)
        } else {
            self.seen.insert(asked, &mut self.new)
        };
        if let Err(error) = inserted {
            // What was inserted before the chain could not grow counts; the caller comes back for
            // the rest, inserts nothing, and then gets the error.
            count = self.new.iter_ones().last().map_or(0, |last| last + 1);
            match error {
                Error::Filter(mayhap::Error::TooLarge { limit, found: needed, .. }) => {
                    self.no_memory = Some(Limit::Bytes { needed, limit });
                }
                error if count == 0 => return Err(error),
                _ => {}
            }
        }
        if let Some(writer) = &mut self.writer {
            let time = self.seen.now();
            if self.seen.repeats_change_it(self.absent_only) {
                writer.note(Operation::Insert, time, digests[..count].iter().copied());
            } else {
                writer.note(Operation::Insert, time, self.new.iter_ones().map(|i| digests[i]));
            }
        }
        self.counted += self.new.count_ones() as u64;
        if self.first.is_none() && self.counted - self.rates.items() >= self.rate_step {
            self.rates.advance(self.counted, self.seen.expected_fpp());
        }
        Ok((count, &self.new))
    }

    /// Warns, once, when 80 % of the capacity are used.
    pub fn warn_if_near_full(&mut self, talk: Talk, before: impl FnOnce()) {
        let items = self.seen.items();
        let Some(expected) = self.seen.expected_items().filter(|_| items >= self.warn_at) else {
            return;
        };
        self.warn_at = u64::MAX;
        before();
        let items = self.distinct_items();
        let percent = items as f64 / expected as f64 * 100.0;
        let next = match (self.overfill, items < expected) {
            (true, _) => "above it the rate rises",
            (false, true) => "it stops when it is full",
            (false, false) => "it stops at the next new key",
        };
        let (items, expected) = (format_count(items), format_count(expected));
        talk.warn(&format!(
            "the filter is {percent:.0} % full ({items} of {expected} keys); {next}"
        ));
    }

    /// Takes the lock of the filter's file, unless it is held or there is none, and brings the filter
    /// to where others left it. To be called before [`Inserter::insert`].
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
        self.rates.advance(self.counted, self.seen.expected_fpp());
        let (items, before) = (self.seen.items(), self.look());
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if writer.ready(&mut self.seen)? {
            // What others inserted is there, and was not lost here.
            self.counted += self.seen.items().saturating_sub(items);
            self.full_at = self.seen.full_at(self.absent_only);
            self.rates.go_on_at(self.counted, self.seen.expected_fpp());
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
            Some(writer) => writer.settle(&mut self.seen, due),
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
        match (self.writer.take(), &mut self.seen) {
            (Some(writer), seen) => writer.finish(seen),
            (None, Seen::Remote(filter)) => filter.look(),
            (None, _) => Ok(()),
        }
    }
}

/// How many answers are "yes" before the first "no".
fn leading_ones(bitmap: &Bitmap) -> usize {
    let mut count = 0;
    for word in bitmap.as_words() {
        count += word.trailing_ones() as usize;
        if *word != u64::MAX {
            break;
        }
    }
    count.min(bitmap.len())
}
