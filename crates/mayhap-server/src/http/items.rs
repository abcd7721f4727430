//! Operations on the items of a filter: add, check, remove, and their age.

use super::body::{Json, keys};
use super::create::Create;
use super::handler::{Answer, json};
use super::object::Object;
use super::sent::Sent;
use super::target::{Target, changing, reading};
use super::{Failure, State, in_store};
use crate::config::Config;
use crate::metrics::Counter;
use crate::reservation::Reservation;
use crate::resp::WordList;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::{Age, Digest, Window};
use mayhap_engine::keyspace::{Entry, Pages};
use mayhap_engine::{Work, unix_ms};
use serde::Deserialize;
use std::sync::Arc;

/// `{"items": ["a", "b"]}`, or `{"items_base64": ["YQ==", "Yg=="]}` for keys that are not text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Items {
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
}

/// [`Items`], or `{"digests_base64": "H06WHrYyxuY="}`: 8 bytes each, least significant first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
    digests_base64: Option<String>,
}

/// [`Batch`], and the options to create the filter with if it does not exist.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
    digests_base64: Option<String>,
    create: Option<Object<Create>>,
}

impl Add {
    /// # Errors
    ///
    /// Those of [`Batch::read`].
    fn read(self, state: &State) -> Result<Sent, Failure> {
        self.parts().0.read(state)
    }

    /// The items, and the options of the filter.
    fn parts(self) -> (Batch, Option<Create>) {
        let Self { items, items_base64, digests_base64, create } = self;
        let create = create.map(|Object(create)| create);
        (Batch { items, items_base64, digests_base64 }, create)
    }
}

impl Batch {
    /// # Errors
    ///
    /// Those of [`keys`], and 400 for too many or bad digests.
    fn read(self, state: &State) -> Result<Sent, Failure> {
        let Some(text) = self.digests_base64 else {
            return keys("items", self.items, self.items_base64, state).map(Sent::Keys);
        };
        if self.items.is_some() || self.items_base64.is_some() {
            return Err(Failure::bad("give either items or digests_base64"));
        }
        let bytes = STANDARD.decode(text);
        let bytes = bytes
            .map_err(|error| Failure::bad(format!("digests_base64 is not base64: {error}")))?;
        let (found, limit) = (bytes.len(), state.shared.config().max_word_bytes);
        if found > limit as usize {
            let problem = format!("the digests have {found} bytes, above the limit of {limit}");
            return Err(Failure::bad(problem + " (max_word_bytes)"));
        }
        let (digests, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Failure::bad("digests are 8 bytes each"));
        }
        let digests = digests.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes)));
        Ok(Sent::Digests(digests.collect()))
    }
}

impl Items {
    /// # Errors
    ///
    /// Those of [`keys`].
    fn keys(self, state: &State) -> Result<WordList, Failure> {
        keys("items", self.items, self.items_base64, state)
    }
}

/// `POST /v1/filters/{name}/add`
pub(super) async fn add(target: Target, Json { value: add, charge }: Json<Add>) -> Answer {
    if let Some(front) = target.front() {
        let (batch, create) = add.parts();
        let options = |config: &Config| create.map(|create| create.in_store(config)).transpose();
        let sent = move |state: &State| batch.read(state);
        return Ok(added_new(&in_store::add(front, target, options, (sent, charge)).await?));
    }
    changing(target, move |Target { state, name, rights, .. }| {
        let _charge = charge;
        let config = state.shared.config();
        let wanted = add.create.as_ref().map(|Object(create)| create.reservation(&config));
        let (wanted, sent) = (wanted.transpose()?, add.read(&state)?);
        let mut turn = state.writing_turn()?;
        let entry = match wanted {
            Some(wanted) => find_or_create(&state, &name, &wanted, &mut turn.work)?,
            None => state.filter(&name)?,
        };
        if let Sent::Digests(digests) = &sent {
            entry.check_new_digests(rights.admin)?;
            turn.work.digests.extend_from_slice(digests);
        }
        turn.counts.add(Counter::Writes, 1);
        let done = match &sent {
            Sent::Keys(keys) => entry.insert_many(keys.words(), &mut turn.work),
            Sent::Digests(_) => entry.insert_digests(&mut turn.work),
        };
        let added = done.as_ref().map_or_else(|(done, _)| *done, |()| sent.len());
        turn.counts.add(Counter::ItemsAdded, added as u64);
        // The items before the failed one are inserted, so their record is written too.
        state.end(&mut turn)?;
        if let Err((done, error)) = done {
            let failure = Failure::from(error);
            return Err(failure.after(done));
        }
        let new: Vec<bool> = (0..sent.len()).map(|i| turn.work.answers.get(i)).collect();
        Ok(added_new(&new))
    })
    .await
}

