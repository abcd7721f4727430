//! `CF.ADD`, `CF.ADDNX`, `CF.INSERT`, `CF.INSERTNX`.

use super::create::{create, default_filter};
use super::options::{BUCKET_SIZE, by_default, capacity};
use crate::command::call::{Call, Fault, NOT_FOUND, Outcome};
use crate::command::word::is;
use crate::config::Config;
use crate::metrics::Counter;
use crate::reservation::Reservation;
use crate::resp::Reply;
use mayhap_engine::keyspace::{Entry, InsertError};
use mayhap_engine::{Words, Work};

const FULL: &str = "Filter is full";

/// An insertion of an item or several.
type Insert = fn(&Entry, Words<'_>, &mut Work) -> Result<(), (usize, InsertError)>;

/// `CF.ADD key item`: stores a copy, whether there is one or not.
pub(super) fn add(call: &mut Call<'_, '_>) -> Outcome {
    add_one(call, Entry::insert_many)?;
    call.reply().boolean(true);
    Ok(())
}

/// `CF.ADDNX key item`: stores a copy if there is none; answers whether it did.
pub(super) fn add_absent(call: &mut Call<'_, '_>) -> Outcome {
    add_one(call, Entry::insert_absent)?;
    let is_new = call.turn.work.answers.get(0);
    call.reply().boolean(is_new);
    Ok(())
}

fn add_one(call: &mut Call<'_, '_>, insert: Insert) -> Outcome {
    call.writable()?;
    let entry = default_filter(call)?;
    let item = call.words.from(2);
    insert(&entry, item, &mut call.turn.work).map_err(|(_, error)| fault(error))?;
    call.turn.wrote = true;
    call.turn.counts.add(Counter::ItemsAdded, 1);
    Ok(())
}

fn fault(error: InsertError) -> Fault {
    match error {
        InsertError::Full => FULL.into(),
        error => error.into(),
    }
}

/// The arguments of `CF.INSERT` and `CF.INSERTNX`.
struct Request<'a> {
    reservation: Reservation,
    create: bool,
    items: Words<'a>,
}

impl<'a> Request<'a> {
    /// `key [CAPACITY c] [NOCREATE] ITEMS item [item …]`.
    fn parse(words: Words<'a>, name: &str, config: &Config) -> Result<Self, Fault> {
        let (mut reservation, mut create) = (by_default(config), true);
        let mut rest = words.from(2).iter();
        while let Some(word) = rest.next() {
            if is(word, "items") {
                let items = words.from(words.len() - rest.len());
                if items.is_empty() {
                    break;
                }
                return Ok(Self { reservation, create, items });
            } else if is(word, "capacity") {
                reservation.capacity = capacity(rest.next(), BUCKET_SIZE)?;
            } else if is(word, "nocreate") {
                create = false;
            } else {
                return Err("Unknown argument received".into());
            }
        }
        Err(Call::arity(name))
    }
}

/// `CF.INSERT`: 1 for each item of which a copy is stored, -1 (in RESP3 false) for each without
/// room.
pub(super) fn insert(call: &mut Call<'_, '_>) -> Outcome {
    let (_, items) = insert_items(call, "cf.insert", Entry::insert_many)?;
    let Items { len, done, error } = items;
    write(call, len, done, error, |reply, at| match (at < done, reply.is_resp3()) {
        (true, _) => reply.boolean(true),
        (false, true) => reply.boolean(false),
        (false, false) => reply.integer(-1),
    })
}

/// `CF.INSERTNX`: 1 for each item that was absent and is stored, 0 for one that was there, -1 for
/// one without room.
pub(super) fn insert_absent(call: &mut Call<'_, '_>) -> Outcome {
    let (entry, items) = insert_items(call, "cf.insertnx", Entry::insert_absent)?;
    let Items { len, done, error } = items;
    let (words, now) = (call.words.from(call.words.len() - len), call.turn.work.now);
    let stored: Vec<bool> = call.turn.work.answers.iter().collect();
    write(call, len, done, error, |reply, at| {
        let answer = if at < done {
            stored.get(at).copied().unwrap_or_default().into()
        } else {
            // Without room, but it may be there.
            words.get(at).map_or(0, |item| i64::from(entry.contains(item, now)) - 1)
        };
        reply.integer(answer);
    })
}

/// The result for `len` items, the first `done` of which were inserted or present before an error.
struct Items {
    len: usize,
    done: usize,
    error: Option<InsertError>,
}

fn insert_items(
    call: &mut Call<'_, '_>,
    name: &str,
    insert: Insert,
) -> Result<(std::sync::Arc<Entry>, Items), Fault> {
    let config = call.shared.config();
    let Request { reservation, create: creates, items } =
        Request::parse(call.words, name, &config)?;
    call.writable()?;
    let entry = match call.compact()? {
        Some(entry) => entry,
        None if !creates => return Err(NOT_FOUND.into()),
        None => create(call, reservation)?,
    };
    let outcome = insert(&entry, items, &mut call.turn.work);
    call.turn.wrote = true;
    let len = items.len();
    let (done, error) = match outcome {
        Ok(()) => (len, None),
        Err((done, error)) => (done, Some(error)),
    };
    call.turn.counts.add(Counter::ItemsAdded, done as u64);
    Ok((entry, Items { len, done, error }))
}

/// The answers to a batch: `answer` writes that of each item. An error other than "full" ends them.
fn write(
    call: &mut Call<'_, '_>,
    len: usize,
    done: usize,
    error: Option<InsertError>,
    answer: impl Fn(&mut Reply<'_>, usize),
) -> Outcome {
    let error = error.filter(|error| *error != InsertError::Full);
    let answered = if error.is_some() { done } else { len };
    let mut reply = Reply::new(call.out, call.session.info.resp3);
    reply.array(answered + usize::from(error.is_some()));
    (0..answered).for_each(|at| answer(&mut reply, at));
    if let Some(error) = error {
        reply.error(&Fault::from(error).0);
    }
    Ok(())
}
