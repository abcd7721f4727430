//! What is done with the items of a filter: add, check, remove, and how old they are.

use super::body::{Add, Batch, Items, Json, Sent};
use super::filters::{Answer, blocking, json, need_on};
use super::name::Name;
use super::object::Object;
use super::{Failure, State};
use crate::clock::unix_ms;
use crate::config::Rights;
use crate::keyspace::Entry;
use crate::metrics::Counter;
use crate::reservation::Reservation;
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use mayhap::{Age, Window};
use serde::Serialize;
use std::sync::Arc;

/// `POST /v1/filters/{name}/add`
pub(super) async fn add(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: add, charge }: Json<Add>,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    let config = state.shared.config();
    let wanted =
        add.create.as_ref().map(|Object(create)| create.reservation(&config)).transpose()?;
    let sent = add.read(&state)?;
    blocking(move || {
        let _charge = charge;
        let mut turn = state.writing_turn()?;
        let entry = match wanted {
            Some(wanted) => find_or_create(&state, &name, &wanted)?,
            None => state.filter(&name)?,
        };
        if let Sent::Digests(digests) = &sent {
            entry.check_new_digests(rights.admin)?;
            turn.digests.extend_from_slice(digests);
        }
        turn.counts.add(Counter::Writes, 1);
        turn.counts.add(Counter::ItemsAdded, sent.len() as u64);
        let done = match &sent {
            Sent::Keys(keys) => entry.insert_many(keys.words(), &mut turn),
            Sent::Digests(_) => entry.insert_digests(&mut turn),
        };
        // Those before the one that failed are in, so their record is written too.
        state.end(&mut turn)?;
        if let Err((done, error)) = done {
            let failure = Failure::from(error);
            return Err(failure.after(done));
        }
        let new: Vec<bool> = (0..sent.len()).map(|i| turn.answers.get(i)).collect();
        let added = new.iter().filter(|&&new| new).count();
        Ok(json(StatusCode::OK, &serde_json::json!({ "new": new, "added": added })))
    })
    .await
}

/// The filter of this name or, if there is none, a new one, whose record is written with that of
/// the items; another request may make it at the same time.
fn find_or_create(state: &State, name: &[u8], wanted: &Reservation) -> Result<Arc<Entry>, Failure> {
    let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
    if let Some(entry) = keyspace.get(name, unix_ms()) {
        return Ok(entry);
    }
    let spec = wanted.spec(&state.shared.config());
    wanted.check_scale(keyspace, &spec)?;
    Ok(keyspace.get_or_create(name, spec, unix_ms(), log)?)
}

/// `POST /v1/filters/{name}/check`
pub(super) async fn check(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: batch, charge }: Json<Batch>,
) -> Answer {
    need_on(rights.read, "read", &rights, &name)?;
    let sent = batch.read(&state)?;
    blocking(move || {
        let _charge = charge;
        let entry = state.filter(&name)?;
        let mut turn = state.turn();
        turn.counts.add(Counter::Reads, 1);
        match &sent {
            Sent::Keys(keys) => {
                entry.check_keys(keys.words().iter())?;
                entry.contains_many(keys.words(), &mut turn);
            }
            Sent::Digests(digests) => {
                entry.check_digests()?;
                entry.contains_digests(digests, turn.now, &mut turn.answers);
            }
        }
        entry.check_file()?;
        turn.counts.checked(sent.len(), turn.answers.count_ones());
        state.end(&mut turn)?;
        let present: Vec<bool> = (0..sent.len()).map(|i| turn.answers.get(i)).collect();
        let found = present.iter().filter(|&&present| present).count();
        Ok(json(StatusCode::OK, &serde_json::json!({ "present": present, "found": found })))
    })
    .await
}

/// `POST /v1/filters/{name}/remove`
pub(super) async fn remove(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: items, charge }: Json<Items>,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    let keys = items.keys(&state)?;
    blocking(move || {
        let _charge = charge;
        let mut turn = state.writing_turn()?;
        let entry = state.filter(&name)?;
        turn.counts.add(Counter::Writes, 1);
        entry.remove_many(keys.words(), &mut turn)?;
        state.end(&mut turn)?;
        let present = turn.answers.iter().zip(turn.staying.iter());
        let present: Vec<bool> = present.map(|(removed, stays)| removed || stays).collect();
        let (removed, staying) = (turn.answers.count_ones(), turn.staying.count_ones());
        let body =
            serde_json::json!({ "present": present, "removed": removed, "staying": staying });
        Ok(json(StatusCode::OK, &body))
    })
    .await
}

/// `POST /v1/filters/{name}/age`
pub(super) async fn age(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: items, charge }: Json<Items>,
) -> Answer {
    need_on(rights.read, "read", &rights, &name)?;
    let keys = items.keys(&state)?;
    blocking(move || {
        let _charge = charge;
        let entry = state.filter(&name)?;
        let mut turn = state.turn();
        let words = keys.words();
        turn.counts.add(Counter::Reads, 1);
        let ages = entry.ages(words, turn.now)?.map(|age| age.map(Bounds::from));
        let ages: Vec<Option<Bounds>> = ages.collect();
        entry.check_file()?;
        let found = ages.iter().flatten().count();
        turn.counts.checked(words.len(), found);
        state.end(&mut turn)?;
        let is_of_time = matches!(entry.window(), Some(Window::Time { .. }));
        let unit = if is_of_time { "ms" } else { "items" };
        let answer = serde_json::json!({ "ages": ages, "found": found, "unit": unit });
        Ok(json(StatusCode::OK, &answer))
    })
    .await
}

/// The bounds of an age.
#[derive(Serialize)]
struct Bounds {
    at_least: u64,
    at_most: u64,
}

impl std::convert::From<Age> for Bounds {
    fn from(Age { at_least, at_most, .. }: Age) -> Self {
        Self { at_least, at_most }
    }
}
