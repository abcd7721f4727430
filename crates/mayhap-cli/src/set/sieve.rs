//! Lines through filters: what `check` and `filter` share.

use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::set::confirm::Confirm;
use crate::set::open::{self, Digests, Named, keyless_lines};
use mayhap::Bitmap;
use mayhap_keys::KeyOptions;
use mayhap_lists::{Batch, LineReader, for_each_run};
use mayhap_sets::KeySet;

/// Batches of lines that are only counted, after which files are looked at: a look at each would
/// cost 3 % of the time.
const UNCHECKED: u32 = 32;

/// A filter that is queried.
#[derive(Debug)]
pub struct Member {
    /// Its file.
    pub name: String,
    filter: Box<dyn KeySet>,
    found: Bitmap,
    /// Lines that it was queried for.
    pub lines: u64,
    /// Lines that it may hold.
    pub maybe_present: u64,
}

impl Member {
    /// Lines that it may hold, or that it surely lacks if `invert` is set.
    pub fn selected(&self, invert: bool) -> u64 {
        if invert { self.lines - self.maybe_present } else { self.maybe_present }
    }
}

/// When enough was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// At the end.
    End,
    /// When a line was selected.
    AnyLine,
    /// When each filter has selected a line.
    EveryFilter,
}

/// Filters that are queried together, and where the lines go.
#[derive(Debug)]
pub struct Sieve {
    members: Vec<Member>,
    /// Confirms what the filter says.
    confirm: Option<Confirm>,
    /// Selects the lines that none of the filters holds.
    pub invert: bool,
    /// Judges each filter for itself: a line is selected if one of them does.
    pub each: bool,
    /// When to stop.
    pub until: Until,
    /// Where selected lines go, with the filter's name before them if `each` is set.
    pub output: Option<Output>,
    /// Where the others go.
    pub rest: Option<Output>,
    any: Vec<u64>,
    /// The lines that are no key of one of the filters, so that nobody can say whether it holds
    /// them.
    unsure: Vec<u64>,
    unanswered: u64,
    digests: Digests,
    selected: u64,
    lines_without_key: u64,
}

impl Sieve {
    /// Queries these filters for keys that are cut by these options, to the end of the input; the
    /// lines go nowhere yet.
    pub fn new(filters: Vec<Named>, options: &KeyOptions, confirm: Option<Confirm>) -> Self {
        let found = Bitmap::new;
        let member =
            |(name, filter)| Member { name, filter, found: found(), lines: 0, maybe_present: 0 };
        Self {
            members: filters.into_iter().map(member).collect(),
            confirm,
            invert: false,
            each: false,
            until: Until::End,
            output: None,
            rest: None,
            any: Vec::new(),
            unsure: Vec::new(),
            unanswered: 0,
            digests: Digests::of(options),
            selected: 0,
            lines_without_key: 0,
        }
    }

    /// The filters, with their answers.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The set that confirmed them.
    pub fn confirm(&self) -> Option<&Confirm> {
        self.confirm.as_ref()
    }

    /// Lines selected so far.
    pub fn selected(&self) -> u64 {
        self.selected
    }

    /// Lines that have no key: nobody can say whether a filter holds them.
    pub fn lines_without_key(&self) -> u64 {
        self.lines_without_key
    }

    /// Prints the warnings about the filters after the last line.
    pub fn warn(&self, talk: Reporter) {
        for member in &self.members {
            let named = (&*member.name, &*member.filter);
            open::warn(named, member.lines, member.maybe_present, talk);
        }
    }

    /// That all lines were answered, if all were to be.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for lines that are no keys of a filter, and that no other one holds.
    pub fn check_answered(&self) -> Result<(), Error> {
        let enough = self.until == Until::AnyLine && self.selected > 0;
        let filters = self.members.iter().map(|member| (&*member.name, &*member.filter));
        open::check_answered(if enough { 0 } else { self.unanswered }, filters)
    }

