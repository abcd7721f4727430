//! Inserting into a set with an eye on its capacity.

use super::batch_keys::BatchKeys;
use super::capacity::Capacity;
use super::clearing::Clearing;
use super::loss::{Look, Loss};
use crate::error::{Error, WhenFull};
use crate::io::messages::{Reporter, counted, rate};
use crate::set::kept::Kept;
use crate::set::session::{Due, Writer};
use crate::set::with_cr::WithCr;
use mayhap::set::Repeats;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_keys::KeyOptions;
use mayhap_lists::Batch;
use mayhap_sets::{Forgotten, KeySet, Keys, Lost, Room, Texts};
use mayhap_units::number::counted_short;
use std::time::Duration;

/// Inserts batches of lines, stops at capacity, and estimates the loss.
#[derive(Debug)]
pub struct Inserter {
    set: Box<dyn KeySet>,
    /// Keeps the file of the set in step with it.
    writer: Option<Writer>,
    /// The digests of all lines, if they are kept.
    kept: Option<Kept>,
    capacity: Capacity,
    loss: Loss,
    clearing: Option<Clearing>,
    /// The treatment of keys that are there already.
    repeats: Repeats,
    /// Keys that earlier versions may have inserted instead.
    with_cr: Option<WithCr>,
    digest_function: Option<DigestFunction>,
    digests: Vec<Digest>,
    /// The keys instead, of a set that takes these.
    keys: BatchKeys,
    new: Bitmap,
}

impl Inserter {
    /// An inserter that stops at capacity unless `overfill` is set.
    pub fn new(set: Box<dyn KeySet>, overfill: bool) -> Self {
        let mut inserter = Self {
            writer: None,
            kept: None,
            capacity: Capacity::of(&*set, overfill),
            loss: Loss::of(&*set),
            clearing: None,
            repeats: Repeats::Renew,
            with_cr: None,
            digest_function: set.digest_function(),
            digests: Vec::new(),
            keys: BatchKeys::default(),
            new: Bitmap::new(),
            set,
        };
        inserter.look_at_start();
        inserter
    }

    fn look_at_start(&mut self) {
        self.capacity.look(&*self.set, self.repeats);
        self.loss.start(&*self.set, self.how_to_look());
    }

    fn how_to_look(&self) -> Look {
        let all_bits = self.capacity.is_exceeded_by(self.loss.counted());
        Look { repeats: self.repeats, all_bits }
    }

    /// No warning at 80 %, where the capacity was counted from the input itself.
    #[must_use]
    pub fn without_warning(mut self, counted: bool) -> Self {
        if counted {
            self.capacity.never_warn();
        }
        self
    }

