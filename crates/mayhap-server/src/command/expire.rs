//! When filters end.

use super::call::{Call, Fault, NO_INTEGER, Outcome};
use super::number;
use super::row::{Command, Places, Right, row};
use super::word::{one_of, shown};

pub(super) const COMMANDS: &[Command] = &[
    row("expire", -3, Right::Write, Places::ONE, "Sets the expiry of a filter in seconds.", expire),
    row(
        "pexpire",
        -3,
        Right::Write,
        Places::ONE,
        "Sets the expiry of a filter in milliseconds.",
        pexpire,
    ),
    row(
        "expireat",
        -3,
        Right::Write,
        Places::ONE,
        "Sets the expiry of a filter to a Unix time.",
        expire_at,
    ),
    row(
        "pexpireat",
        -3,
        Right::Write,
        Places::ONE,
        "Sets the expiry of a filter to a Unix time in \
                                                     milliseconds.",
        pexpire_at,
    ),
    row("persist", 2, Right::Write, Places::ONE, "Removes the expiry of a filter.", persist),
    row(
        "ttl",
        2,
        Right::Read,
        Places::ONE,
        "Returns the time to live of a filter in seconds.",
        ttl,
    ),
    row(
        "pttl",
        2,
        Right::Read,
        Places::ONE,
        "Returns the time to live of a filter in \
                                              milliseconds.",
        pttl,
    ),
    row(
        "expiretime",
        2,
        Right::Read,
        Places::ONE,
        "Returns the expiry of a filter as a Unix time.",
        time,
    ),
    row(
        "pexpiretime",
        2,
        Right::Read,
        Places::ONE,
        "Returns the expiry of a filter as a Unix time \
                                                     in milliseconds.",
        ptime,
    ),
];

/// No filter of this name.
const MISSING: i64 = -2;
/// It has no end.
const FOR_EVER: i64 = -1;

#[derive(Clone, Copy)]
struct Clock {
    /// Milliseconds of the unit.
    unit: i64,
    /// From now, not from 1970.
    relative: bool,
}

fn expire(call: &mut Call<'_, '_>) -> Outcome {
    change(call, "expire", Clock { unit: 1000, relative: true })
}

fn pexpire(call: &mut Call<'_, '_>) -> Outcome {
    change(call, "pexpire", Clock { unit: 1, relative: true })
}

fn expire_at(call: &mut Call<'_, '_>) -> Outcome {
    change(call, "expireat", Clock { unit: 1000, relative: false })
}

fn pexpire_at(call: &mut Call<'_, '_>) -> Outcome {
    change(call, "pexpireat", Clock { unit: 1, relative: false })
}

/// When the end is changed: where there was none, where there was one, if the new one is later, if
/// it is earlier; by the places of `CONDITIONS`.
#[derive(Clone, Copy, Default)]
struct When([bool; 4]);

const CONDITIONS: [(&str, usize); 4] = [("nx", 0), ("xx", 1), ("gt", 2), ("lt", 3)];

impl When {
    fn parse(call: &Call<'_, '_>) -> Result<Self, Fault> {
        let mut when = [false; 4];
        for option in call.words.from(3).iter() {
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

    /// Whether the end `old` (0 for never) gives way to `new`.
    const fn allows(self, old: u64, new: u64) -> bool {
        let Self([nx, xx, gt, lt]) = self;
        // Never is later than any time.
        !(nx && old != 0
            || xx && old == 0
            || gt && (old == 0 || new <= old)
            || lt && old != 0 && new >= old)
    }
}

fn change(call: &mut Call<'_, '_>, command: &str, clock: Clock) -> Outcome {
    let when = When::parse(call)?;
    let given = number::integer(call.word(2)).ok_or(NO_INTEGER)?;
    let now = i64::try_from(call.turn.now).unwrap_or(i64::MAX);
    let base = if clock.relative { now } else { 0 };
    let at = given
        .checked_mul(clock.unit)
        .and_then(|at| at.checked_add(base))
        .ok_or_else(|| format!("ERR invalid expire time in '{command}' command"))?;
    call.operable()?;
    let name = call.word(1);
    let Some(entry) = call.entry(name) else {
        return call.integer(0);
    };
    // What lies before 1970 is over as well.
    let at = u64::try_from(at).unwrap_or(0).max(1);
    if !when.allows(entry.expires_at(), at) {
        return call.integer(0);
    }
    let changed = call.expire(name, at)?;
    call.integer(i64::from(changed))
}

fn persist(call: &mut Call<'_, '_>) -> Outcome {
    call.operable()?;
    let name = call.word(1);
    let has_end = call.entry(name).is_some_and(|entry| entry.expires_at() != 0);
    let changed = has_end && call.expire(name, 0)?;
    call.integer(i64::from(changed))
}

/// The end of a filter in ms since 1970, [`FOR_EVER`] or [`MISSING`].
fn end(call: &Call<'_, '_>) -> i64 {
    match call.entry(call.word(1)).map(|entry| entry.expires_at()) {
        None => MISSING,
        Some(0) => FOR_EVER,
        Some(at) => i64::try_from(at).unwrap_or(i64::MAX),
    }
}

/// Milliseconds from now to an end.
fn left(call: &Call<'_, '_>, end: i64) -> i64 {
    end.saturating_sub(i64::try_from(call.turn.now).unwrap_or(i64::MAX)).max(0)
}

fn ttl(call: &mut Call<'_, '_>) -> Outcome {
    let answer = match end(call) {
        // To the nearest second, as Redis does.
        end @ 0.. => left(call, end).saturating_add(500) / 1000,
        none => none,
    };
    call.integer(answer)
}

fn pttl(call: &mut Call<'_, '_>) -> Outcome {
    let answer = match end(call) {
        end @ 0.. => left(call, end),
        none => none,
    };
    call.integer(answer)
}

fn time(call: &mut Call<'_, '_>) -> Outcome {
    let answer = match end(call) {
        end @ 0.. => end.saturating_add(500) / 1000,
        none => none,
    };
    call.integer(answer)
}

fn ptime(call: &mut Call<'_, '_>) -> Outcome {
    let answer = end(call);
    call.integer(answer)
}
