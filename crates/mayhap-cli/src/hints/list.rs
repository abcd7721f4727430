//! The way out where a list of keys cannot be read.

use mayhap_lists::{Error, NotAList, NotSearchable};
use std::io::ErrorKind;

/// Verbs to which a key might be given in place of a file.
const READS_KEYS: [&str; 5] = ["add", "check", "filter", "remove", "which"];

/// The next step for the user of this verb, if there is one.
pub fn hint(error: &Error, verb: &str) -> Option<String> {
    match error {
        Error::NotAList { name, is_stdin, what, .. } => {
            Some(instead_of(what, verb, (!is_stdin).then_some(name)))
        }
        Error::NotSearchable { name, why } => Some(match why {
            NotSearchable::NoRegularFile => {
                "write it to a file first, sorted: LC_ALL=C sort".into()
            }
            NotSearchable::Compressed => "decompress it first".into(),
            NotSearchable::NoKey { .. } => {
                "each line must have a key, extracted as for the filter".into()
            }
            NotSearchable::LineTooLong { .. } => "raise the limit with --max-line SIZE".into(),
            NotSearchable::NotSorted { separator, .. } => {
                let zero = if *separator == 0 { " -z" } else { "" };
                format!("sort it by its bytes: LC_ALL=C sort{zero} -o {name} {name}")
            }
        }),
        Error::Io { action: "open", name, source }
            if source.kind() == ErrorKind::NotFound && READS_KEYS.contains(&verb) =>
        {
            Some(format!(
                "inputs are files of keys; for keys on the command line: echo {name} | mayhap \
                 {verb} ..."
            ))
        }
        Error::LineTooLong { .. } => Some(
            "raise it with --max-line SIZE; is the input text, with the separator you think?"
                .into(),
        ),
        _ => None,
    }
}

/// The next step for input that is no list of keys; `file` is `None` for standard input.
fn instead_of(what: &NotAList, verb: &str, file: Option<&str>) -> String {
    let name = file.unwrap_or("FILE");
    let raw = "--raw takes the bytes as they are";
    let advice = match (what, verb) {
        (NotAList::Filter { .. }, "add" | "build") => {
            format!("mayhap merge -o FILTER {name} ... makes one filter of several")
        }
        (NotAList::Filter { .. }, "dedup") => {
            format!("mayhap dedup --state {name} continues with the lines it has")
        }
        (NotAList::Filter { .. }, "verify") => {
            format!("filters are verified one at a time: mayhap verify {name}")
        }
        (NotAList::Filter { .. }, _) => {
            format!("mayhap check -f {name} queries it, mayhap which -f several filters")
        }
        (NotAList::Archive { program, .. }, _) => {
            format!("take its contents: {program} {name} | mayhap {verb} ...")
        }
        (NotAList::Text { encoding }, _) => match file {
            Some(name) => format!("iconv -f {encoding} -t UTF-8 {name} | mayhap {verb} ..."),
            None => format!("... | iconv -f {encoding} -t UTF-8 | mayhap {verb} ..."),
        },
        (NotAList::Data { .. }, _) => format!("mayhap {verb} reads one key per line"),
    };
    format!("{advice}; {raw}")
}
