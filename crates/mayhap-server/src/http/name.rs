//! A filter's name in a path: any bytes, percent-encoded, never a path itself.

use super::{Failure, State};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;

/// The segment of the path that is the name: `/v1/filters/NAME`.
const SEGMENT: usize = 3;

/// A filter's name from the path.
#[derive(Debug, Clone)]
pub(super) struct Name(pub(super) Vec<u8>);

impl FromRequestParts<State> for Name {
    type Rejection = Failure;

    /// # Errors
    ///
    /// 400 for a name that is empty, too long, or has a `%` without two hex digits.
    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Failure> {
        // Not by axum's paths: those are text.
        let raw = parts.uri.path().split('/').nth(SEGMENT).unwrap_or_default();
        Self::decode(raw, state.shared.config().max_name_bytes)
    }
}

impl Name {
    pub(super) fn decode(raw: &str, limit: u32) -> Result<Self, Failure> {
        let bytes = raw.as_bytes();
        for (i, _) in bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'%') {
            let hex = bytes.get(i + 1..i + 3);
            if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
                return Err(Failure::bad(
                    "the name has a % without two hex digits; write it as %25",
                ));
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
        Ok(Self(name))
    }
}