    /// Sends the lines where they belong; nothing is held back while the input pauses.
    ///
    /// # Errors
    ///
    /// Those of [`LineReader`], [`Output`] and [`Confirm`].
    pub fn run(&mut self, reader: &mut LineReader, progress: &mut Progress) -> Result<(), Error> {
        let functions = self.members.iter().map(|member| member.filter.digest_function());
        if let Some(function) = functions.flatten().next().filter(|_| self.digests.are_of_lines()) {
            reader.digest_by(function);
        }
        let (mut lines, mut unchecked) = (0, 0);
        while let Some(batch) = reader.next_batch(|| self.flush())? {
            self.query(&batch)?;
            unchecked += 1;
            if unchecked == UNCHECKED || self.uses_answers() {
                unchecked = 0;
                self.check()?;
            }
            lines += batch.len() as u64;
            if !batch.is_keyless() {
                self.print(&batch)?;
            }
            let enough = match self.until {
                Until::End => false,
                Until::AnyLine => self.selected > 0,
                Until::EveryFilter => self.members.iter().all(|member| self.is_done(member)),
            };
            if enough {
                break;
            }
            progress.tick(lines, reader.raw_bytes(), String::new);
        }
        self.check()?;
        self.flush()
    }

    /// Whether lines go out by their answers, and not only counts at the end.
    fn uses_answers(&self) -> bool {
        self.output.is_some() || self.rest.is_some()
    }

    /// That all answers until now hold.
    fn check(&self) -> Result<(), Error> {
        Ok(self.members.iter().try_for_each(|member| member.filter.check_unchanged())?)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.output.iter_mut().chain(&mut self.rest).try_for_each(Output::flush)
    }

    fn is_done(&self, member: &Member) -> bool {
        self.until == Until::EveryFilter && member.selected(self.invert) > 0
    }

    /// Queries every filter, with one digest per line for those that share the function.
    fn query(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        let lines = batch.len() as u64;
        self.any.clear();
        self.any.resize(batch.len().div_ceil(64), 0);
        self.unsure.clear();
        self.unsure.resize(batch.len().div_ceil(64), 0);
        if batch.is_keyless() {
            self.lines_without_key += lines;
            return Ok(());
        }
        // The lines that every filter may hold.
        let mut all = vec![u64::MAX; self.any.len()];
        self.digests.clear();
        for i in 0..self.members.len() {
            if self.is_done(&self.members[i]) {
                continue;
            }
            let member = &mut self.members[i];
            member.lines += lines;
            open::query(&mut *member.filter, batch, &mut self.digests, &mut member.found)?;
            member.maybe_present += member.found.count_ones() as u64;
            if self.digests.are_of_lines() {
                let not_keys = member.filter.not_keys();
                member.lines -= not_keys.len() as u64;
                for line in not_keys {
                    self.unsure[line / 64] |= 1 << (line % 64);
                }
            }
            let found = member.found.as_words();
            self.any.iter_mut().zip(found).for_each(|(any, more)| *any |= more);
            let unsure = self.unsure.iter().zip(found);
            all.iter_mut().zip(unsure).for_each(|(all, (unsure, more))| *all &= more | unsure);
        }
        if self.digests.are_of_lines() {
            self.lines_without_key +=
                keyless_lines(self.members.iter().map(|member| &*member.filter));
        }
        if let Some(confirm) = &mut self.confirm {
            confirm.keep_true(batch, self.digests.are_of_lines(), &mut self.any)?;
        }
        let ones =
            |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        // From here on also the lines that may be held.
        self.unsure.iter_mut().zip(&self.any).for_each(|(unsure, any)| *unsure |= any);
        self.unanswered += ones(&self.unsure) - ones(&self.any);
        self.selected += match (self.invert, self.each) {
            (false, _) => ones(&self.any),
            (true, false) => lines - ones(&self.unsure),
            (true, true) => lines - ones(&all),
        };
        Ok(())
    }

    fn print(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        if self.each {
            return self.print_tagged(batch);
        }
        for (output, wanted) in [(&mut self.output, true), (&mut self.rest, false)] {
            if let Some(output) = output {
                let held = wanted != self.invert;
                let lines = if held { &self.any } else { &self.unsure };
                for_each_run(lines, batch.len(), held, |run| output.write(batch.lines(run)))?;
            }
        }
        Ok(())
    }

    fn print_tagged(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        let Some(output) = &mut self.output else { return Ok(()) };
        for i in 0..batch.len() {
            for member in &self.members {
                let found = member.found.get(i);
                let is_known = found || member.filter.not_keys().binary_search(&i).is_err();
                if found != self.invert && is_known {
                    output.write(member.name.as_bytes())?;
                    output.write(b"\t")?;
                    output.write(batch.lines(i..i + 1))?;
                }
            }
        }
        Ok(())
    }
}
