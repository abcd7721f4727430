//! `BF.INSERT`: creates a filter if there is none, and adds items.

use super::create::{find_or_create, has_more_bits, work_of_creation};
use super::options::{For, capacity, error_rate, finish, take};
use crate::command::call::{Call, Fault, NOT_FOUND, Outcome};
use crate::command::word::is;
use crate::config::Config;
use crate::reservation::Reservation;
use mayhap_engine::Words;

/// The memory of a new filter is filled with zeros, if one is created.
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
    let target_fpp = after("error").and_then(|word| error_rate(Some(word), For::Insert).ok());
    let capacity = after("capacity").and_then(|word| capacity(Some(word), For::Insert).ok());
    let is_other = options.iter().take(before_items).any(has_more_bits);
    work_of_creation(call, target_fpp, capacity, is_other)
}

/// The arguments of `BF.INSERT`.
pub(in crate::command) struct Insert<'a> {
    /// The filter to create if there is none, before [`finish`].
    pub(in crate::command) reservation: Reservation,
    /// Whether it has the option `CAPACITY`.
    pub(in crate::command) is_sized: bool,
    /// Whether a filter is created: without `NOCREATE`.
    pub(in crate::command) creates: bool,
    /// None without the word `ITEMS`.
    pub(in crate::command) items: Option<Words<'a>>,
}

impl<'a> Insert<'a> {
    pub(in crate::command) fn parse(words: Words<'a>, config: &Config) -> Result<Self, Fault> {
        let mut reservation = Reservation::by_default(config);
        let (mut is_sized, mut creates, mut items) = (false, true, None);
        let mut rest = words.from(2).iter();
        while let Some(word) = rest.next() {
            if is(word, "items") {
                items = Some(words.from(words.len() - rest.len()));
                break;
            } else if is(word, "capacity") {
                reservation.capacity = capacity(rest.next(), For::Insert)?;
                is_sized = true;
            } else if is(word, "error") {
                reservation.target_fpp = error_rate(rest.next(), For::Insert)?;
            } else if is(word, "nocreate") {
                creates = false;
            } else if !take(&mut reservation, word, &mut rest, For::Insert)? {
                return Err("Unknown argument received".into());
            }
        }
        if items.is_some_and(|items| items.is_empty()) {
            return Err(Call::arity("bf.insert"));
        }
        Ok(Self { reservation, is_sized, creates, items })
    }
}

pub(in crate::command) fn insert(call: &mut Call<'_, '_>) -> Outcome {
    let config = &call.shared.config();
    let request = Insert::parse(call.words, config)?;
    let reservation = finish(request.reservation, config, For::Insert)?;
    call.writable()?;
    let entry = match call.entry(call.word(1)) {
        Some(entry) => entry,
        None if !request.creates => return Err(NOT_FOUND.into()),
        None => find_or_create(call, &reservation)?,
    };
    let Some(items) = request.items else {
        call.reply().array(0);
        return Ok(());
    };
    super::add::insert(call, &entry, items)
}
