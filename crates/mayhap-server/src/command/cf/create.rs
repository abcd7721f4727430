//! `CF.RESERVE`, and filters that an insertion creates.

use super::kind::check_kind;
use super::options::{BUCKET_SIZE, by_default, capacity, take};
use crate::command::bf::create::{find_or_create, timed, work_of_creation};
use crate::command::call::{Call, Fault, Outcome};
use crate::command::number;
use crate::command::word::is;
use crate::reservation::Reservation;
use mayhap_engine::keyspace::Entry;
use std::sync::Arc;

/// `CF.RESERVE key capacity [BUCKETSIZE b] [MAXITERATIONS m] [EXPANSION e] [ERROR p]`.
pub(super) fn reserve(call: &mut Call<'_, '_>) -> Outcome {
    timed(call, reserve_filter)
}

fn reserve_filter(call: &mut Call<'_, '_>) -> Outcome {
    let config = &call.shared.config();
    let mut reservation = by_default(config);
    let (mut bucket_size, mut rest) = (BUCKET_SIZE, call.words.from(3).iter());
    // Before the other options, as there.
    capacity(call.words.get(2), 0)?;
    while let Some(word) = rest.next() {
        take(&mut reservation, &mut bucket_size, word, &mut rest)?;
    }
    reservation.capacity = capacity(call.words.get(2), bucket_size)?;
    let reservation = reservation.finish(config)?;
    call.operable()?;
    if call.entry(call.word(1)).is_some() {
        return Err("ERR item exists".into());
    }
    let spec = reservation.spec(config);
    call.shared.keyspace.create(call.word(1), spec, call.turn.work.now, call.log())?;
    call.ok()
}

/// The memory of a new filter is filled with zeros.
pub(super) fn work_of_reserve(call: &Call<'_, '_>) -> u64 {
    let options = call.words.from(3);
    let place = options.iter().position(|word| is(word, "error"));
    let rate = place.and_then(|at| options.get(at + 1)).and_then(number::real);
    let rate = rate.filter(|&rate| rate > 0.0 && rate < 1.0);
    work_of_creation(call, rate, capacity(call.words.get(2), 0).ok(), true)
}

/// The same, if one is created.
pub(super) fn work_of_insert(call: &Call<'_, '_>) -> u64 {
    let options = call.words.from(2);
    let before_items = options.iter().take_while(|word| !is(word, "items"));
    let place = before_items.into_iter().position(|word| is(word, "capacity"));
    let Some(place) = place else { return 0 };
    work_of_creation(call, None, capacity(options.get(place + 1), 0).ok(), true)
}

/// The filter of the request, created with the defaults if it does not exist.
pub(super) fn default_filter(call: &mut Call<'_, '_>) -> Result<Arc<Entry>, Fault> {
    match call.compact()? {
        Some(entry) => Ok(entry),
        None => create(call, by_default(&call.shared.config())),
    }
}

/// The filter of the request, created with these options if it does not exist.
#[cold]
pub(super) fn create(
    call: &mut Call<'_, '_>,
    reservation: Reservation,
) -> Result<Arc<Entry>, Fault> {
    let reservation = reservation.finish(&call.shared.config())?;
    let entry = find_or_create(call, &reservation)?;
    // Another client may have created one of another kind.
    check_kind(&entry)?;
    Ok(entry)
}
