//! What can go wrong with files of other systems, and the next step.

use super::Error;
use mayhap_foreign::{Error as Foreign, forms_of};
use mayhap_formats::{Format, Limits};

impl From<Foreign> for Error {
    fn from(source: Foreign) -> Self {
        let hint = match &source {
            Foreign::Create { source, .. } => create_hint(source).into(),
            Foreign::Ambiguous { .. } => "say which one with --format FORMAT".into(),
            Foreign::Unread { .. } => {
                "query it with its own system, or build a filter of the keys: mayhap build".into()
            }
            Foreign::NoTable { .. } => "omit # and what follows it".into(),
            Foreign::NoColumnNamed { name, columns } => match columns.first() {
                Some(first) => format!("name one after #, as in {name}#{first}, or with --column"),
                None => NO_FILTER.into(),
            },
            Foreign::NoFilter { .. } => NO_FILTER.into(),
            Foreign::NoForm { from, to, is_known, .. } => no_form_hint(*from, to, *is_known),
            Foreign::OnlyRead { .. } => "query it as it is".into(),
            Foreign::NoFunnel { .. } => {
                "name it with --key-type: bytes for text in UTF-8, hex for byte arrays, utf16 for \
                 unencoded characters, int, long, latin1, ascii"
                    .into()
            }
            Foreign::IsColumn { .. } => {
                "write the table again with the system that wrote it".into()
            }
            Foreign::Replaced { .. } => {
                "the keys added so far were in the file that is gone; add them again".into()
            }
            _ => String::new(),
        };
        match source {
            Foreign::Io { action, name, source } => Self::Io { action, name, source },
            Foreign::Store(source) => Self::Store(source),
            Foreign::TooLarge { needed, limit } => Self::TooMuchMemory { needed, limit },
            Foreign::Format { name, source } => Self::Foreign { name, source },
            source => Self::usage(source.to_string(), hint),
        }
    }
}

const NO_FILTER: &str =
    "write it again with Bloom filters, or build a filter of the keys: mayhap build";

/// The next step where a system has no filter of the parameters.
fn create_hint(error: &mayhap_formats::Error) -> &'static str {
    use mayhap_formats::Error as Formats;
    match error {
        Formats::Unsupported { operation: "choosing m and k", .. } => {
            "give -n and -p instead of --bits and --hashes"
        }
        Formats::Unsupported { .. } => "omit it",
        Formats::TooLarge { field: "seed", .. } => "choose a smaller one",
        Formats::BadField { field: "p", .. } => "choose another rate (-p)",
        Formats::BadField { .. } => "choose another one",
        Formats::TooLarge { .. } => "choose fewer keys (-n) or a higher rate (-p)",
        _ => "choose another number of keys (-n) or another rate (-p)",
    }
}

/// The forms that there are, and what to do without the one that was requested.
fn no_form_hint(from: Option<Format>, to: &str, is_known: bool) -> String {
    let (name, same) = (from.map_or("mayhap", Format::name), from.map_or(Vec::new(), forms_of));
    let forms = if same.is_empty() {
        format!("a {name} filter cannot be converted to another form")
    } else {
        format!("a {name} filter can be written as {}", same.join(", "))
    };
    if !is_known || name == to {
        return forms;
    }
    format!("build one from the keys, or query this one as it is (--format {name}); {forms}")
}

/// The next step for a file of another system.
pub(super) fn hint(error: &mayhap_formats::Error) -> Option<&'static str> {
    use mayhap_formats::Error as Formats;
    Some(match error {
        Formats::Unsupported { operation: "opening it without m and k", .. } => {
            "give both, as in the system that wrote it: --bits M --hashes K"
        }
        Formats::NotThisFormat { .. }
        | Formats::Truncated { .. }
        | Formats::TrailingBytes { .. }
        | Formats::BadField { .. }
        | Formats::Zero { .. } => {
            "restore it from a backup, or name its format if it is another one: --format FORMAT"
        }
        Formats::UnknownKeys { .. } => {
            "give the bytes that its system hashes as hex digits: --key-type hex"
        }
        // The limit of hash functions is no matter of memory.
        Formats::TooLarge { limit, .. } if *limit <= u64::from(Limits::default().max_hashes) => {
            "no option allows more: build a filter of the keys with mayhap build"
        }
        Formats::TooLarge { .. } => "if it can be trusted, allow more with --max-memory SIZE",
        Formats::WrongKeyType { .. } => "choose one of these with --key-type",
        Formats::Incompatible { .. } => "only filters created with the same numbers can be merged",
        _ => return None,
    })
}