/// The answer to an addition: for each item whether it was new.
fn added_new(new: &[bool]) -> Response {
    let added = new.iter().filter(|&&new| new).count();
    json(StatusCode::OK, &serde_json::json!({ "new": new, "added": added }))
}

/// The filter of this name or, if there is none, a new one, whose record is written with that of
/// the items; another request may create it at the same time.
fn find_or_create(
    state: &State,
    name: &[u8],
    wanted: &Reservation,
    work: &mut Work,
) -> Result<Arc<Entry>, Failure> {
    let keyspace = &state.shared.keyspace;
    if let Some(entry) = keyspace.get(name, unix_ms()) {
        return Ok(entry);
    }
    let spec = wanted.spec(&state.shared.config());
    wanted.check_scale(keyspace, &spec)?;
    Ok(keyspace.get_or_create(name, (spec, Pages::AtOnce), unix_ms(), work.recorder.as_mut())?)
}

/// `POST /v1/filters/{name}/check`
pub(super) async fn check(target: Target, Json { value: batch, charge }: Json<Batch>) -> Answer {
    if let Some(front) = target.front() {
        let sent = move |state: &State| batch.read(state);
        return Ok(found_present(&in_store::check(front, target, (sent, charge)).await?));
    }
    reading(target, move |Target { state, name, .. }| {
        let _charge = charge;
        let sent = batch.read(&state)?;
        let entry = state.filter(&name)?;
        let mut turn = state.turn();
        turn.counts.add(Counter::Reads, 1);
        match &sent {
            Sent::Keys(keys) => {
                entry.check_keys(keys.words().iter())?;
                entry.contains_many(keys.words(), &mut turn.work);
            }
            Sent::Digests(digests) => {
                entry.check_digests()?;
                entry.contains_digests(digests, turn.work.now, &mut turn.work.answers);
            }
        }
        entry.check_file()?;
        turn.counts.checked(sent.len(), turn.work.answers.count_ones());
        state.end(&mut turn)?;
        let present: Vec<bool> = (0..sent.len()).map(|i| turn.work.answers.get(i)).collect();
        Ok(found_present(&present))
    })
    .await
}

/// The answer to a query: for each item whether it may be in the filter.
fn found_present(present: &[bool]) -> Response {
    let found = present.iter().filter(|&&present| present).count();
    json(StatusCode::OK, &serde_json::json!({ "present": present, "found": found }))
}

/// `POST /v1/filters/{name}/remove`
pub(super) async fn remove(target: Target, Json { value: items, charge }: Json<Items>) -> Answer {
    changing(target, move |Target { state, name, .. }| {
        let _charge = charge;
        let keys = items.keys(&state)?;
        let mut turn = state.writing_turn()?;
        let entry = state.filter(&name)?;
        turn.counts.add(Counter::Writes, 1);
        entry.remove_many(keys.words(), &mut turn.work)?;
        state.end(&mut turn)?;
        let present = turn.work.answers.iter().zip(turn.work.staying.iter());
        let present: Vec<bool> = present.map(|(removed, stays)| removed || stays).collect();
        let (removed, staying) = (turn.work.answers.count_ones(), turn.work.staying.count_ones());
        let body =
            serde_json::json!({ "present": present, "removed": removed, "staying": staying });
        Ok(json(StatusCode::OK, &body))
    })
    .await
}

/// `POST /v1/filters/{name}/age`
pub(super) async fn age(target: Target, Json { value: items, charge }: Json<Items>) -> Answer {
    reading(target, move |Target { state, name, .. }| {
        let _charge = charge;
        let keys = items.keys(&state)?;
        let entry = state.filter(&name)?;
        let mut turn = state.turn();
        let words = keys.words();
        turn.counts.add(Counter::Reads, 1);
        let bounds =
            |age: Age| serde_json::json!({ "at_least": age.at_least, "at_most": age.at_most });
        let ages: Vec<_> = entry.ages(words, turn.work.now)?.map(|age| age.map(bounds)).collect();
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
