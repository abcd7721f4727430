//! `BF.RESERVE`, `BF.INSERT`: filters are made.

use super::errors::NOT_FOUND;
use super::growth_limit::room_within;
use super::options::{For, Reservation, capacity, error_rate};
use crate::command::bounds::CREATE_NS;
use crate::command::call::{Call, Fault, Outcome};
use crate::command::word::is;
use crate::config::Config;
use crate::keyspace::{Entry, Shape, Spec};
use crate::resp::Words;
use std::sync::Arc;

pub(in crate::command) fn reserve(call: &mut Call<'_, '_>) -> Outcome {
    let config = &call.shared.config;
    let mut reservation = Reservation::by_default(config);
    reservation.error = error_rate(call.words.get(2), For::Reserve)?;
    reservation.capacity = capacity(call.words.get(3), For::Reserve)?;
    let mut rest = call.words.from(4).iter();
    while let Some(word) = rest.next() {
        if !reservation.take(word, &mut rest, For::Reserve)? {
            return Err("ERR unknown argument received".into());
        }
    }
    let reservation = reservation.finish(config, For::Reserve)?;
    call.writable()?;
    if call.entry(call.word(1)).is_some() {
        return Err("ERR item exists".into());
    }
    let spec = reservation.spec(config);
    check_scale(call, &reservation, &spec)?;
    call.turn.wrote = true;
    call.shared.keyspace.create(call.word(1), spec, call.turn.now, call.log())?;
    call.ok()
}

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
            } else if !reservation.take(word, &mut rest, For::Insert)? {
                return Err("Unknown argument received".into());
            }
        }
        if items.is_some_and(|items| items.is_empty()) {
            return Err(Call::arity("bf.insert"));
        }
        Ok(Self { reservation: reservation.finish(config, For::Insert)?, create, items })
    }
}

pub(in crate::command) fn insert(call: &mut Call<'_, '_>) -> Outcome {
    let request = Insert::parse(call.words, &call.shared.config)?;
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
    let config = &call.shared.config;
    let reservation = Reservation::by_default(config).finish(config, For::Insert)?;
    find_or_create(call, &reservation)
}

/// The filter of the request, or a new one with these options; another client may make it at the
/// same time.
fn find_or_create(call: &mut Call<'_, '_>, reservation: &Reservation) -> Result<Arc<Entry>, Fault> {
    let (shared, now) = (call.shared, call.turn.now);
    let spec = reservation.spec(&shared.config);
    check_scale(call, reservation, &spec)?;
    call.turn.wrote = true;
    // Unlike `BF.RESERVE` its row does not know of it.
    call.turn.work = call.turn.work.saturating_add(CREATE_NS);
    Ok(shared.keyspace.get_or_create(call.word(1), spec, now, call.log())?)
}

/// That a growing filter can take as many keys as `VALIDATESCALETO` says.
fn check_scale(call: &Call<'_, '_>, reservation: &Reservation, spec: &Spec) -> Result<(), Fault> {
    let (Some(keys), Shape::Growing { capacity, error, .. }) = (reservation.scale_to, spec.shape)
    else {
        return Ok(());
    };
    let options = call.shared.keyspace.options();
    let limit = options.max_filter_bytes.min(options.max_memory);
    if room_within(limit, capacity, error) < keys {
        let text = "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit";
        return Err(text.into());
    }
    Ok(())
}
