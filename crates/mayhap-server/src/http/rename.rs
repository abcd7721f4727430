//! Other names for filters.

use super::body::Json;
use super::filters::{Answer, blocking, describe, json, need_on};
use super::name::Name;
use super::option::{Scalar, read};
use super::{Failure, State};
use crate::clock::unix_ms;
use crate::config::Rights;
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rename {
    to: Option<Scalar>,
    to_base64: Option<Scalar>,
    replace: Option<Scalar>,
}

impl Rename {
    /// The new name.
    ///
    /// # Errors
    ///
    /// 400 without exactly one, or for one that no path can have.
    fn name(&self) -> Result<Vec<u8>, Failure> {
        let text = |value: &Scalar| Some(value.text()?.as_bytes().to_vec());
        let base64 = |value: &Scalar| STANDARD.decode(value.text()?).ok();
        let expected = "a name of at least 1 byte";
        let name = |name: Vec<u8>| Some(name).filter(|name| !name.is_empty());
        let to = read("to", self.to.as_ref(), expected, |value| text(value).and_then(name))?;
        let other = read("to_base64", self.to_base64.as_ref(), "a name in base64", |value| {
            base64(value).and_then(name)
        })?;
        match (to, other) {
            (Some(name), None) | (None, Some(name)) => Ok(name),
            _ => Err(Failure::bad("give either to or to_base64")),
        }
    }
}

/// `POST /v1/filters/{name}/rename`
pub(super) async fn rename(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: rename, charge: _ }: Json<Rename>,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    let to = rename.name()?;
    need_on(rights.write, "write", &rights, &to)?;
    let replace = read("replace", rename.replace.as_ref(), "true or false", Scalar::flag)?;
    blocking(move || {
        state.check_writable()?;
        let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
        keyspace.rename(&name, &to, replace.unwrap_or_default(), unix_ms(), log)?;
        state.settle()?;
        let entry = state.filter(&to)?;
        Ok(json(StatusCode::OK, &describe(&to, &entry)))
    })
    .await
}
