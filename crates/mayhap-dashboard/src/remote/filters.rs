//! The handlers of filters: list, look, query, add, and the stream of numbers.

use super::attached::Bits;
use super::describe::{describe, describe_or_problem, named};
use super::failure::{Answer, Failure, json};
use super::keys::{Act, act};
use super::server;
use super::state::State;
use crate::events::{EventsQuery, Numbers};
use crate::history::HistoryQuery;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as From};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::stream::{self, StreamExt};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;

/// Filters of one page of the list.
const MAX_PAGE: usize = 1000;
/// The number of filters that are read together, in one pipeline.
const TOGETHER: usize = 16;
/// Texts of one request.
const MAX_ITEMS: usize = 10_000;

/// A query string that may be malformed, with an error like any other.
type Requested<T> = Result<Query<T>, QueryRejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default)]
    cursor: usize,
    limit: Option<usize>,
}

/// `GET /v1/filters?cursor=0&limit=100`: names; their numbers arrive with the events.
pub(super) async fn list(From(state): From<State>, page: Requested<Page>) -> Answer {
    let Query(page) = page?;
    let list = state.names.latest().await?;
    let rest = list.filters.get(page.cursor..).unwrap_or_default();
    let limit = page.limit.unwrap_or(100).clamp(1, MAX_PAGE);
    let filters: Vec<Value> = rest.iter().take(limit).map(named).collect();
    let next = (rest.len() > limit).then_some(page.cursor + limit);
    let (is_cut, unnamed) = (list.is_cut, list.unnamed);
    Ok(json(&json!({ "filters": filters, "next": next, "is_cut": is_cut, "unnamed": unnamed })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Look {
    #[serde(default)]
    measure: bool,
}

/// `GET /v1/filters/{name}?measure=true`: with `measure`, all bits are counted.
pub(super) async fn info(
    From(state): From<State>,
    Path(name): Path<String>,
    look: Requested<Look>,
) -> Answer {
    let Query(look) = look?;
    let bits = if look.measure { Bits::All } else { Bits::Sample };
    Ok(json(&describe(&state, &name, bits).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Items {
    items: Vec<String>,
}

/// `POST /v1/filters/{name}/check`
pub(super) async fn check(
    From(state): From<State>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Answer {
    let items = items(&headers, &body)?;
    let present = act(state, name, items, Act::Check).await?;
    Ok(json(&json!({ "present": present })))
}

/// `POST /v1/filters/{name}/add`
pub(super) async fn add(
    From(state): From<State>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Answer {
    if !state.options.may_add {
        return Err(Failure::new(StatusCode::FORBIDDEN, state.options.words.may_not_add));
    }
    let items = items(&headers, &body)?;
    let new = act(state, name, items, Act::Add).await?;
    Ok(json(&json!({ "new": new })))
}

fn items(headers: &HeaderMap, body: &str) -> Result<Vec<String>, Failure> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    // A form of another site cannot send this type.
    if kind.is_none_or(|kind| !kind.starts_with("application/json")) {
        let problem = "send application/json: {\"items\": [\"a\", \"b\"]}";
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    let Items { items } =
        serde_json::from_str(body).map_err(|error| Failure::bad(format!("the body: {error}")))?;
    if items.len() > MAX_ITEMS {
        let found = items.len();
        return Err(Failure::bad(format!("{found} items, above the limit of {MAX_ITEMS}")));
    }
    Ok(items)
}

/// `GET /ui/events?filters=a,b`
pub(super) async fn events(From(state): From<State>, wanted: Requested<EventsQuery>) -> Answer {
    let Query(wanted) = wanted?;
    let names = wanted.names().map_err(|error| Failure::bad(error.to_string()))?.into_iter();
    let names = names.map(|name| percent_decode_str(name).decode_utf8().map(String::from));
    let names: Result<Arc<[String]>, _> = names.collect();
    let names = names.map_err(|_| Failure::bad("a name is not UTF-8"))?;
    let next = move || -> Numbers<Value> {
        let (state, names) = (state.clone(), names.clone());
        Box::pin(async move {
            let described = stream::iter(names.to_vec())
                .map(|name| {
                    let state = state.clone();
                    async move { describe_or_problem(&state, &name).await }
                })
                .buffered(TOGETHER)
                .filter_map(|described| async { described });
            let (server, filters) = tokio::join!(server::numbers(&state), described.collect());
            let filters: Vec<Value> = filters;
            Some(json!({ "server": server, "filters": filters }))
        })
    };
    Ok(crate::events::stream(wanted.events, next, pending()))
}

/// `GET /ui/history?filter=a`: what pages have shown of a filter in the last hour.
pub(super) async fn history(From(state): From<State>, wanted: Requested<HistoryQuery>) -> Answer {
    let Query(wanted) = wanted?;
    let name = percent_decode_str(&wanted.filter).decode_utf8();
    let name = name.map_err(|_| Failure::bad("a name is not UTF-8"))?;
    Ok(json(&json!({ "samples": state.history.of(name.as_bytes()) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;

    fn sent(kind: Option<&str>, body: &str) -> Result<Vec<String>, StatusCode> {
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind {
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
        }
        items(&headers, body).map_err(|failure| failure.into_response().status())
    }

    /// A page of another site can send a form, or any text without a type, and no JSON.
    #[test]
    fn only_json_is_taken() {
        let body = r#"{"items": ["a", "b"]}"#;
        let expected = vec!["a".to_owned(), "b".to_owned()];
        for kind in ["application/json", "application/json; charset=utf-8"] {
            assert_eq!(sent(Some(kind), body), Ok(expected.clone()), "{kind}");
        }
        let forms = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
        let disguised = ["text/plain; application/json", "json", ""];
        for kind in forms.into_iter().chain(disguised).map(Some).chain([None]) {
            assert_eq!(sent(kind, body), Err(StatusCode::UNSUPPORTED_MEDIA_TYPE), "{kind:?}");
        }
    }

    #[test]
    fn a_request_has_ten_thousand_texts_at_most_and_nothing_else() {
        let of = |count| {
            let body = json!({ "items": vec!["a"; count] }).to_string();
            sent(Some("application/json"), &body).map(|items| items.len())
        };
        assert_eq!([of(0), of(10_000)], [Ok(0), Ok(10_000)]);
        assert_eq!(of(10_001), Err(StatusCode::BAD_REQUEST));
        for body in
            ["", "[]", "{}", r#"{"items": "a"}"#, r#"{"items": [1]}"#, r#"{"items": [], "x": 1}"#]
        {
            assert_eq!(
                sent(Some("application/json"), body),
                Err(StatusCode::BAD_REQUEST),
                "{body}"
            );
        }
    }
}
