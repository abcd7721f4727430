//! A command as a row of the table: its name, its requirements, its handler.

use super::bounds::{Answer, WORD_NS};
use super::call::{Call, Outcome};
use crate::config::Rights;
use crate::metrics::Counter;
use mayhap_engine::Words;

/// The right that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// None: a client may run it before it has logged in.
    Open,
    /// A login, where that is required.
    Known,
    Read,
    Write,
    /// Reading some filters and writing others.
    ReadAndWrite,
    Admin,
}

impl Right {
    /// The counter of its commands.
    pub(super) const fn family(self) -> Counter {
        match self {
            Self::Open | Self::Known | Self::Admin => Counter::Others,
            Self::Read => Counter::Reads,
            Self::Write | Self::ReadAndWrite => Counter::Writes,
        }
    }

    /// Whether these rights are sufficient.
    pub(super) const fn is_given(self, rights: &Rights) -> bool {
        match self {
            Self::Open => true,
            Self::Known => rights.has_any(),
            Self::Read => rights.read,
            Self::Write => rights.write,
            Self::ReadAndWrite => rights.read && rights.write,
            Self::Admin => rights.admin,
        }
    }
}

/// The positions of the keys of a request: first and last word, and the step; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) step: i64,
}

pub(super) const NONE: Places = Places { first: 0, last: 0, step: 0 };
pub(super) const ONE: Places = Places { first: 1, last: 1, step: 1 };
/// After a subcommand.
pub(super) const SECOND: Places = Places { first: 2, last: 2, step: 1 };
pub(super) const TWO: Places = Places { first: 1, last: 2, step: 1 };
pub(super) const ALL: Places = Places { first: 1, last: -1, step: 1 };

impl Places {
    /// The words of a request that are keys.
    pub(super) fn of(self, words: Words<'_>) -> impl Iterator<Item = &[u8]> {
        let words_len = words.len().cast_signed() as i64;
        let last = if self.last < 0 { words_len + self.last } else { self.last };
        let indexes = (self.first.max(1)..=last).step_by(self.step.max(1) as usize);
        indexes.filter(move |_| self.first != 0).filter_map(move |index| words.get(index as usize))
    }
}

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    /// In lower case.
    pub(super) name: &'static str,
    /// The number of words, including the name; negative for a minimum.
    pub(super) arity: i64,
    pub(super) right: Right,
    pub(super) keys: Places,
    /// For `COMMAND DOCS`.
    pub(super) summary: &'static str,
    pub(super) run: fn(&mut Call<'_, '_>) -> Outcome,
    /// The most bytes of its answers.
    pub(super) answer: Answer,
    /// Nanoseconds of work of a request beyond that of its words, if there is any.
    pub(super) work: Option<fn(&Call<'_, '_>) -> u64>,
}

impl Command {
    /// A command whose answers are not small.
    pub(super) const fn answers(mut self, answer: Answer) -> Self {
        self.answer = answer;
        self
    }

    /// A command with work beyond that of its words.
    pub(super) const fn works(mut self, work: fn(&Call<'_, '_>) -> u64) -> Self {
        self.work = Some(work);
        self
    }

    /// Approximate nanoseconds of this request.
    #[inline]
    pub(super) fn work_of(&self, call: &Call<'_, '_>) -> u64 {
        let words = call.words.len() as u64 * WORD_NS;
        self.work.map_or(words, |work| words.saturating_add(work(call)))
    }

    /// Whether the command accepts a request of `words` words.
    pub(super) const fn takes(&self, words: usize) -> bool {
        takes(self.arity, words)
    }
}

/// Whether a request of `words` words has this arity: a number, or a minimum if it is negative.
pub(super) const fn takes(arity: i64, words: usize) -> bool {
    let words = words.cast_signed() as i64;
    if arity < 0 { words >= -arity } else { words == arity }
}

/// A row of the table.
pub(super) const fn row(
    name: &'static str,
    arity: i64,
    right: Right,
    keys: Places,
    summary: &'static str,
    run: fn(&mut Call<'_, '_>) -> Outcome,
) -> Command {
    let answer = Answer::Small;
    Command { name, arity, right, keys, summary, run, answer, work: None }
}
