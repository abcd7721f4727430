//! The form of a key: from the selected bytes to the key.

use super::domain::push_domain;
use super::expressions::push_expression;
use super::fold::fold_from;
use super::keyless::NoKey;
use super::{KeyOptions, push_hex, push_url};
use sha1::{Digest, Sha1};

/// The steps applied to the bytes of a line, a field or a JSON value.
#[derive(Debug, Default)]
pub(super) struct Form {
    trim: bool,
    spelling: Spelling,
    case: Case,
    sha1: bool,
}

#[derive(Debug, Default)]
enum Spelling {
    #[default]
    AsIs,
    Hex,
    Url,
    Domain,
    Expression,
}

#[derive(Debug, Default)]
enum Case {
    #[default]
    AsIs,
    Lower,
    Upper,
    Folded,
}

impl Form {
    /// The form that the options specify; `None` if the bytes are the key as they are.
    pub(super) fn new(options: &KeyOptions) -> Option<Self> {
        let KeyOptions { trim, hex, normalize_url, domain, url_prefixes, .. } = *options;
        let KeyOptions { lower, upper, fold, sha1, .. } = *options;
        let spelling = match () {
            () if hex => Spelling::Hex,
            () if normalize_url => Spelling::Url,
            () if domain => Spelling::Domain,
            () if url_prefixes => Spelling::Expression,
            () => Spelling::AsIs,
        };
        let case = match () {
            () if lower => Case::Lower,
            () if upper => Case::Upper,
            () if fold => Case::Folded,
            () => Case::AsIs,
        };
        let has_case = lower || upper || fold;
        let is_any = trim || has_case || sha1 || !matches!(spelling, Spelling::AsIs);
        is_any.then_some(Self { trim, spelling, case, sha1 })
    }

    /// Appends the key that these bytes have.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if they have none; `keys` is then as it was.
    pub(super) fn push(&self, bytes: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
        let bytes = if self.trim { bytes.trim_ascii() } else { bytes };
        let start = keys.len();
        match self.spelling {
            Spelling::AsIs => keys.extend_from_slice(bytes),
            Spelling::Hex => push_hex(bytes, keys)?,
            Spelling::Url => push_url(bytes, keys)?,
            Spelling::Domain => push_domain(bytes, keys)?,
            Spelling::Expression => push_expression(bytes, keys)?,
        }
        match self.case {
            Case::AsIs => {}
            // After a URL's normal form, so that the escapes of that form are lower case as well.
            Case::Lower => keys[start..].make_ascii_lowercase(),
            Case::Upper => keys[start..].make_ascii_uppercase(),
            Case::Folded => fold_from(keys, start),
        }
        if self.sha1 {
            let digest = Sha1::digest(&keys[start..]);
            keys.truncate(start);
            keys.extend_from_slice(&digest);
        }
        Ok(())
    }
}
