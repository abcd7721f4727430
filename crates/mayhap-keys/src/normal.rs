//! Normal forms: one spelling for equivalent texts.

use super::escape::hex_digit;
use super::keyless::NoKey;
use url::Url;

/// One is enough for all but a few contrived URLs.
const MAX_READINGS: usize = 8;

/// Appends the bytes of pairs of hex digits, upper or lower case, without a prefix.
///
/// # Errors
///
/// [`NoKey::Hex`] for anything else, also for nothing; `keys` is then as it was.
pub fn push_hex(digits: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return Err(NoKey::Hex);
    }
    let start = keys.len();
    for &[high, low] in pairs {
        let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low)) else {
            keys.truncate(start);
            return Err(NoKey::Hex);
        };
        keys.push(16 * high + low);
    }
    Ok(())
}

/// Appends an absolute URL as the URL standard (<https://url.spec.whatwg.org/>) writes it, without
/// its fragment; if that text is itself read as another URL, the normal form of the latter.
///
/// # Errors
///
/// [`NoKey::Url`] for text that the standard does not parse without a base, that is not UTF-8, or
/// that has no lasting form after a few readings; `keys` is then as it was.
pub fn push_url(text: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
    let text = std::str::from_utf8(text).map_err(|_| NoKey::Url)?;
    let mut url = parse(text)?;
    // A URL of the web is read as it was written. A file URL, or one of an unknown scheme, may lose
    // more dots or drive letters when it is read again.
    if !matches!(url.scheme(), "http" | "https") {
        url = lasting(url)?;
    }
    keys.extend_from_slice(url.as_str().as_bytes());
    Ok(())
}

fn parse(text: &str) -> Result<Url, NoKey> {
    let mut url = Url::parse(text).map_err(|_| NoKey::Url)?;
    url.set_fragment(None);
    Ok(url)
}

/// Reparses a URL until it no longer changes.
fn lasting(mut url: Url) -> Result<Url, NoKey> {
    for _ in 0..MAX_READINGS {
        let again = parse(url.as_str())?;
        if again == url {
            return Ok(url);
        }
        url = again;
    }
    Err(NoKey::Url)
}
