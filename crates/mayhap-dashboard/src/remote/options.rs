//! The options of a dashboard.

use mayhap_sets::server::Known;

/// The options of a dashboard.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port on loopback; 0 for any.
    pub port: u16,
    /// Whether keys may be added, or only queried.
    pub may_add: bool,
    /// The secret key of filters that have one, and the type of keys.
    pub known: Known,
    /// A text for the page about the program behind it.
    pub words: Words,
    /// The URL of the server with the database, without a password: what a name is appended to.
    pub url: String,
}

/// Texts for the page about the program that serves it, which alone knows its options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words {
    /// Why keys cannot be added, and how they could be.
    pub may_not_add: &'static str,
    /// The command that copies the filter of a URL to a file, up to the URL.
    pub copy: &'static str,
    /// The command that creates a filter, up to its URL, and its options.
    pub create: [&'static str; 2],
}
