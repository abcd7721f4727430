//! The expressions of Safe Browsing: a URL without the parts that do not decide whether it is bad,
//! and the hosts and paths above it that may be listed in its place.
//!
//! The rules are those in "URLs and Hashing" of the Safe Browsing API, version 4
//! (<https://developers.google.com/safe-browsing/v4/urls-hashing>), whose examples are the tests;
//! IPv6 addresses as in version 5. There the expressions are hashed; here they are the keys.

use super::escape::hex_digit;
use super::keyless::NoKey;
use std::net::Ipv6Addr;
use url::Host;

/// The number of names of a host that are considered, besides the host itself.
const MAX_NAMES: usize = 5;
/// The number of folders of a path that are considered, the root among them.
const MAX_FOLDERS: usize = 4;
/// One is enough for all but a few contrived hosts.
const MAX_READINGS: usize = 8;

/// Appends the canonical form of a URL as an expression: `host/path?query`, without scheme, user,
/// port and fragment. A URL without a scheme counts as one of the web.
///
/// # Errors
///
/// [`NoKey::Expression`] for a URL without a host, or with a port that is no number; `keys` is then
/// as it was.
pub(super) fn push_expression(url: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
    let url = unescaped(url);
    let rest = without_scheme(&url);
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = canonical_host(host_of(authority)?)?;
    let (path, query) = match memchr::memchr(b'?', rest) {
        Some(at) => rest.split_at(at),
        None => (rest, &b""[..]),
    };
    push_escaped(&host, keys);
    push_escaped(&canonical_path(path), keys);
    push_escaped(query, keys);
    Ok(())
}

/// Calls `each` with every expression of a URL whose canonical form is `expression`, itself first:
/// at most 5 hosts (itself and the suffixes of its last five names, except for the last name alone)
/// with at most 6 paths each (with the query, without, and the first four folders). No expression
/// is passed twice.
///
/// ```
/// use mayhap_keys::for_each_expression;
/// let mut all = Vec::new();
/// for_each_expression(b"a.b.c/1/2.html", |it| all.push(String::from_utf8(it.to_vec()).unwrap()));
/// assert_eq!(all, ["a.b.c/1/2.html", "a.b.c/", "a.b.c/1/", "b.c/1/2.html", "b.c/", "b.c/1/"]);
/// ```
pub fn for_each_expression(expression: &[u8], mut each: impl FnMut(&[u8])) {
    let slash = memchr::memchr(b'/', expression).unwrap_or(expression.len());
    let (host, rest) = expression.split_at(slash);
    let path = &rest[..memchr::memchr(b'?', rest).unwrap_or(rest.len())];
    let folders = memchr::memchr_iter(b'/', path).map(|at| &path[..=at]).take(MAX_FOLDERS);
    let folders = folders.filter(|folder| folder.len() < path.len());
    let mut paths = vec![rest];
    paths.extend((path.len() < rest.len()).then_some(path));
    paths.extend(folders);
    let mut buffer = Vec::new();
    for host in std::iter::once(host).chain(hosts_above(host)) {
        for path in &paths {
            buffer.clear();
            buffer.extend_from_slice(host);
            buffer.extend_from_slice(path);
            each(&buffer);
        }
    }
}

/// The suffixes of a host: two to five names, fewer than it has.
fn hosts_above(host: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_address =
        host.starts_with(b"[") || host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let dots = if is_address { &b""[..] } else { host };
    let starts: Vec<usize> = memchr::memrchr_iter(b'.', dots).skip(1).take(MAX_NAMES - 1).collect();
    starts.into_iter().rev().map(|dot| &host[dot + 1..])
}

/// Without surrounding white space, without its fragment, and with escapes resolved until none is
/// left.
fn unescaped(url: &[u8]) -> Vec<u8> {
    let url = &url[..memchr::memchr(b'#', url).unwrap_or(url.len())];
    let mut text: Vec<u8> = Vec::with_capacity(url.len());
    for &byte in url.trim_ascii() {
        if matches!(byte, b'\t' | b'\r' | b'\n') {
            continue;
        }
        text.push(byte);
        // The byte of an escape may be part of another one: `%2541` is `%41` is `A`.
        while let [.., b'%', high, low] = text[..]
            && let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low))
        {
            text.truncate(text.len() - 3);
            text.push(16 * high + low);
        }
    }
    text
}

