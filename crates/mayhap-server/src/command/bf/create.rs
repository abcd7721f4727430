//! `BF.RESERVE`, and filters that an insertion creates.

use super::options::{For, capacity, error_rate, finish, reserved};
use crate::command::bounds::{CREATE_NS, copying};
use crate::command::call::{Call, Fault, Outcome};
use crate::command::word::is;
use crate::reservation::Reservation;
use mayhap_engine::keyspace::{Entry, Pages};
use std::sync::Arc;
use std::time::Instant;

pub(in crate::command) fn reserve(call: &mut Call<'_, '_>) -> Outcome {
    timed(call, reserve_filter)
}

/// Calls `reserve` and counts its time as work.
pub(in crate::command) fn timed<'a, 'b>(
    call: &mut Call<'a, 'b>,
    reserve: fn(&mut Call<'a, 'b>) -> Outcome,
) -> Outcome {
    let began = Instant::now();
    let done = reserve(call);
    // Sizing a filter takes up to a millisecond unless another one has the same size.
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    call.turn.work_ns = call.turn.work_ns.saturating_add(took);
    done
}

fn reserve_filter(call: &mut Call<'_, '_>) -> Outcome {
    let config = &call.shared.config();
    let reservation = finish(reserved(call.words, config)?, config, For::Reserve)?;
    call.operable()?;
    if call.entry(call.word(1)).is_some() {
        return Err("ERR item exists".into());
    }
    let spec = reservation.spec(config);
    reservation.check_scale(&call.shared.keyspace, &spec)?;
    call.shared.keyspace.create(call.word(1), spec, call.turn.work.now, call.log())?;
    call.ok()
}

/// `BF.RESERVE`: the memory of a new filter is filled with zeros.
pub(super) fn work_of_reserve(call: &Call<'_, '_>) -> u64 {
    let target_fpp = error_rate(call.words.get(2), For::Reserve).ok();
    let capacity = capacity(call.words.get(3), For::Reserve).ok();
    let is_other = call.words.from(4).iter().any(has_more_bits);
    work_of_creation(call, target_fpp, capacity, is_other)
}

pub(super) fn has_more_bits(word: &[u8]) -> bool {
    is(word, "counting") || is(word, "window") || is(word, "compact")
}

/// Work of creating a filter for `capacity` keys; `is_other` if its kind takes more bits.
pub(in crate::command) fn work_of_creation(
    call: &Call<'_, '_>,
    target_fpp: Option<f64>,
    capacity: Option<u64>,
    is_other: bool,
) -> u64 {
    let config = &call.shared.config();
    let target_fpp = target_fpp.unwrap_or(config.default_fpp);
    let capacity = capacity.unwrap_or(config.default_capacity);
    // n ln(1/p) / (ln 2)^2 bits; a counting filter has 4 for each, and a compact one that grows
    // twice as many at high rates.
    let bits = capacity as f64 * -target_fpp.ln() / std::f64::consts::LN_2.powi(2);
    let bytes = (bits / 8.0 * if is_other { 4.0 } else { 1.0 }) as u64;
    if bytes <= SMALL_BYTES || call.words.get(1).is_none_or(|name| call.entry(name).is_some()) {
        return CREATE_NS;
    }
    CREATE_NS + copying(bytes.min(call.shared.keyspace.options().max_filter_bytes))
}

/// A smaller filter is created in no time, so there is no need to look up whether it exists.
const SMALL_BYTES: u64 = 64 << 10;

/// The filter of the request, created with the configured defaults if it does not exist.
#[cold]
pub(super) fn by_default(call: &mut Call<'_, '_>) -> Result<Arc<Entry>, Fault> {
    let config = &call.shared.config();
    let reservation = finish(Reservation::by_default(config), config, For::Insert)?;
    find_or_create(call, &reservation)
}

/// The filter of the request, created with these options if it does not exist; another client may
/// create it at the same time.
pub(in crate::command) fn find_or_create(
    call: &mut Call<'_, '_>,
    reservation: &Reservation,
) -> Result<Arc<Entry>, Fault> {
    let (shared, now) = (call.shared, call.turn.work.now);
    let spec = reservation.spec(&shared.config());
    reservation.check_scale(&shared.keyspace, &spec)?;
    call.turn.wrote = true;
    // The row of the command does not count this, unlike that of `BF.RESERVE`.
    call.turn.work_ns = call.turn.work_ns.saturating_add(CREATE_NS);
    let pages = if call.turn.hurried { Pages::WhenUsed } else { Pages::AtOnce };
    let (name, turn) = (call.word(1), call.turn.work.recorder.as_mut());
    Ok(shared.keyspace.get_or_create(name, (spec, pages), now, turn)?)
}
