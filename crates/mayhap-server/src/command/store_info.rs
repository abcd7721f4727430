//! `BF.INFO` of a filter in a store: the fields of a filter of the server's own that does not grow,
//! and the store. A field that the layout does not know is null.

use super::call::{Call, Fault};
use super::store_answer::{Answer, name};
use super::word::is;
use crate::front::{Bits, Front, Look};
use crate::resp::Value;
use mayhap_engine::Words;
use mayhap_redis::FilterInfo;

/// What is known of a filter, and where it is.
struct Facts<'a> {
    look: Look,
    store: &'a str,
}

/// Option of the request, name in the answer, value.
type Field = (&'static str, &'static str, fn(&Facts<'_>) -> Value);

const UNKNOWN: fn(&Facts<'_>) -> Value = |_| Value::Null;

/// The fields; `RedisBloom` has the first five, and they are the answer to a request without one.
const FIELDS: [Field; 22] = [
    ("capacity", "Capacity", |it| Value::count(it.info().expected_items)),
    ("size", "Size", |it| Value::count(it.info().num_bytes)),
    ("filters", "Number of filters", |_| Value::count(1)),
    ("items", "Number of items inserted", |it| Value::count(items(it.info()))),
    ("expansion", "Expansion rate", UNKNOWN),
    ("error", "Error rate", |it| it.info().target_fpp.map_or(Value::Null, Value::Double)),
    ("fpp", "False positive rate now", |it| Value::Double(it.info().estimated_fpp)),
    ("fill", "Fill ratio", |it| {
        Value::Double(it.info().count_ones as f64 / it.info().num_bits as f64)
    }),
    ("fillalarm", "Fill alarm", UNKNOWN),
    ("foldfactor", "Fold factor", UNKNOWN),
    ("foldsize", "Size after a fold", UNKNOWN),
    ("foldfpp", "False positive rate after a fold", UNKNOWN),
    ("kind", "Kind", |it| Value::text(it.info().layout)),
    ("digest", "Digest", |it| {
        let function = &it.look.digest_function;
        Value::text(format!("{}:{:016x}", function.name(), function.parameter()))
    }),
    ("requested", "Requested capacity", |it| Value::count(it.info().expected_items)),
    ("distinct", "Number of distinct items", UNKNOWN),
    ("overcapacity", "Over capacity", |it| {
        Value::Boolean(it.info().expected_items.is_some_and(|most| items(it.info()) > most))
    }),
    ("forgottenearly", "Number of items forgotten early", UNKNOWN),
    ("clears", "Number of clears", UNKNOWN),
    ("clockjumps", "Number of clock jumps", UNKNOWN),
    ("ahead", "Milliseconds ahead of the clock", UNKNOWN),
    ("store", "Store", |it| Value::text(it.store.to_owned())),
];

impl Facts<'_> {
    const fn info(&self) -> &FilterInfo {
        &self.look.info
    }
}

/// `BF.INFO name [field]`.
pub(super) async fn info(front: &Front, words: Words<'_>) -> Result<Answer, Fault> {
    let wanted = words.get(2);
    if words.len() > 3 {
        return Err(Call::arity("bf.info"));
    }
    if wanted.is_some_and(|wanted| !FIELDS.iter().any(|(option, ..)| is(wanted, option))) {
        return Err("Invalid information value".into());
    }
    let name = name(words.get(1).unwrap_or_default())?;
    let look = front.ask(name, front.look(name, Bits::Few)).await?;
    let facts = Facts { look, store: front.name() };
    let fields: Vec<&Field> = match wanted {
        Some(wanted) => FIELDS.iter().filter(|(option, ..)| is(wanted, option)).collect(),
        None => FIELDS[..5].iter().collect(),
    };
    let fields = fields.into_iter().map(|(_, name, value)| (*name, value(&facts))).collect();
    Ok(Answer::Fields(fields, wanted.is_some()))
}

/// `BF.CARD name`.
pub(super) async fn card(front: &Front, words: Words<'_>) -> Result<Answer, Fault> {
    let name = name(words.get(1).unwrap_or_default())?;
    let info = front.ask(name, front.look(name, Bits::Few)).await?.info;
    Ok(Answer::count(items(&info)))
}

/// The number of keys that the bits stand for.
fn items(info: &FilterInfo) -> u64 {
    info.estimated_items.map_or(u64::MAX, |items| items.round() as u64)
}
