//! A filter's name in a path.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// The characters that are not escaped in a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b':');

/// A name in the form used in paths.
///
/// ```
/// assert_eq!(mayhap_dashboard::path::encode(b"a/b:c\xff"), "a%2Fb:c%FF");
/// ```
pub fn encode(name: &[u8]) -> String {
    percent_encode(name, PLAIN).to_string()
}
