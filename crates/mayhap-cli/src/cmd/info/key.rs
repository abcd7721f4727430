//! How keys are cut, as `info` prints it.

use mayhap_keys::{KeyOptions, escape};
use serde::Serialize;
use std::num::NonZeroU32;

/// How keys are cut, beyond the ends of lines.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Key {
    delim: Option<String>,
    field: Option<u32>,
    json_pointer: Option<String>,
    trim: bool,
    lower: bool,
    hex: bool,
    normalize_url: bool,
    #[serde(skip)]
    pub(super) words: String,
}

impl Key {
    pub(super) fn of(options: &KeyOptions) -> Self {
        Self {
            delim: options.field.map(|_| escape(&[options.delim()])),
            field: options.field.map(NonZeroU32::get),
            json_pointer: options.json_pointer.as_ref().map(|it| it.as_str().into()),
            trim: options.trim,
            lower: options.lower,
            hex: options.hex,
            normalize_url: options.normalize_url,
            words: options.describe(),
        }
    }
}
