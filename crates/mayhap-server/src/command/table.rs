//! The commands: one row each, found by name.

use super::row::Command;
use super::{
    backup, bf, cf, client, config, connection, describe, expire, info, keys, server, tools,
    transaction,
};

/// The families, each with its group for `COMMAND DOCS`.
static FAMILIES: [(&str, &[Command]); 13] = [
    ("bf", bf::COMMANDS),
    ("cf", cf::COMMANDS),
    ("generic", keys::COMMANDS),
    ("generic", expire::COMMANDS),
    ("connection", connection::COMMANDS),
    ("connection", client::COMMANDS),
    ("server", server::COMMANDS),
    ("server", backup::COMMANDS),
    ("server", describe::COMMANDS),
    ("server", config::COMMANDS),
    ("server", info::COMMANDS),
    ("transactions", transaction::COMMANDS),
    ("server", tools::COMMANDS),
];

/// All commands, each with its group.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Command)> {
    FAMILIES.iter().flat_map(|(group, rows)| rows.iter().map(move |row| (*group, row)))
}

/// The group of a command of the table.
pub(super) fn group_of(command: &Command) -> &'static str {
    all().find(|(_, row)| row.name == command.name).map_or("", |(group, _)| group)
}

/// The number of commands.
pub(super) fn len() -> usize {
    FAMILIES.iter().map(|(_, rows)| rows.len()).sum()
}

/// A name as two words, in which upper and lower case are equal; the longest name has 16 bytes.
type Folded = (u64, u64);

/// The first and the last bytes of a name, which overlap; the first word has all bytes of a short
/// name. Names of different lengths may be equal.
#[inline(always)]
const fn fold(name: &[u8]) -> Folded {
    let (first, last) = match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (name.first_chunk(), name.last_chunk()) {
            (Some(first), Some(last)) => {
                (u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64)
            }
            _ => match *name {
                [a, b, c] => (a as u64 | (b as u64) << 8, c as u64),
                [a, b] => (a as u64, b as u64),
                [a] => (a as u64, 0),
                _ => (0, 0),
            },
        },
    };
    (fold_letters(first), fold_letters(last))
}

/// Upper case to lower case. A byte with bit 6 set is a letter in all our names; a byte without it,
/// such as `.`, does not change.
const fn fold_letters(bytes: u64) -> u64 {
    bytes | (bytes & 0x4040_4040_4040_4040) >> 1
}

const NUM_SLOTS: usize = 256;

#[derive(Clone, Copy)]
struct Slot {
    folded: Folded,
    /// Family and row.
    place: (u8, u8),
}

const EMPTY: Slot = Slot { folded: (0, 0), place: (u8::MAX, u8::MAX) };

/// Each command at the slot of its name or the next free one.
static SLOTS: [Slot; NUM_SLOTS] = place();

#[inline(always)]
const fn slot((first, last): Folded) -> usize {
    let mixed = (first ^ last.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as usize % NUM_SLOTS
}

const fn place() -> [Slot; NUM_SLOTS] {
    let mut slots = [EMPTY; NUM_SLOTS];
    let mut family = 0;
    while family < FAMILIES.len() {
        let rows = FAMILIES[family].1;
        let mut row = 0;
        while row < rows.len() {
            let folded = fold(rows[row].name.as_bytes());
            let mut at = slot(folded);
            while slots[at].place.0 != EMPTY.place.0 {
                at = (at + 1) % NUM_SLOTS;
            }
            slots[at] = Slot { folded, place: (family as u8, row as u8) };
            row += 1;
        }
        family += 1;
    }
    slots
}

/// The command of this name, in upper or lower case.
#[inline]
pub(super) fn find(name: &[u8]) -> Option<&'static Command> {
    let folded = fold(name);
    let mut at = slot(folded);
    loop {
        let Slot { folded: found, place: (family, row) } = SLOTS[at];
        let command = FAMILIES.get(usize::from(family))?.1.get(usize::from(row))?;
        if found == folded && command.name.len() == name.len() {
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
            assert!(command.name.len() <= 16 && command.name.bytes().all(is_known_byte));
            assert!(command.summary.ends_with('.'), "{}", command.name);
            assert!(command.arity != 0 && command.arity.abs() >= command.keys.first);
        }
    }

    fn is_known_byte(byte: u8) -> bool {
        byte == b'.' || byte.is_ascii_lowercase()
    }

    /// A word that differs from a name in one byte, or in length, is another name.
    #[test]
    fn a_name_is_found_as_it_is_and_in_no_other_way() {
        for (_, command) in all() {
            let name = command.name.as_bytes();
            for at in 0..name.len() {
                for byte in 0..=u8::MAX {
                    let mut other = name.to_vec();
                    other[at] = byte;
                    let found = find(&other).map(|found| found.name.as_bytes());
                    let wanted = all().map(|(_, command)| command.name.as_bytes());
                    let wanted = wanted.into_iter().find(|name| name.eq_ignore_ascii_case(&other));
                    assert_eq!(found, wanted, "{}", other.escape_ascii());
                }
            }
            for other in [&name[1..], &name[..name.len() - 1]] {
                assert_ne!(find(other).map(|found| found.name), Some(command.name));
            }
        }
    }

    #[test]
    fn unknown_commands_are_not_found() {
        let long = vec![b'x'; 70_000];
        let names: [&[u8]; 8] =
            [b"", b"x", b"bf.ad", b"bf.addx", b"bf\x0eadd", b"\xff\xff", b"get", &long];
        for name in names {
            assert!(find(name).is_none(), "{name:?}");
        }
    }

    /// The two most frequent commands are found at the first probe.
    #[test]
    fn the_frequent_commands_stand_at_their_own_slots() {
        for name in ["bf.add", "bf.exists", "bf.madd", "bf.mexists"] {
            let (family, row) = SLOTS[slot(fold(name.as_bytes()))].place;
            let command = &FAMILIES[usize::from(family)].1[usize::from(row)];
            assert_eq!(command.name, name);
        }
    }
}
