//! A command as a row of the table: its name, what it needs, its handler.

use super::bounds::{Answer, WORD_NS};
use super::call::{Call, Outcome};
use crate::config::Rights;
use crate::metrics::Counter;
use crate::resp::Words;

/// What a user must be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// Nothing: a client may say it before it has logged in.
    Open,
    /// To have logged in, where that is required.
    Known,
    Read,
    Write,
    /// To read some filters and to write others.
    ReadAndWrite,
    Admin,
}

impl Right {
    /// What its commands are counted as.
    pub(super) const fn family(self) -> Counter {
        match self {
            Self::Open | Self::Known | Self::Admin => Counter::Others,
            Self::Read => Counter::Reads,
            Self::Write | Self::ReadAndWrite => Counter::Writes,
        }
    }

    /// Whether these rights are enough.
    pub(super) const fn is_given(self, rights: &Rights) -> bool {
        match self {
            Self::Open => true,
            Self::Known => rights.read || rights.write || rights.admin,
            Self::Read => rights.read,
            Self::Write => rights.write,
            Self::ReadAndWrite => rights.read && rights.write,
            Self::Admin => rights.admin,
        }
    }
}

/// Where the keys of a request stand: first and last word, and the step between; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) step: i64,
}

impl Places {
    pub(super) const NONE: Self = Self { first: 0, last: 0, step: 0 };
    pub(super) const ONE: Self = Self { first: 1, last: 1, step: 1 };
    /// Behind a subcommand.
    pub(super) const SECOND: Self = Self { first: 2, last: 2, step: 1 };
    pub(super) const TWO: Self = Self { first: 1, last: 2, step: 1 };
    pub(super) const ALL: Self = Self { first: 1, last: -1, step: 1 };

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
    /// In small letters.
    pub(super) name: &'static str,
    /// Words with the name; negative: at least so many.
    pub(super) arity: i64,
    pub(super) right: Right,
    pub(super) keys: Places,
    /// For `COMMAND DOCS`.
    pub(super) summary: &'static str,
    pub(super) run: fn(&mut Call<'_, '_>) -> Outcome,
    /// The most bytes of its answers.
    pub(super) answer: Answer,
    /// Nanoseconds of work of a request beyond those of its words; none if that is all.
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

    /// Nanoseconds that this request takes, about.
    #[inline]
    pub(super) fn work_of(&self, call: &Call<'_, '_>) -> u64 {
        let words = call.words.len() as u64 * WORD_NS;
        self.work.map_or(words, |work| words.saturating_add(work(call)))
    }

    /// Whether a request of so many words has as many as it must.
    pub(super) const fn takes(&self, words: usize) -> bool {
        let words = words.cast_signed() as i64;
        if self.arity < 0 { words >= -self.arity } else { words == self.arity }
    }
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
