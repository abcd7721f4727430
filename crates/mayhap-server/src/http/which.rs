//! Which of several filters may have each of several items.

use super::body::{Buffered, Json, keys};
use super::handler::{Answer, blocking, need, need_on, need_own};
use super::{Failure, State};
use crate::Turn;
use crate::answer::check_room;
use crate::config::Rights;
use crate::metrics::Counter;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, State as From};
use axum::http::header;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_engine::keyspace;
use serde::Deserialize;
use std::io::{self, Write};
use std::str::from_utf8;
use std::sync::Arc;

/// Filters visited in one step, while names are matched.
const STEP: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    names: Option<Vec<String>>,
    names_base64: Option<Vec<String>>,
    #[serde(rename = "match")]
    pattern: Option<String>,
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
}

/// `POST /v1/which`
pub(super) async fn which(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Json { value: request, charge }: Json<Which>,
) -> Answer {
    need(rights.read, "read")?;
    need_own(&state, "which")?;
    let Which { names, names_base64, pattern, items, items_base64 } = request;
    let items = keys("items", items, items_base64, &state)?;
    let names = match (pattern, names, names_base64) {
        (Some(pattern), None, None) => Err(pattern),
        (None, names, base64) => Ok(keys("names", names, base64, &state)?),
        _ => return Err(Failure::bad("give either match or names")),
    };
    blocking(move || {
        let mut turn = state.turn();
        turn.counts.add(Counter::Reads, 1);
        let fitting;
        let names: Vec<&[u8]> = match &names {
            Ok(names) => names.words().iter().collect(),
            Err(pattern) => {
                fitting = fitting_names(&state, &rights, pattern.as_bytes(), turn.work.now)?;
                fitting.iter().map(|name| &**name).collect()
            }
        };
        names.iter().try_for_each(|name| need_on(rights.read, "read", &rights, name))?;
        if state.shared.config().strict_names {
            names.iter().try_for_each(|name| state.filter(name).map(drop))?;
        }
        let Turn { work, counts, .. } = &mut turn;
        let checked = |keys, found| counts.checked(keys, found);
        let found = keyspace::Which::look_up(
            &state.shared.keyspace,
            names.into_iter(),
            items.words(),
            work,
            checked,
        )?;
        state.end(&mut turn)?;
        answer(&state, &found, charge)
    })
    .await
}

/// The names that match a pattern and that the user may see.
fn fitting_names(
    state: &State,
    rights: &Rights,
    pattern: &[u8],
    now: u64,
) -> Result<Vec<Arc<[u8]>>, Failure> {
    let limit = state.shared.config().max_words;
    let (mut names, mut cursor) = (Vec::new(), 0);
    loop {
        let page = state.shared.keyspace.scan(cursor, STEP, Some(pattern), now)?;
        names.extend(page.names.into_iter().filter(|name| rights.covers(name)));
        if names.len() > limit as usize {
            let problem = format!("more than {limit} names fit the pattern (max_words)");
            return Err(Failure::bad(problem));
        }
        cursor = page.cursor;
        if cursor == 0 {
            return Ok(names);
        }
    }
}

/// Commas, brackets and the member's name.
const HEAD_BYTES: u64 = 32;
const LIST_BYTES: usize = "[],".len();

/// `{"which": [["a"], [], ["a", "b"]]}`; the names in base64 if one of them is not text.
///
/// It is counted against the buffers of all clients until it is sent.
fn answer(state: &State, found: &keyspace::Which<'_>, mut charge: Buffered) -> Answer {
    let names: Vec<&[u8]> = found.names().collect();
    let is_text = names.iter().all(|name| from_utf8(name).is_ok());
    let name_bytes = |at: usize| {
        let mut length = Length(0);
        write_name(&mut length, names[at], is_text);
        length.0 + ",".len()
    };
    let bytes = found.answer_bytes(LIST_BYTES, name_bytes) + HEAD_BYTES;
    check_room(&state.shared, bytes)?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    charge.add(bytes)?;
    let mut json = Vec::with_capacity(bytes);
    let head = if is_text { "{\"which\":[" } else { "{\"which_base64\":[" };
    json.extend_from_slice(head.as_bytes());
    for item in 0..found.counts().len() {
        let open = if item == 0 { "[" } else { ",[" };
        json.extend_from_slice(open.as_bytes());
        for (i, at) in found.filters_of(item).enumerate() {
            if i > 0 {
                json.push(b',');
            }
            write_name(&mut json, names[at], is_text);
        }
        json.push(b']');
    }
    json.extend_from_slice(b"]}\n");
    debug_assert!(json.len() <= bytes, "{} bytes of {bytes}", json.len());
    let body = Body::from(Bytes::from_owner(Held { json, _charge: charge }));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// A name as JSON: as text, or in base64.
fn write_name(out: &mut impl Write, name: &[u8], as_text: bool) {
    // Writing to memory, or counting, does not fail.
    let _ = match from_utf8(name) {
        Ok(text) if as_text => serde_json::to_writer(out, text).map_err(io::Error::from),
        _ => write!(out, "\"{}\"", STANDARD.encode(name)),
    };
}

/// Counts written bytes.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An answer with the charge for its memory, until it is sent.
struct Held {
    json: Vec<u8>,
    _charge: Buffered,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}
