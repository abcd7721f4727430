//! The unit of a window's times.

use mayhap_units::number::grouped;
use mayhap_units::span::format_millis;
use std::time::{SystemTime, UNIX_EPOCH};

/// The unit of a window's times: milliseconds since 1970, or one that only its program knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) unix_ms: bool,
}

/// The time. A clock before 1970 stands still.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Clock {
    /// The time now: of a unit that is not known, the latest one that was given.
    pub(crate) fn time(self, latest: impl FnOnce() -> u64) -> u64 {
        if self.unix_ms { now() } else { latest() }
    }

    /// Time as people say it, if the unit is known.
    pub(crate) fn span(self, time: u64) -> String {
        if self.unix_ms { format_millis(time) } else { format!("{} ticks", grouped(time)) }
    }

    /// A moment that was, as people say it, if the unit is known. It is ahead only if a clock was
    /// wrong.
    pub(crate) fn moment(self, then: u64) -> String {
        if !self.unix_ms {
            return format!("tick {}", grouped(then));
        }
        match (now().checked_sub(then), then.saturating_sub(now())) {
            (Some(since), _) => format!("{} ago", format_millis(since)),
            (None, ahead) => format!("{} ahead of this clock", format_millis(ahead)),
        }
    }
}
