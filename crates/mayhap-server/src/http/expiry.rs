//! The expiry of filters.

use super::body::Json;
use super::describe::describe;
use super::handler::{Answer, json};
use super::option::{Scalar, read};
use super::target::{Target, changing};
use super::{Failure, in_store};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use mayhap_engine::unix_ms;
use mayhap_units::span::parse_millis;
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expiry {
    expires_at: Option<Scalar>,
    expires_in: Option<Scalar>,
}

const TIME: &str = "a time such as \"90s\", \"30min\", \"12h\", \"7d\"";

impl Expiry {
    /// The expiry in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// 400 without exactly one of both, or for an invalid time.
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
pub(super) async fn set(target: Target, Json { value: expiry, charge: _ }: Json<Expiry>) -> Answer {
    if let Some(front) = target.front() {
        let now = unix_ms();
        let after = |end: u64| Duration::from_millis(end.saturating_sub(now));
        return in_store::expire(front, target, move || Ok(Some(after(expiry.at(now)?)))).await;
    }
    changing(target, move |target| change(&target, expiry.at(unix_ms())?)).await
}

/// `DELETE /v1/filters/{name}/expiry`
pub(super) async fn remove(target: Target) -> Answer {
    if let Some(front) = target.front() {
        return in_store::expire(front, target, || Ok(None)).await;
    }
    changing(target, |target| change(&target, 0)).await
}

/// The filter with its new expiry, 0 for none; nothing if it has expired by that.
fn change(Target { state, name, .. }: &Target, expires_at: u64) -> Answer {
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
