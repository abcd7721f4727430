//! The next step where a file of another system cannot be used.

use mayhap_formats::{Format, Limits};
use mayhap_sets::file::{Error, forms_of};

/// The next step for an error of opening, creating or converting; empty if there is none.
pub fn hint(error: &Error) -> String {
    match error {
        Error::Create { source, .. } => of_creation(source).into(),
        Error::Ambiguous { .. } => "say which one with --format FORMAT".into(),
        Error::Unread { .. } => {
            "query it with its own system, or build a filter of the keys: mayhap build".into()
        }
        Error::NoTable { .. } => "omit # and what follows it".into(),
        Error::NoColumnNamed { name, columns } => match columns.first() {
            Some(first) => format!("name one after #, as in {name}#{first}, or with --column"),
            None => NO_FILTER.into(),
        },
        Error::NoFilter { .. } => NO_FILTER.into(),
        Error::NoForm { from, to, is_known, .. } => of_no_form(*from, to, *is_known),
        Error::OnlyRead { .. } => "query it as it is".into(),
        Error::NoFunnel { .. } => {
            "name it with --key-type: bytes for text in UTF-8, hex for byte arrays, utf16 for \
             unencoded characters, int, long, latin1, ascii"
                .into()
        }
        Error::IsColumn { .. } => "write the table again with the system that wrote it".into(),
        Error::Replaced { .. } => {
            "the keys added so far were in the file that is gone; add them again".into()
        }
        _ => String::new(),
    }
}

const NO_FILTER: &str =
    "write it again with Bloom filters, or build a filter of the keys: mayhap build";

/// The next step where a system has no filter of the parameters.
fn of_creation(error: &mayhap_formats::Error) -> &'static str {
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
fn of_no_form(from: Option<Format>, to: &str, is_known: bool) -> String {
    let (name, same) = (
        from.map_or("mayhap", Format::name),
        from.map_or(vec!["mayhap", "mayhap-short"], forms_of),
    );
    let forms = if same.is_empty() {
        format!("a {name} filter cannot be converted to another form")
    } else {
        format!("a {name} filter can be written as {}", same.join(", "))
    };
    if !is_known || name == to {
        return forms;
    }
    let as_it_is = from.map_or(String::new(), |_| format!(" (--format {name})"));
    format!("build one from the keys, or query this one as it is{as_it_is}; {forms}")
}

/// The next step for a file that is not sound as one of its format.
pub fn of_format(error: &mayhap_formats::Error) -> Option<&'static str> {
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
        // The limit of hash functions is not about memory.
        Formats::TooLarge { limit, .. } if *limit <= u64::from(Limits::default().max_hashes) => {
            "no option allows more: build a filter of the keys with mayhap build"
        }
        Formats::TooLarge { .. } => "if it can be trusted, allow more with --max-memory SIZE",
        Formats::WrongKeyType { .. } => "choose one of these with --key-type",
        Formats::Incompatible { .. } => "only filters created with the same numbers can be merged",
        _ => return None,
    })
}
