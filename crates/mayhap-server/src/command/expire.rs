//! The expiry of filters.

use super::call::{Call, Fault, NO_INTEGER, Outcome};
use super::number;
use super::row::Right::{Read, Write};
use super::row::{Command, ONE, row};
use super::word::{one_of, shown};
use mayhap_engine::Words;

const SET_MS: &str = "Sets the expiry of a filter in milliseconds.";
const SET_UNIX: &str = "Sets the expiry of a filter to a Unix time.";
const SET_UNIX_MS: &str = "Sets the expiry of a filter to a Unix time in milliseconds.";
const TELL: &str = "Returns the time to live of a filter in seconds.";
const TELL_MS: &str = "Returns the time to live of a filter in milliseconds.";
const TELL_UNIX: &str = "Returns the expiry of a filter as a Unix time.";
const TELL_UNIX_MS: &str = "Returns the expiry of a filter as a Unix time in milliseconds.";

pub(super) const COMMANDS: &[Command] = &[
    row("expire", -3, Write, ONE, "Sets the expiry of a filter in seconds.", set::<SECOND, NOW>),
    row("pexpire", -3, Write, ONE, SET_MS, set::<MILLISECOND, NOW>),
    row("expireat", -3, Write, ONE, SET_UNIX, set::<SECOND, UNIX>),
    row("pexpireat", -3, Write, ONE, SET_UNIX_MS, set::<MILLISECOND, UNIX>),
    row("persist", 2, Write, ONE, "Removes the expiry of a filter.", persist),
    row("ttl", 2, Read, ONE, TELL, tell::<SECOND, NOW>),
    row("pttl", 2, Read, ONE, TELL_MS, tell::<MILLISECOND, NOW>),
    row("expiretime", 2, Read, ONE, TELL_UNIX, tell::<SECOND, UNIX>),
    row("pexpiretime", 2, Read, ONE, TELL_UNIX_MS, tell::<MILLISECOND, UNIX>),
];

/// No filter of this name.
pub(super) const MISSING: i64 = -2;
/// It does not expire.
pub(super) const FOR_EVER: i64 = -1;

/// Milliseconds of a unit.
pub(super) const SECOND: i64 = 1000;
pub(super) const MILLISECOND: i64 = 1;

/// Times from now on, or since 1970.
const NOW: bool = true;
const UNIX: bool = false;

/// When the expiry is changed: if there was none, if there was one, if the new one is later, if it
/// is earlier; in the order of `CONDITIONS`.
#[derive(Clone, Copy, Default)]
pub(super) struct When([bool; 4]);

const CONDITIONS: [(&str, usize); 4] = [("nx", 0), ("xx", 1), ("gt", 2), ("lt", 3)];

impl When {
    pub(super) fn parse(words: Words<'_>) -> Result<Self, Fault> {
        let mut when = [false; 4];
        for option in words.from(3).iter() {
            let known = one_of(option, &CONDITIONS);
            when[known.ok_or_else(|| format!("ERR Unsupported option {}", shown(option)))?] = true;
        }
        match when {
            [true, xx, gt, lt] if xx || gt || lt => {
                Err("ERR NX and XX, GT or LT options at the same time are not compatible".into())
            }
            [_, _, true, true] => {
                Err("ERR GT and LT options at the same time are not compatible".into())
            }
            when => Ok(Self(when)),
        }
    }

    /// Whether there are no conditions.
    pub(super) fn is_always(self) -> bool {
        self.0 == [false; 4]
    }

    /// Whether the expiry `old` (0 for never) may be replaced by `new`.
    const fn allows(self, old: u64, new: u64) -> bool {
        let Self([nx, xx, gt, lt]) = self;
        // Never is later than any time.
        !(nx && old != 0
            || xx && old == 0
            || gt && (old == 0 || new <= old)
            || lt && old != 0 && new >= old)
    }
}

/// The time from which on times are counted.
fn base(call: &Call<'_, '_>, from_now: bool) -> i64 {
    if from_now { i64::try_from(call.turn.work.now).unwrap_or(i64::MAX) } else { 0 }
}

/// Sets the expiry to a number of these units.
fn set<const UNIT: i64, const FROM_NOW: bool>(call: &mut Call<'_, '_>) -> Outcome {
    let when = When::parse(call.words)?;
    let given = number::integer(call.word(2)).ok_or(NO_INTEGER)?;
    let at = given.checked_mul(UNIT).and_then(|at| at.checked_add(base(call, FROM_NOW)));
    let at = at.ok_or_else(|| invalid_time(call.words))?;
    call.operable()?;
    let name = call.word(1);
    let Some(entry) = call.entry(name) else {
        return call.integer(0);
    };
    // A time before 1970 has passed as well.
    let at = u64::try_from(at).unwrap_or(0).max(1);
    if !when.allows(entry.expires_at(), at) {
        return call.integer(0);
    }
    let changed = call.expire(name, at)?;
    call.integer(i64::from(changed))
}

/// The error of a time that cannot be counted.
pub(super) fn invalid_time(words: Words<'_>) -> Fault {
    let command = shown(words.get(0).unwrap_or_default()).to_lowercase();
    format!("ERR invalid expire time in '{command}' command").into()
}

fn persist(call: &mut Call<'_, '_>) -> Outcome {
    call.operable()?;
    let name = call.word(1);
    let has_end = call.entry(name).is_some_and(|entry| entry.expires_at() != 0);
    let changed = has_end && call.expire(name, 0)?;
    call.integer(i64::from(changed))
}

/// The expiry of a filter in ms since 1970, [`FOR_EVER`] or [`MISSING`].
fn end(call: &Call<'_, '_>) -> i64 {
    match call.entry(call.word(1)).map(|entry| entry.expires_at()) {
        None => MISSING,
        Some(0) => FOR_EVER,
        Some(at) => i64::try_from(at).unwrap_or(i64::MAX),
    }
}

/// The expiry in these units, to the nearest as Redis does; not before `base`.
fn tell<const UNIT: i64, const FROM_NOW: bool>(call: &mut Call<'_, '_>) -> Outcome {
    let base = base(call, FROM_NOW);
    let answer = match end(call) {
        end @ 0.. => end.saturating_sub(base).max(0).saturating_add(UNIT / 2) / UNIT,
        none => none,
    };
    call.integer(answer)
}
