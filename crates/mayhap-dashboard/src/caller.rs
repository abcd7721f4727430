//! Who sent a request: under which name, and from a page of which site.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

/// Headers of every answer: nothing is guessed, framed, kept or sent to other sites.
pub const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'self'; frame-ancestors 'none'"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The header's text, if there is exactly one.
pub fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// The name and port by which the server was called, without a user.
pub fn host(headers: &HeaderMap) -> Option<Authority> {
    let host = single(headers, &header::HOST)?.parse::<Authority>().ok()?;
    (!host.as_str().contains('@')).then_some(host)
}

/// Whether a request that changes something came from a page of another site than `scheme://host`.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue, Method, header::ORIGIN};
/// use mayhap_dashboard::caller::is_of_other_site;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(ORIGIN, HeaderValue::from_static("https://evil.example"));
/// assert!(is_of_other_site(&Method::POST, &headers, "http", "127.0.0.1:8080"));
/// assert!(!is_of_other_site(&Method::GET, &headers, "http", "127.0.0.1:8080"));
/// ```
pub fn is_of_other_site(method: &Method, headers: &HeaderMap, scheme: &str, host: &str) -> bool {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return false;
    }
    if headers.contains_key(header::ORIGIN) {
        let origin = single(headers, &header::ORIGIN).and_then(|text| text.strip_prefix(scheme));
        let origin = origin.and_then(|text| text.strip_prefix("://"));
        if !origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
            return true;
        }
    }
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => false,
        Some(_) => true,
    }
}
