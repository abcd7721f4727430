//! Commands with the slot of their key, and their outcomes.

use crate::Error;
use crc16::{State, XMODEM};
use redis::{Cmd, Value};

/// Slots of a cluster.
pub(crate) const NUM_SLOTS: u16 = 16_384;

/// The slot of a key: CRC16 of its hash tag, or of all of it, modulo 16,384.
///
/// The tag is the text between the first `{` and the first `}` after it, unless that is empty
/// (Redis Cluster specification, "Hash tags").
pub(crate) fn slot_of(key: impl AsRef<[u8]>) -> u16 {
    let key = key.as_ref();
    let tag = key.split(|&byte| byte == b'{').next().map_or(0, <[u8]>::len) + 1;
    let tag = key.get(tag..).unwrap_or_default();
    let end = tag.iter().position(|&byte| byte == b'}').unwrap_or(0);
    State::<XMODEM>::calculate(if end == 0 { key } else { &tag[..end] }) % NUM_SLOTS
}

/// A command on one key.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) cmd: Cmd,
    pub(crate) slot: u16,
    pub(crate) kind: CommandKind,
}

/// The effect of sending it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// Changes nothing: replicas may answer it.
    Read,
    /// Changes the same bits when it is sent again, but its reply is only meaningful the first
    /// time.
    Write,
    /// Changes something each time: it is never sent again once it may have been executed.
    Once,
}

/// A command that is written as its words.
pub(crate) fn words(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command
}

impl Command {
    /// A command that changes nothing.
    pub(crate) fn read(key: &str, cmd: Cmd) -> Self {
        Self::read_from(slot_of(key), cmd)
    }

    /// A command that is harmless when it is sent again.
    pub(crate) fn write(key: &str, cmd: Cmd) -> Self {
        Self::write_to(slot_of(key), cmd)
    }

    /// A command that must not be executed twice.
    pub(crate) fn once(key: &str, cmd: Cmd) -> Self {
        Self { cmd, slot: slot_of(key), kind: CommandKind::Once }
    }

    /// Like [`Command::read`], with a known slot.
    pub(crate) fn read_from(slot: u16, cmd: Cmd) -> Self {
        Self { cmd, slot, kind: CommandKind::Read }
    }

    /// Like [`Command::write`], with a known slot.
    pub(crate) fn write_to(slot: u16, cmd: Cmd) -> Self {
        Self { cmd, slot, kind: CommandKind::Write }
    }
}

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The value, or the error that the server returned without doing anything.
    pub(crate) value: Result<Value, Error>,
    /// It was sent before and may have been executed then, unseen: a write that finds its bits set
    /// may have set them itself.
    pub(crate) repeated: bool,
    /// It was sent more than once, for whatever reason: it may have been executed after commands
    /// that follow it.
    pub(crate) again: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replies of CLUSTER KEYSLOT in Redis 7.0.15.
    #[test]
    fn slots_are_those_of_the_server() {
        for (key, slot) in [
            ("foo", 12_182),
            ("{user1000}.following", 3_443),
            ("{user1000}.followers", 3_443),
            ("foo{}{bar}", 8_363),
            ("foo{{bar}}zap", 4_015),
            ("foo{bar}{zap}", 5_061),
            ("bar", 5_061),
            ("", 0),
        ] {
            assert_eq!(slot_of(key), slot, "{key}");
        }
    }
}
