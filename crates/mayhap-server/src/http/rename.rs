//! Renaming filters.

use super::body::Json;
use super::describe::describe;
use super::handler::{Answer, json, need_on};
use super::option::{Scalar, read};
use super::target::{Target, changing};
use super::{Failure, in_store};
use crate::config::Rights;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_engine::unix_ms;
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
    /// 400 without exactly one, or for a name that cannot be in a path.
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

    /// The new name, and whether a filter that has it is replaced.
    ///
    /// # Errors
    ///
    /// 400 for bad values; 403 if the user may not change filters of the new name.
    fn wanted(&self, rights: &Rights) -> Result<(Vec<u8>, bool), Failure> {
        let to = self.name()?;
        need_on(rights.write, "write", rights, &to)?;
        let replaces = read("replace", self.replace.as_ref(), "true or false", Scalar::flag)?;
        Ok((to, replaces.unwrap_or_default()))
    }
}

/// `POST /v1/filters/{name}/rename`
pub(super) async fn rename(
    target: Target,
    Json { value: rename, charge: _ }: Json<Rename>,
) -> Answer {
    if let Some(front) = target.front() {
        return in_store::rename(front, target, |rights| rename.wanted(rights)).await;
    }
    changing(target, move |Target { state, name, rights, .. }| {
        let (to, replaces) = rename.wanted(&rights)?;
        state.check_writable()?;
        let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
        keyspace.rename(&name, &to, replaces, unix_ms(), log)?;
        state.settle()?;
        let entry = state.filter(&to)?;
        Ok(json(StatusCode::OK, &describe(&to, &entry)))
    })
    .await
}
