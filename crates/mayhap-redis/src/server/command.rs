//! Commands with the slot of their key, and what became of them.

use crate::Error;
use crc16::{State, XMODEM};
use redis::{Cmd, Value};

/// Slots of a cluster.
pub(crate) const NUM_SLOTS: u16 = 16_384;

/// The slot of a key: CRC16 of its hash tag, or of all of it, modulo 16,384.
///
/// The tag is what stands between the first `{` and the first `}` after it, unless that is nothing
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

/// What sending it again may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// Changes nothing: replicas may answer it.
    Read,
    /// Changes the same bits when it is sent again, but its reply tells of the first time only.
    Write,
}

impl Command {
    /// A command that changes nothing.
    pub(crate) fn read(key: &str, cmd: Cmd) -> Self {
        Self::read_from(slot_of(key), cmd)
    }

    /// A command that does no harm when it is sent again.
    pub(crate) fn write(key: &str, cmd: Cmd) -> Self {
        Self::write_to(slot_of(key), cmd)
    }

    /// [`Command::read`] where the slot is known.
    pub(crate) fn read_from(slot: u16, cmd: Cmd) -> Self {
        Self { cmd, slot, kind: CommandKind::Read }
    }

    /// [`Command::write`] where the slot is known.
    pub(crate) fn write_to(slot: u16, cmd: Cmd) -> Self {
        Self { cmd, slot, kind: CommandKind::Write }
    }
}

/// What became of a command.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The value, or the error that the server gave instead of doing anything.
    pub(crate) value: Result<Value, Error>,
    /// It was sent before and may have been carried out then, unseen: a write that finds its bits
    /// set may have set them itself.
    pub(crate) repeated: bool,
    /// It was sent more than once, for whatever reason: it may have been carried out after commands
    /// that stand behind it.
    pub(crate) again: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CLUSTER KEYSLOT of Redis 7.0.15 answers.
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
