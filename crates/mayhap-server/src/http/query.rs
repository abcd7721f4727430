//! The query of a path, with errors in the usual form.

use super::failure::shown;
use super::{Failure, State};
use axum::extract::{FromRequestParts, Query as Read};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::str::FromStr;

/// The parameters after the `?` of a path.
#[derive(Debug, Clone)]
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<State> for Query<T> {
    type Rejection = Failure;

    /// # Errors
    ///
    /// 400 for a parameter that is unknown, repeated or invalid.
    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, Failure> {
        let read = Read::<T>::try_from_uri(&parts.uri);
        read.map(|Read(query)| Self(query)).map_err(|error| {
            let text = error.body_text();
            let (_, why) = text.split_once(": ").unwrap_or_default();
            Failure::bad(format!("the query: {}", why.replace("field", "parameter")))
        })
    }
}

/// A whole number, if it is given.
///
/// # Errors
///
/// 400 with the parameter's name and value.
pub(super) fn number<T: FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>, Failure> {
    read(name, text, "a whole number", |text| text.parse().ok())
}

/// Whether a flag is set; `false` if it is not given.
///
/// # Errors
///
/// 400 with the parameter's name and value.
pub(super) fn flag(name: &str, text: Option<&str>) -> Result<bool, Failure> {
    Ok(read(name, text, "true or false", |text| text.parse().ok())?.unwrap_or_default())
}

fn read<T>(
    name: &str,
    text: Option<&str>,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || Failure::bad(format!("{name} must be {expected}, not {:?}", shown(text)));
    read(text).map(Some).ok_or_else(wrong)
}