fn without_scheme(url: &[u8]) -> &[u8] {
    let is_scheme = |name: &[u8]| {
        name.first().is_some_and(u8::is_ascii_alphabetic)
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
    };
    match memchr::memmem::find(url, b"://") {
        Some(at) if is_scheme(&url[..at]) => &url[at + 3..],
        _ => url,
    }
}

/// Without user, password and port.
fn host_of(authority: &[u8]) -> Result<&[u8], NoKey> {
    let start = memchr::memrchr(b'@', authority).map_or(0, |at| at + 1);
    let host = &authority[start..];
    let bracket = memchr::memrchr(b']', host).map_or(0, |at| at + 1);
    let Some(colon) = memchr::memchr(b':', &host[bracket..]) else { return Ok(host) };
    let (host, port) = host.split_at(bracket + colon);
    if port[1..].iter().all(u8::is_ascii_digit) { Ok(host) } else { Err(NoKey::Expression) }
}

fn canonical_host(host: &[u8]) -> Result<Vec<u8>, NoKey> {
    let mut host = with_single_dots(host);
    // International names become ASCII, and may be an address only then.
    for _ in 0..MAX_READINGS {
        if host.is_empty() {
            return Err(NoKey::Expression);
        }
        let text = std::str::from_utf8(&host).ok();
        let next = match text.map(Host::parse) {
            Some(Ok(Host::Ipv4(address))) => return Ok(address.to_string().into_bytes()),
            Some(Ok(Host::Ipv6(address))) => return Ok(address_text(address).into_bytes()),
            Some(Ok(Host::Domain(domain))) if !host.is_ascii() => {
                with_single_dots(domain.as_bytes())
            }
            _ if host.starts_with(b"[") => return Err(NoKey::Expression),
            _ => host.to_ascii_lowercase(),
        };
        if next == host {
            return Ok(host);
        }
        host = next;
    }
    Err(NoKey::Expression)
}

/// An address of version 6, or the one of version 4 within it (`::ffff:0:0/96`, `64:ff9b::/96`).
fn address_text(address: Ipv6Addr) -> String {
    match (address.to_ipv4_mapped(), address.segments()) {
        (Some(within), _) => within.to_string(),
        (None, [0x64, 0xFF9B, 0, 0, 0, 0, high, low]) => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            format!("{a}.{b}.{c}.{d}")
        }
        (None, _) => format!("[{address}]"),
    }
}

/// Without dots at its ends, and with one where there are several.
fn with_single_dots(host: &[u8]) -> Vec<u8> {
    let names: Vec<&[u8]> =
        host.split(|byte| *byte == b'.').filter(|name| !name.is_empty()).collect();
    names.join(&b'.')
}

/// With `.`, `..` and repeated slashes resolved.
fn canonical_path(path: &[u8]) -> Vec<u8> {
    let mut folders: Vec<&[u8]> = Vec::new();
    let mut last = &b""[..];
    for name in path.split(|byte| *byte == b'/') {
        last = name;
        match name {
            b"" | b"." => {}
            b".." => drop(folders.pop()),
            name => folders.push(name),
        }
    }
    let mut text = vec![b'/'];
    text.extend(folders.join(&b'/'));
    if matches!(last, b"" | b"." | b"..") && !folders.is_empty() {
        text.push(b'/');
    }
    text
}

/// Escapes `#`, `%` and everything but printable ASCII.
fn push_escaped(text: &[u8], keys: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    for &byte in text {
        if matches!(byte, 0..=0x20 | 0x7F.. | b'#' | b'%') {
            let digit = |value: u8| DIGITS[usize::from(value)];
            keys.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        } else {
            keys.push(byte);
        }
    }
}

#[cfg(test)]
mod tests;
