//! The filter that a request is about: its name in the path, which is any bytes, percent-encoded,
//! and never a path itself; and what the user may do with it.

use super::handler::{Answer, blocking, need_on, need_own};
use super::{Failure, State};
use crate::config::Rights;
use crate::front::Front;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use std::sync::Arc;

/// The index of the path segment with the name: `/v1/filters/NAME`.
const SEGMENT: usize = 3;

/// The filter that a request is about, whether it exists or not.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) state: State,
    pub(super) name: Vec<u8>,
    /// What the path asks of the filter: its last segment, if that is not the name.
    what: Option<Box<str>>,
    /// The rights of the user.
    pub(super) rights: Rights,
}

impl FromRequestParts<State> for Target {
    type Rejection = Failure;

    /// # Errors
    ///
    /// Those of [`decode`].
    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Failure> {
        // Not by axum's path parameters, which have to be text.
        let mut segments = parts.uri.path().split('/').skip(SEGMENT);
        let raw = segments.next().unwrap_or_default();
        let what = segments.next().map(Box::from);
        let name = decode(raw, state.shared.config().max_name_bytes)?;
        // The guard has put them there.
        let rights = parts.extensions.get().cloned().unwrap_or(Rights::NONE);
        Ok(Self { state: state.clone(), name, what, rights })
    }
}

impl Target {
    /// The store that has the filter, if it is in one.
    pub(super) fn front(&self) -> Option<Arc<Front>> {
        self.state.shared.front().cloned()
    }

    /// # Errors
    ///
    /// 403 if the user may not query the filter.
    pub(super) fn need_read(&self) -> Result<(), Failure> {
        need_on(self.rights.read, "read", &self.rights, &self.name)
    }

    /// # Errors
    ///
    /// 501 if the filter is in a store.
    pub(super) fn need_own(&self) -> Result<(), Failure> {
        need_own(&self.state, self.what.as_deref().unwrap_or("this request"))
    }

    /// # Errors
    ///
    /// 403 if the user may not change the filter.
    pub(super) fn need_write(&self) -> Result<(), Failure> {
        need_on(self.rights.write, "write", &self.rights, &self.name)
    }
}

/// Queries a filter of this server, which may take long.
///
/// # Errors
///
/// As [`Target::need_read`] and [`Target::need_own`].
pub(super) async fn reading(
    target: Target,
    work: impl FnOnce(Target) -> Answer + Send + 'static,
) -> Answer {
    target.need_read()?;
    target.need_own()?;
    blocking(move || work(target)).await
}

/// Changes a filter of this server, which may take long.
///
/// # Errors
///
/// As [`Target::need_write`] and [`Target::need_own`].
pub(super) async fn changing(
    target: Target,
    work: impl FnOnce(Target) -> Answer + Send + 'static,
) -> Answer {
    target.need_write()?;
    target.need_own()?;
    blocking(move || work(target)).await
}

/// The name of a filter in the form of a path.
///
/// # Errors
///
/// 400 for a name that is empty, too long, or has a `%` without two hex digits.
pub(super) fn decode(raw: &str, limit: u32) -> Result<Vec<u8>, Failure> {
    let bytes = raw.as_bytes();
    for (i, _) in bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'%') {
        let hex = bytes.get(i + 1..i + 3);
        if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            return Err(Failure::bad("the name has a % without two hex digits; write it as %25"));
        }
    }
    let name: Vec<u8> = percent_decode_str(raw).collect();
    if name.is_empty() {
        return Err(Failure::bad("the name is empty"));
    }
    if name.len() > limit as usize {
        let problem = format!("the name has {} bytes, above the limit of {limit}", name.len());
        return Err(Failure::bad(problem + " (max_name_bytes)"));
    }
    Ok(name)
}
