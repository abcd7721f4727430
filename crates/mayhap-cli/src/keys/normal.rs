//! Normal forms: one spelling for what is the same.

use super::escape::hex_digit;
use super::keyless::NoKey;
use url::Url;

/// Appends the bytes that pairs of hex digits stand for, upper or lower case, without a prefix.
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
/// its fragment.
///
/// # Errors
///
/// [`NoKey::Url`] for what the standard does not parse without a base, and for what is not UTF-8;
/// `keys` is then as it was.
pub fn push_url(text: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
    let text = std::str::from_utf8(text).map_err(|_| NoKey::Url)?;
    let mut url = Url::parse(text).map_err(|_| NoKey::Url)?;
    url.set_fragment(None);
    keys.extend_from_slice(url.as_str().as_bytes());
    Ok(())
}
