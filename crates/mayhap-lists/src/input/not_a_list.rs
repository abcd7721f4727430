//! Kinds of input that are no lists of keys.

use mayhap_units::number::counted;

/// The kind of an input that is no list of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAList {
    /// A filter, of mayhap or of another system.
    #[error("a {system} filter{}", of_keys(*keys))]
    Filter {
        /// The name of its system.
        system: &'static str,
        /// The number of keys that it counts, where that is known.
        keys: Option<u64>,
    },
    /// Files in a file, or one compressed in a way that is not read here.
    #[error("{what}")]
    Archive {
        /// Its name, with an article.
        what: &'static str,
        /// The program that writes its contents to standard output.
        program: &'static str,
    },
    /// Text in an encoding other than UTF-8.
    #[error("text in {encoding}")]
    Text {
        /// Its encoding, as `iconv` knows it.
        encoding: &'static str,
    },
    /// Something else that is known.
    #[error("{what}")]
    Data {
        /// Its name, with an article.
        what: &'static str,
    },
}

fn of_keys(keys: Option<u64>) -> String {
    keys.map_or_else(String::new, |keys| format!(" of {}", counted(keys, "key")))
}
