//! Mistakes in a configuration.

use super::injected::HINT;
use super::value_error::{DraftError, PasswordError, UserError, ValueError};

/// A mistake in a configuration, with the allowed values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The value of a setting.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The value of a setting in the environment, which Kubernetes may have put there.
    #[error("{0}; {HINT}")]
    Injected(Box<Self>),
    /// A user that cannot be added.
    #[error(transparent)]
    User(#[from] UserError),
    /// A password in a file or in the environment.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A `[[user]]` that is incomplete.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(Box<mayhap_store::Error>),
    /// The file is not text.
    #[error("is not text: {0}")]
    NotText(#[from] std::string::FromUtf8Error),
    /// A value is not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// The file is not TOML: in the words of its parser.
    #[error("{0}")]
    NotToml(String),
    /// A value should be text.
    #[error("is not text; write \"…\"")]
    NotQuoted,
    /// A value is of a type that no setting has.
    #[error("is a {found}; write text, a number, true or false")]
    WrongType {
        /// The type, in TOML's words.
        found: &'static str,
    },
    /// There is no setting of this name, but perhaps a similar one.
    #[error("is not a setting{}", meant(*near))]
    NoSetting {
        /// The similar one.
        near: Option<&'static str>,
    },
    /// `user` is not a list of tables.
    #[error("starts a table; write [[user]]")]
    NotTable,
    /// A user has no field of this name.
    #[error("is not a field of a user; allowed: {}", allowed.join(", "))]
    NoField {
        /// The fields.
        allowed: &'static [&'static str],
    },
    /// An empty name.
    #[error("is empty")]
    Empty,
    /// Another password of one user.
    #[error("is a second password of this user")]
    SecondPassword,
    /// Other machines reach the server, and nobody has to log in.
    #[error("admits other machines, but there is no password, nor insecure_no_password")]
    OpenToAll,
    /// One half of a certificate and its key.
    #[error("{there} is given without {absent}; TLS needs both")]
    Alone {
        /// The setting that is given.
        there: &'static str,
        /// The one that is missing.
        absent: &'static str,
    },
    /// Two settings of which only one can be.
    #[error("{there} is given with {other}: the filters are in one place; omit one of them")]
    Both {
        /// The one.
        there: &'static str,
        /// The other.
        other: &'static str,
    },
    /// A setting without the one that it is about.
    #[error("{there} is given without {absent}, which it is about")]
    Without {
        /// The setting that is given.
        there: &'static str,
        /// The one that is missing.
        absent: &'static str,
    },
    /// A setting that needs a certificate.
    #[error("{0} is given without tls_cert and tls_key")]
    NeedsCertificate(&'static str),
    /// A limit above one that it is a part of.
    #[error("{small} is {value}, above {large}, which is {limit}")]
    Above {
        /// The limit.
        small: &'static str,
        /// Its value.
        value: u64,
        /// The one that it is a part of.
        large: &'static str,
        /// The value of that.
        limit: u64,
    },
    /// TLS cannot be switched on while the server runs.
    #[error("TLS is switched on by a restart")]
    NeedsRestart,
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}
