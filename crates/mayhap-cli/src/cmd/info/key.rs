//! The cutting and digesting of keys, as `info` prints it.

use mayhap_keys::{Fields, KeyOptions, LineEnd, escape};
use serde::Serialize;

/// The options of cutting keys, beyond the ends of lines.
#[derive(Debug, Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Key {
    csv: bool,
    delim: Option<String>,
    /// Its number, if it is one.
    field: Option<u32>,
    fields: Option<Vec<u32>>,
    json_pointer: Option<String>,
    trim: bool,
    lower: bool,
    upper: bool,
    hex: bool,
    normalize_url: bool,
    domain: bool,
    url_prefixes: bool,
    fold: bool,
    sha1: bool,
}

impl Key {
    fn of(options: &KeyOptions) -> Self {
        let numbers = options.field.as_ref().map(Fields::numbers).unwrap_or_default();
        let numbers: Vec<u32> = numbers.iter().map(|number| number.get()).collect();
        Self {
            csv: options.csv,
            delim: options.field.as_ref().map(|_| escape(&[options.delim()])),
            field: (numbers.len() == 1).then(|| numbers[0]),
            fields: Some(numbers).filter(|numbers| numbers.len() > 1),
            json_pointer: options.json_pointer.as_ref().map(|it| it.as_str().into()),
            trim: options.trim,
            lower: options.lower,
            upper: options.upper,
            hex: options.hex,
            normalize_url: options.normalize_url,
            domain: options.domain,
            url_prefixes: options.url_prefixes,
            fold: options.fold,
            sha1: options.sha1,
        }
    }
}

/// The steps from lines to digests.
#[derive(Debug, Default, Serialize)]
pub(super) struct Digesting {
    digest: &'static str,
    digest_seed: Option<u64>,
    digest_key_id: Option<String>,
    separator: &'static str,
    crlf: &'static str,
    key: Key,
    /// How keys are cut, in words.
    #[serde(skip)]
    words: String,
}

impl Digesting {
    /// By a function with this parameter, which is the id of a secret key or a seed.
    pub(super) fn of(is_keyed: bool, parameter: u64, options: &KeyOptions) -> Self {
        Self {
            digest: if is_keyed { "sip13" } else { "xxh3" },
            digest_seed: (!is_keyed).then_some(parameter),
            digest_key_id: is_keyed.then(|| format!("{parameter:016x}")),
            separator: if options.nul { "nul" } else { "lf" },
            crlf: match options.line_end {
                LineEnd::CrLf => "strip",
                LineEnd::Unrecorded if !options.nul => "unrecorded",
                LineEnd::Unrecorded | LineEnd::Lf => "keep",
            },
            key: Key::of(options),
            words: options.describe(),
        }
    }

    /// The rows of a report.
    pub(super) fn rows(&self) -> [(&'static str, String); 2] {
        let digest = match (&self.digest_key_id, self.digest_seed) {
            (Some(id), _) => format!("sip13, secret key with id {id}"),
            (None, seed) => format!("xxh3, seed {}", seed.unwrap_or(0)),
        };
        [("digest", digest), ("key", self.words.clone())]
    }
}
