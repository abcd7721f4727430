//! The commands: one row each, found by name.

use super::call::{Call, Outcome};
use super::{bf, client, config, connection, describe, expire, info, keys, server};
use crate::config::Rights;
use crate::metrics::Counter;
use crate::resp::Words;

/// What a user must be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// Nothing: a client may say it before it has logged in.
    Open,
    /// To have logged in, where that is asked for.
    Known,
    Read,
    Write,
    Admin,
}

impl Right {
    /// What its commands are counted as.
    pub(super) const fn family(self) -> Counter {
        match self {
            Self::Open | Self::Known | Self::Admin => Counter::Others,
            Self::Read => Counter::Reads,
            Self::Write => Counter::Writes,
        }
    }

    /// Whether these rights are enough.
    pub(super) const fn is_given(self, rights: &Rights) -> bool {
        match self {
            Self::Open => true,
            Self::Known => rights.read || rights.write || rights.admin,
            Self::Read => rights.read,
            Self::Write => rights.write,
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
}

impl Command {
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
    Command { name, arity, right, keys, summary, run }
}

/// The families, each with its group for `COMMAND DOCS`.
static FAMILIES: [(&str, &[Command]); 9] = [
    ("bf", bf::COMMANDS),
    ("generic", keys::COMMANDS),
    ("generic", expire::COMMANDS),
    ("connection", connection::COMMANDS),
    ("connection", client::COMMANDS),
    ("server", server::COMMANDS),
    ("server", describe::COMMANDS),
    ("server", config::COMMANDS),
    ("server", info::COMMANDS),
];

/// All commands, each with its group.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Command)> {
    FAMILIES.iter().flat_map(|(group, rows)| rows.iter().map(move |row| (*group, row)))
}

/// How many there are.
pub(super) fn len() -> usize {
    FAMILIES.iter().map(|(_, rows)| rows.len()).sum()
}

const NUM_SLOTS: usize = 512;
const EMPTY: (u8, u8) = (u8::MAX, u8::MAX);

/// Family and row of each command, at the slot of its name or the next free one.
static SLOTS: [(u8, u8); NUM_SLOTS] = place();

/// Length and three letters tell most names apart.
const fn slot(name: &[u8]) -> usize {
    const fn letter(name: &[u8], index: usize) -> usize {
        (name[index] | 0x20) as usize
    }
    let len = name.len();
    if len == 0 {
        return 0;
    }
    let letters =
        letter(name, len / 2) * 31 + letter(name, len - 1) * 7 + letter(name, len / 3) * 3;
    (letters + len * 61) % NUM_SLOTS
}

const fn place() -> [(u8, u8); NUM_SLOTS] {
    let mut slots = [EMPTY; NUM_SLOTS];
    let mut family = 0;
    while family < FAMILIES.len() {
        let rows = FAMILIES[family].1;
        let mut row = 0;
        while row < rows.len() {
            let mut at = slot(rows[row].name.as_bytes());
            while slots[at].0 != EMPTY.0 {
                at = (at + 1) % NUM_SLOTS;
            }
            slots[at] = (family as u8, row as u8);
            row += 1;
        }
        family += 1;
    }
    slots
}

/// The command of this name, in letters of any case.
#[inline]
pub(super) fn find(name: &[u8]) -> Option<&'static Command> {
    let mut at = slot(name);
    loop {
        let (family, row) = SLOTS[at];
        let command = FAMILIES.get(usize::from(family))?.1.get(usize::from(row))?;
        if name.eq_ignore_ascii_case(command.name.as_bytes()) {
            return Some(command);
        }
        at = (at + 1) % NUM_SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_in_letters_of_any_case() {
        assert!(len() > 50 && len() * 2 < NUM_SLOTS);
        for (_, command) in all() {
            for name in [command.name.to_owned(), command.name.to_uppercase()] {
                let found = find(name.as_bytes()).map(|found| found.name);
                assert_eq!(found, Some(command.name));
            }
            assert_eq!(command.name, command.name.to_lowercase());
            assert!(command.summary.ends_with('.'), "{}", command.name);
            assert!(command.arity != 0 && command.arity.abs() >= command.keys.first);
        }
    }

    #[test]
    fn what_is_no_command_is_not_found() {
        let long = vec![b'x'; 70_000];
        let names: [&[u8]; 8] =
            [b"", b"x", b"bf.ad", b"bf.addx", b"bf\x0eadd", b"\xff\xff", b"get", &long];
        for name in names {
            assert!(find(name).is_none(), "{name:?}");
        }
    }

    /// The two that matter are found at the first look.
    #[test]
    fn the_frequent_commands_stand_at_their_own_slots() {
        for name in ["bf.add", "bf.exists", "bf.madd", "bf.mexists"] {
            let (family, row) = SLOTS[slot(name.as_bytes())];
            let command = &FAMILIES[usize::from(family)].1[usize::from(row)];
            assert_eq!(command.name, name);
        }
    }
}
