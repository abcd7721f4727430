//! Whether a text is the URL of a filter or the path of a file, and how either may be shown.

use std::ffi::OsStr;
use std::path::Path;

/// Whether a filter on a server is meant, and not a file: whether it begins with any scheme and
/// `://`. Schemes that no server has are refused where the URL is read.
///
/// ```
/// use mayhap_sets::is_url;
///
/// assert!(is_url("redis://127.0.0.1:6379/0/seen"));
/// assert!(is_url("unix:///run/redis.sock"));
/// assert!(!is_url("seen.mayhap"));
/// assert!(!is_url("lists/a://b"));
/// ```
pub fn is_url(path: impl AsRef<OsStr>) -> bool {
    let bytes = path.as_ref().as_encoded_bytes();
    let letters = bytes
        .iter()
        .take_while(|&&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let scheme = letters.count();
    // One letter is a drive.
    scheme > 1 && bytes[0].is_ascii_alphabetic() && bytes[scheme..].starts_with(b"://")
}

/// Whether a URL begins with a scheme of Redis or Valkey, and not with another one, such as
/// `https`.
///
/// ```
/// use mayhap_sets::is_of_engine;
///
/// assert!(is_of_engine("valkeys+cluster://host/0/seen"));
/// assert!(!is_of_engine("https://example.org/redis"));
/// ```
pub fn is_of_engine(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    scheme.starts_with("redis") || scheme.starts_with("valkey")
}

/// A path as it may be shown.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if is_url(path) { redacted(&text) } else { text }
}

/// A text without what stands before the host in its URL, if it is one: that may be a password.
///
/// ```
/// use mayhap_sets::redacted;
///
/// assert_eq!(redacted("redis://ann:secret@host/0/seen"), "redis://***@host/0/seen");
/// ```
pub fn redacted(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            format!("{}***{}", &text[..scheme + 3], &text[at..])
        }
        _ => text.into(),
    }
}
