//! When filters end.

use super::body::Json;
use super::filters::{Answer, blocking, describe, json, need_on};
use super::name::Name;
use super::option::{Scalar, read};
use super::{Failure, State};
use crate::clock::unix_ms;
use crate::config::Rights;
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use mayhap_units::span::parse_millis;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expiry {
    expires_at: Option<Scalar>,
    expires_in: Option<Scalar>,
}

const TIME: &str = "a time such as \"90s\", \"30min\", \"12h\", \"7d\"";

impl Expiry {
    /// In milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// 400 without exactly one of both, or for one that is no time.
    fn at(&self, now: u64) -> Result<u64, Failure> {
        let number = |value: &Scalar| value.count().filter(|&at| at > 0);
        let at = "milliseconds since 1970, at least 1";
        let at = read("expires_at", self.expires_at.as_ref(), at, number)?;
        let end = |value: &Scalar| {
            let millis = parse_millis(value.text()?).filter(|&millis| millis > 0)?;
            now.checked_add(millis)
        };
        match (at, read("expires_in", self.expires_in.as_ref(), TIME, end)?) {
            (Some(at), None) | (None, Some(at)) => Ok(at),
            _ => Err(Failure::bad("give either expires_at or expires_in")),
        }
    }
}

/// `PUT /v1/filters/{name}/expiry`
pub(super) async fn set(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: expiry, charge: _ }: Json<Expiry>,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    let expires_at = expiry.at(unix_ms())?;
    blocking(move || change(&state, &name, expires_at)).await
}

/// `DELETE /v1/filters/{name}/expiry`
pub(super) async fn remove(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    blocking(move || change(&state, &name, 0)).await
}

/// The filter with its new end, 0 for none; nothing if it ended by that.
fn change(state: &State, name: &[u8], expires_at: u64) -> Answer {
    state.check_writable()?;
    let changes = state.filter(name)?.expires_at() != expires_at;
    let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
    if changes && !keyspace.expire(name, expires_at, unix_ms(), log)? {
        return Err(Failure::not_found());
    }
    state.settle()?;
    match keyspace.get(name, unix_ms()) {
        Some(entry) => Ok(json(StatusCode::OK, &describe(name, &entry))),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