    /// Inserts no key that is there already, not even where it would count; in a window it is
    /// young again.
    #[must_use]
    pub fn absent_only(mut self) -> Self {
        if !self.set.capabilities().forgets {
            self.repeats = Repeats::Ignore;
        }
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
    /// [`Error::Usage`] for sets other than plain filters in memory, and where the digests of all
    /// keys are kept.
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
            self.capacity.never_stop();
        }
        Ok(self)
    }

    /// Repeats do not make their keys in a window young again, if `keeps_ages`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for sets that are no windows in memory or in files.
    pub fn without_refresh(mut self, keeps_ages: bool) -> Result<Self, Error> {
        if !keeps_ages {
            return Ok(self);
        }
        if !self.set.capabilities().forgets {
            let kind = self.set.name();
            return Err(Error::usage(
                format!("--no-refresh is for windows in memory and in files, not for {kind}"),
                "omit it; a window on mayhap serve is created without: BF.RESERVE ... NOREFRESH",
            ));
        }
        self.repeats = Repeats::Ignore;
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

    /// The set.
    pub fn set(&self) -> &dyn KeySet {
        &*self.set
    }

    /// The set, to be saved.
    pub fn set_mut(&mut self) -> &mut dyn KeySet {
        &mut *self.set
    }

    /// The new lines that were taken for repeats so far. Reads all bits.
    pub fn lost(&mut self) -> Lost {
        self.loss.lost(&*self.set, self.repeats)
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
    pub fn clear(&mut self, fill: f64, talk: Reporter) -> Result<(), Error> {
        let (keys, percent) = (counted(self.set.items(), "key"), fill * 100.0);
        self.loss.before_clearing(&*self.set, self.repeats);
        self.set.clear()?;
        if let Some(writer) = &mut self.writer {
            writer.save(&mut *self.set)?;
        }
        self.loss.after_clearing(&*self.set, self.how_to_look());
        self.clearing.iter_mut().for_each(Clearing::cleared);
        talk.say(&format!("cleared with {percent:.1} % of its bits set: {keys} forgotten"));
        Ok(())
    }

    /// Keys forgotten early since the start, of sets that forget.
    pub fn forgotten(&self) -> Option<Forgotten> {
        self.loss.forgotten(&*self.set)
    }

    /// For the progress bar: how full it is, and the rate.
    pub fn load(&self) -> String {
        let numbers = self.set.numbers(self.repeats);
        let (items, fpp) = (numbers.keys(), rate(numbers.expected_fpp));
        match numbers.capacity {
            Some(expected) => {
                let percent = items as f64 / expected as f64 * 100.0;
                format!(", {percent:.0} % full, p {fpp}")
            }
            None => format!(", {}, p {fpp}", counted_short(items, "key")),
        }
    }

    /// How keys become digests, if they do before they are inserted.
    pub fn digest_function(&self) -> Option<DigestFunction> {
        self.digest_function
    }

    /// Digests the lines that [`Inserter::insert`] then works on, or keeps their keys.
    #[inline]
    pub fn digest(&mut self, batch: &Batch<'_>) {
        if let Some(with_cr) = &mut self.with_cr {
            with_cr.set(batch);
        }
        match &self.digest_function {
            Some(function) => batch.digest_into(function, &mut self.digests),
            None => self.keys.keep(batch),
        }
    }

    /// The error for a filter that accepts no more lines, after this many.
    pub fn full(&self, lines: u64, advice: WhenFull) -> Error {
        self.capacity.full(&*self.set, lines, advice)
    }

    /// Inserts lines of the batch from `from` on; how many were dealt with, and for each whether it
    /// is new. None were if there is no [`Room`] for the next line, or no memory.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`]; [`Error::Remote`], after which any of the lines may be in it;
    /// [`Error::Store`] and [`Error::TooMuchMemory`] where digests are kept.
    pub fn insert(&mut self, from: usize) -> Result<(usize, &Bitmap), Error> {
        let by_key = self.digest_function.is_none();
        let (texts, first_line) = if by_key { self.keys.from(from) } else { (Vec::new(), None) };
        let digests = if by_key { &[][..] } else { &self.digests[from..] };
        let texts = Keys::Texts(Texts { texts: &texts, first_line });
        let keys = if by_key { texts } else { digests.into() };
        let mut count = keys.len();
        match self.capacity.room(&*self.set, self.repeats) {
            None => {}
            Some(Room::Keys(keys)) => {
                count = count.min(usize::try_from(keys).unwrap_or(usize::MAX));
            }
            Some(room @ (Room::Repeats | Room::None)) => {
                self.set.contains_into(keys, &mut self.new)?;
                // A line without a key needs no room, and passes.
                let not_keys = self.set.not_keys();
                let found = |i: &usize| room == Room::Repeats && self.new.get(*i);
                let passes = |i: &usize| found(i) || not_keys.binary_search(i).is_ok();
                count = (0..count).take_while(passes).count();
            }
        }
        count = count.min(usize::try_from(self.most_at_once()).unwrap_or(usize::MAX));
        let inserted = self.set.insert_into(keys.first(count), self.repeats, &mut self.new);
        if by_key {
            count = self.new.len();
        }
        if let Err(error) = inserted {
            // The keys inserted before the chain could not grow count; the caller comes back for
            // the rest, inserts nothing, and then gets the error.
            if !by_key {
                count = self.new.iter_ones().last().map_or(0, |last| last + 1);
            }
            match error {
                mayhap_sets::Error::Filter(mayhap::Error::TooLarge { limit, found, .. }) => {
                    self.capacity.no_memory(found, limit);
                }
                mayhap_sets::Error::Filter(mayhap::Error::Full { .. }) => {
                    // The caller goes on with the line that was refused.
                    count = self.new.len();
                }
                error if count == 0 => return Err(error.into()),
                _ => {}
            }
        }
        let inserted = if by_key { digests } else { &digests[..count] };
        if let Some(kept) = &mut self.kept {
            // Also those that are not new: it may be another key that is there.
            kept.extend(inserted)?;
        }
        // No log has keys but as digests.
        if let (Some(writer), Some(own)) = (&mut self.writer, self.set.own()) {
            writer.note_inserted(own, self.repeats, (inserted, &self.new))?;
        }
        if let Some(with_cr) = &mut self.with_cr {
            with_cr.clear_known(&mut *self.set, from..from + count, &mut self.new)?;
        }
        self.count_new(count as u64);
        Ok((count, &self.new))
    }

    /// The most lines that the set is given at once.
    fn most_at_once(&self) -> u64 {
        let most = self.capacity.most_at_once(&*self.set);
        self.clearing.as_ref().map_or(most, |clearing| most.min(clearing.most_lines()))
    }

    /// Counts the new keys of this many lines.
    fn count_new(&mut self, lines: u64) {
        let new = self.new.count_ones() as u64;
        self.clearing.iter_mut().for_each(|clearing| clearing.advance(new));
        self.loss.count(&*self.set, new, lines);
    }

    /// Warns of what the set says, and once when 80 % of the capacity are used.
    pub fn warn(&mut self, talk: Reporter, mut before: impl FnMut()) {
        for text in self.set.warnings() {
            before();
            talk.warn(&text);
        }
        if let Some(text) = self.capacity.warning(&*self.set, self.repeats) {
            before();
            talk.warn(&text);
        }
    }

    /// Takes the lock of the filter's file, unless it is held or there is none, and brings the
    /// filter to where others left it. To be called before [`Inserter::insert`].
    ///
    /// # Errors
    ///
    /// Those of [`Writer::ready`].
    #[inline]
    pub fn ready(&mut self) -> Result<(), Error> {
        if self.writer.as_ref().is_none_or(Writer::is_ready) { Ok(()) } else { self.catch_up() }
    }

    fn catch_up(&mut self) -> Result<(), Error> {
        self.loss.advance(&*self.set);
        let (items, look) = (self.set.items(), self.how_to_look());
        let before = self.loss.look(&*self.set, look);
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if writer.ready(&mut *self.set)? {
            // Keys inserted by others are there, and were not lost here.
            self.capacity.look(&*self.set, self.repeats);
            self.loss.add_others(&*self.set, self.set.items().saturating_sub(items));
            let after = self.loss.look(&*self.set, self.how_to_look());
            if let (Some(before), Some(after)) = (before, after) {
                self.loss.note_others(before, after);
            }
        }
        Ok(())
    }

    /// Work that is due after a batch.
    #[inline]
    pub fn due(&mut self) -> Due {
        self.writer.as_mut().map_or(Due::Nothing, Writer::due)
    }

    /// Work that is due after waiting this long for the next lines.
    pub fn due_in_pause(&self, paused: Duration) -> Due {
        self.writer.as_ref().map_or(Due::Nothing, |writer| writer.due_in_pause(paused))
    }

    /// Does what is due: to be called when the lines are out.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn settle(&mut self, due: Due) -> Result<(), Error> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.settle(&mut *self.set, due))
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
