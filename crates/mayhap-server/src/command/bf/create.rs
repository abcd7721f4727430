//! `BF.RESERVE`, `BF.INSERT`: filters are made.

use super::errors::NOT_FOUND;
use super::options::{For, capacity, error_rate, finish, take};
use crate::command::bounds::{CREATE_NS, copying};
use crate::command::call::{Call, Fault, Outcome};
use crate::command::word::is;
use crate::config::Config;
use crate::keyspace::Entry;
use crate::reservation::Reservation;
use crate::resp::Words;
use std::sync::Arc;
use std::time::Instant;

pub(in crate::command) fn reserve(call: &mut Call<'_, '_>) -> Outcome {
    let began = Instant::now();
    let done = reserve_filter(call);
    // A filter of a size that no other has takes up to a millisecond to be sized.
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    call.turn.work = call.turn.work.saturating_add(took);
    done
}

fn reserve_filter(call: &mut Call<'_, '_>) -> Outcome {
    let config = &call.shared.config();
    let mut reservation = Reservation::by_default(config);
    reservation.error = error_rate(call.words.get(2), For::Reserve)?;
    reservation.capacity = capacity(call.words.get(3), For::Reserve)?;
    let mut rest = call.words.from(4).iter();
    while let Some(word) = rest.next() {
        if !take(&mut reservation, word, &mut rest, For::Reserve)? {
            return Err("ERR unknown argument received".into());
        }
    }
    let reservation = finish(reservation, config, For::Reserve)?;
    call.operable()?;
    if call.entry(call.word(1)).is_some() {
        return Err("ERR item exists".into());
    }
    let spec = reservation.spec(config);
    reservation.check_scale(&call.shared.keyspace, &spec)?;
    call.shared.keyspace.create(call.word(1), spec, call.turn.now, call.log())?;
    call.ok()
}

/// `BF.RESERVE`: the memory of a new filter is filled with zeros.
pub(super) fn work_of_reserve(call: &Call<'_, '_>) -> u64 {
    let error = error_rate(call.words.get(2), For::Reserve).ok();
    let capacity = capacity(call.words.get(3), For::Reserve).ok();
    let is_other = call.words.from(4).iter().any(has_more_bits);
    work_of_creation(call, error, capacity, is_other)
}

/// `BF.INSERT`, which may create the filter.
pub(super) fn work_of_insert(call: &Call<'_, '_>) -> u64 {
    let options = call.words.from(2);
    let before_items = options.iter().take_while(|word| !is(word, "items")).count();
    let after = |name: &str| {
        let place = options.iter().take(before_items).position(|word| is(word, name))?;
        options.get(place + 1)
    };
    if before_items == 0 {
        return 0;
    }
    let error = after("error").and_then(|word| error_rate(Some(word), For::Insert).ok());
    let capacity = after("capacity").and_then(|word| capacity(Some(word), For::Insert).ok());
    let is_other = options.iter().take(before_items).any(has_more_bits);
    work_of_creation(call, error, capacity, is_other)
}

fn has_more_bits(word: &[u8]) -> bool {
    is(word, "counting") || is(word, "window")
}

/// Work of making a filter for so many keys; `is_other` if it is of a kind with more bits.
fn work_of_creation(
    call: &Call<'_, '_>,
    error: Option<f64>,
    capacity: Option<u64>,
    is_other: bool,
) -> u64 {
    let config = &call.shared.config();
    let error = error.unwrap_or(config.default_error);
    let capacity = capacity.unwrap_or(config.default_capacity);
    // n ln(1/p) / (ln 2)^2 bits; counters have 4 for each.
    let bits = capacity as f64 * -error.ln() / std::f64::consts::LN_2.powi(2);
    let bytes = (bits / 8.0 * if is_other { 4.0 } else { 1.0 }) as u64;
    if bytes <= SMALL_BYTES || call.words.get(1).is_none_or(|name| call.entry(name).is_some()) {
        return CREATE_NS;
    }
    CREATE_NS + copying(bytes.min(call.shared.keyspace.options().max_filter_bytes))
}

/// A filter of fewer bytes is made in no time, and whether it is there need not be looked up.
const SMALL_BYTES: u64 = 64 << 10;

/// What `BF.INSERT` asks for.
struct Insert<'a> {
    reservation: Reservation,
    create: bool,
    /// None without the word `ITEMS`.
    items: Option<Words<'a>>,
}

impl<'a> Insert<'a> {
    fn parse(words: Words<'a>, config: &Config) -> Result<Self, Fault> {
        let mut reservation = Reservation::by_default(config);
        let mut create = true;
        let mut items = None;
        let mut rest = words.from(2).iter();
        while let Some(word) = rest.next() {
            if is(word, "items") {
                items = Some(words.from(words.len() - rest.len()));
                break;
            } else if is(word, "capacity") {
                reservation.capacity = capacity(rest.next(), For::Insert)?;
            } else if is(word, "error") {
                reservation.error = error_rate(rest.next(), For::Insert)?;
            } else if is(word, "nocreate") {
                create = false;
            } else if !take(&mut reservation, word, &mut rest, For::Insert)? {
                return Err("Unknown argument received".into());
            }
        }
        if items.is_some_and(|items| items.is_empty()) {
            return Err(Call::arity("bf.insert"));
        }
        Ok(Self { reservation: finish(reservation, config, For::Insert)?, create, items })
    }
}

pub(in crate::command) fn insert(call: &mut Call<'_, '_>) -> Outcome {
    let request = Insert::parse(call.words, &call.shared.config())?;
    call.writable()?;
    let entry = match call.entry(call.word(1)) {
        Some(entry) => entry,
        None if !request.create => return Err(NOT_FOUND.into()),
        None => find_or_create(call, &request.reservation)?,
    };
    let Some(items) = request.items else {
        call.reply().array(0);
        return Ok(());
    };
    super::add::insert(call, &entry, items)
}

/// The filter of the request made with the configured defaults.
#[cold]
pub(super) fn by_default(call: &mut Call<'_, '_>) -> Result<Arc<Entry>, Fault> {
    let config = &call.shared.config();
    let reservation = finish(Reservation::by_default(config), config, For::Insert)?;
    find_or_create(call, &reservation)
}

/// The filter of the request, or a new one with these options; another client may make it at the
/// same time.
fn find_or_create(call: &mut Call<'_, '_>, reservation: &Reservation) -> Result<Arc<Entry>, Fault> {
    let (shared, now) = (call.shared, call.turn.now);
    let spec = reservation.spec(&shared.config());
    reservation.check_scale(&shared.keyspace, &spec)?;
    call.turn.wrote = true;
    // Unlike `BF.RESERVE` its row does not know of it.
    call.turn.work = call.turn.work.saturating_add(CREATE_NS);
    Ok(shared.keyspace.get_or_create(call.word(1), spec, now, call.log())?)
}
