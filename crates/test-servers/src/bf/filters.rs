//! `BF.*` except for dumps.

use super::call::Call;
use super::dialect::{Dialect, not_found};
use super::filter::Filter;
use super::keyspace::Value;
use super::reply::{Answer, Reply};
use super::reservation::{Bad, Insertion, Reservation, is};

/// `BF.RESERVE key error capacity …`
pub(super) fn reserve(call: &mut Call<'_>) -> Answer {
    let reservation = Reservation::parse(call.dialect, call.rest());
    let reservation = reservation.map_err(|bad| call.refuse(bad))?;
    let key = call.key();
    if call.keys.filter(key)?.is_some() {
        return Err("ERR item exists".into());
    }
    let filter = Filter::reserve(call.dialect, &reservation)?;
    call.keys.insert(key, Value::Filter(filter));
    Ok(Reply::OK)
}

/// `BF.ADD key item`
pub(super) fn add(call: &mut Call<'_>) -> Answer {
    let Some(item) = call.rest().first() else { return Err(call.refuse(Bad::Arity)) };
    call.filter_or_new(&Reservation::default())?.insert(item).map(Reply::is)
}

/// `BF.MADD key item …`
pub(super) fn add_many(call: &mut Call<'_>) -> Answer {
    let items = call.rest();
    Ok(insert_all(call.filter_or_new(&Reservation::default())?, items))
}

/// `BF.INSERT key … ITEMS item …`
pub(super) fn insert(call: &mut Call<'_>) -> Answer {
    let insertion = Insertion::parse(call.dialect, call.rest());
    let Insertion { reservation, only_there, items } = insertion.map_err(|bad| call.refuse(bad))?;
    let filter = if only_there { call.filter()? } else { call.filter_or_new(&reservation)? };
    Ok(insert_all(filter, items))
}

/// An answer for each item; the first that does not fit ends the list with its error.
fn insert_all(filter: &mut Filter, items: &[Vec<u8>]) -> Reply {
    let mut answers = Vec::new();
    for item in items {
        match filter.insert(item) {
            Ok(is_new) => answers.push(Reply::is(is_new)),
            Err(words) => {
                answers.push(Reply::Error(words));
                break;
            }
        }
    }
    Reply::Array(answers)
}

/// `BF.EXISTS key item`
pub(super) fn exists(call: &mut Call<'_>) -> Answer {
    let answers = contained(call)?;
    Ok(Reply::is(answers.first() == Some(&true)))
}

/// `BF.MEXISTS key item …`
pub(super) fn exist_many(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Array(contained(call)?.into_iter().map(Reply::is).collect()))
}

/// No item is in a filter that does not exist; `RedisBloom` reports the same for other values too.
fn contained(call: &mut Call<'_>) -> Result<Vec<bool>, String> {
    let (items, dialect) = (call.rest(), call.dialect);
    let filter = match call.keys.filter(call.key()) {
        Err(_) if dialect == Dialect::RedisBloom => None,
        filter => filter?,
    };
    let is_in = |item: &Vec<u8>| filter.as_ref().is_some_and(|filter| filter.contains(item));
    Ok(items.iter().map(is_in).collect())
}

/// `BF.CARD key`
pub(super) fn card(call: &mut Call<'_>) -> Answer {
    let filter = call.keys.filter(call.key())?;
    Ok(Reply::count(filter.map_or(0, |filter| filter.num_items())))
}

/// `BF.INFO key [field]`
pub(super) fn info(call: &mut Call<'_>) -> Answer {
    let dialect = call.dialect;
    let rows = call.keys.filter(call.key())?.ok_or_else(not_found)?.info();
    let Some(wanted) = call.rest().first() else {
        let pair = |(_, name, value)| [Reply::Status(name), value];
        return Ok(Reply::Array(rows.into_iter().flat_map(pair).collect()));
    };
    let row = rows.into_iter().find(|(field, ..)| is(wanted, field));
    match (dialect, row) {
        (Dialect::RedisBloom, Some((.., value))) => Ok(Reply::Array(vec![value])),
        (Dialect::Valkey, Some((.., value))) => Ok(value),
        (Dialect::RedisBloom, None) => Err("Invalid information value".into()),
        (Dialect::Valkey, None) => Err("ERR invalid information value".into()),
    }
}
