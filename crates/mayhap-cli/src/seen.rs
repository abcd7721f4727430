//! The set of keys seen so far, and inserting into it with an eye on its capacity.

use crate::error::Error;
use crate::fill::State;
use crate::kind::KindFilter;
use crate::layout_name::LayoutName;
use crate::lines::Batch;
use crate::loss::Loss;
use crate::memory;
use crate::number::format_count;
use crate::remote::OnServer;
use crate::room::{End, Full, Held, Limit, Room, WhenFull};
use crate::talk::{Talk, rate};
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, Layout, ScalableBloomFilter, sizing};
use mayhap_store::LiveLog;

/// A checkpoint is due when the log is as long as the filter, but not for less than this.
const MIN_LOG_BYTES: u64 = 64 << 20;

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

    /// Insertions that were new.
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

    /// Keys that it was made for; a growing one has no such number.
    pub fn expected_items(&self) -> Option<u64> {
        match self {
            Self::Kind(filter) => filter.capacity(),
            Self::Remote(filter) => Some(filter.params().expected_items()),
            _ => self.filter().map(|filter| filter.params().expected_items()),
        }
    }

    /// The predicted rate with `items` keys; for a growing one the rate now.
    pub fn fpp_at(&self, items: u64) -> f64 {
        match self {
            Self::Fixed(filter) => filter.expected_fpp(items),
            Self::Growing(chain) => chain.expected_fpp(),
            Self::Kind(filter) => filter.fpp_at(items),
            Self::Remote(filter) => filter.fpp_at(items),
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

    /// Saves it as a checkpoint of its log.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn checkpoint(&mut self, log: &mut LiveLog) -> Result<(), Error> {
        match self {
            Self::Fixed(filter) => Ok(log.checkpoint(filter)?),
            Self::Growing(chain) => Ok(log.checkpoint(chain)?),
            Self::Kind(filter) => filter.checkpoint(log),
            Self::Remote(filter) => filter.look(),
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
    log: Option<LiveLog>,
    overfill: bool,
    absent_only: bool,
    /// Keys at the start and those inserted as new since: what is forgotten still counts.
    counted: u64,
    warn_at: u64,
    /// Why a filter that grows does not any more.
    no_memory: Option<Limit>,
    loss: Loss,
    digest_function: DigestFunction,
    digests: Vec<Digest>,
    new: Bitmap,
    /// Inserted since the last [`Inserter::record`].
    unrecorded: Vec<Digest>,
}

impl Inserter {
    /// An inserter that stops at capacity unless `overfill` is set.
    pub fn new(seen: Seen, overfill: bool) -> Self {
        let items = seen.items();
        let warn_at = match seen.expected_items() {
            // 80 % rounded up; a filter that is past it already warns with its first new key.
            Some(expected) => expected - expected / 5,
            None => u64::MAX,
        };
        Self {
            loss: Loss::starting_at(items, seen.fpp_at(items)),
            digest_function: seen.digest_function(),
            seen,
            log: None,
            overfill,
            absent_only: false,
            counted: items,
            warn_at,
            no_memory: None,
            digests: Vec::new(),
            new: Bitmap::new(),
            unrecorded: Vec::new(),
        }
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
        self
    }

    /// Keeps a log of what is inserted.
    #[must_use]
    pub fn with_log(mut self, log: Option<LiveLog>) -> Self {
        self.log = log;
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

    /// The loss so far.
    pub fn loss(&mut self) -> &Loss {
        self.advance_loss();
        &self.loss
    }

    /// For the progress bar: how full it is, and the rate as of at most 1 % of insertions ago.
    pub fn load(&self) -> String {
        let fpp = rate(self.loss.fpp());
        match self.seen.expected_items() {
            Some(expected) => {
                let percent = self.seen.items() as f64 / expected as f64 * 100.0;
                format!(", {percent:.0} % full, p {fpp}")
            }
            None => format!(", {} keys, p {fpp}", format_count(self.seen.items())),
        }
    }

    /// Keys that [`Inserter::record`] would record.
    pub fn unrecorded(&self) -> usize {
        self.unrecorded.len()
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
        if let (Some(expected), false) = (self.seen.expected_items(), self.overfill) {
            match Room::left(self.seen.held(), expected) {
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
        if self.log.is_some() {
            if self.seen.repeats_change_it(self.absent_only) {
                self.unrecorded.extend_from_slice(&digests[..count]);
            } else {
                self.unrecorded.extend(self.new.iter_ones().map(|i| digests[i]));
            }
        }
        self.counted += self.new.count_ones() as u64;
        if self.loss.is_due(self.counted) {
            self.advance_loss();
        }
        Ok((count, &self.new))
    }

    fn advance_loss(&mut self) {
        let seen = &self.seen;
        if seen.expected_items().is_some() {
            self.loss.advance(self.counted, |items| seen.fpp_at(items));
        } else {
            // The rate now, whatever is asked: once is enough for all pieces of a step.
            let fpp = seen.fpp_at(self.counted);
            self.loss.advance(self.counted, |_| fpp);
        }
    }

    /// Warns, once, when 80 % of the capacity are used.
    pub fn warn_if_near_full(&mut self, talk: Talk, before: impl FnOnce()) {
        let items = self.seen.items();
        let Some(expected) = self.seen.expected_items().filter(|_| items >= self.warn_at) else {
            return;
        };
        self.warn_at = u64::MAX;
        before();
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

    /// Makes what was inserted last: to be called when the lines are out. Nothing without a file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn record(&mut self) -> Result<(), Error> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if !self.unrecorded.is_empty() {
            log.record(&self.unrecorded)?;
            self.unrecorded.clear();
        }
        let bytes = log.log_bytes();
        let is_due = match &self.seen {
            Seen::Kind(filter) => filter.wants_checkpoint(bytes / 8),
            _ => false,
        };
        if is_due || bytes > MIN_LOG_BYTES.max(self.seen.num_bytes()) {
            self.seen.checkpoint(log)?;
        }
        Ok(())
    }

    /// Saves the whole filter, to be called when everything inserted is out and recorded; counts the
    /// bits of one on a server.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`].
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        match (&mut self.log, &mut self.seen) {
            (Some(log), seen) => seen.checkpoint(log),
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
