//! The sender of a request: the name that it used, and the site of its page.

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

/// Sets [`HEADERS`]; an answer with a policy of its own keeps it.
///
/// ```
/// use axum::http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
///
/// let mut answer = axum::response::Response::new(());
/// mayhap_dashboard::caller::protect(answer.headers_mut());
/// assert_eq!(answer.headers()[X_FRAME_OPTIONS], "DENY");
/// answer.headers_mut().insert(CONTENT_SECURITY_POLICY, "sandbox".parse().unwrap());
/// mayhap_dashboard::caller::protect(answer.headers_mut());
/// assert_eq!(answer.headers()[CONTENT_SECURITY_POLICY], "sandbox");
/// ```
pub fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        if name != header::CONTENT_SECURITY_POLICY || !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

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

/// Whether a request that changes something was sent by a page of another site than
/// `scheme://host`.
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:8080";

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn refused(all: &[(&'static str, &str)], scheme: &str, host: &str) -> bool {
        let refused = |method| is_of_other_site(&method, &headers(all), scheme, host);
        // Links and pictures of other sites lead here, and change nothing.
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            assert!(!refused(method));
        }
        let all = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].map(refused);
        assert_eq!(all, [all[0]; 4]);
        all[0]
    }

    #[test]
    fn only_a_page_of_exactly_this_host_and_scheme_may_change_something() {
        assert!(!refused(&[("origin", "http://127.0.0.1:8080")], "http", HOST));
        assert!(!refused(&[("origin", "http://localhost:1")], "http", "LocalHost:1"));
        for origin in [
            "http://127.0.0.1:8080.evil.example",
            "http://127.0.0.1:80801",
            "http://127.0.0.1:808",
            "http://127.0.0.1",
            "http://127.0.0.1:8080/",
            "http://evil.example/127.0.0.1:8080",
            "http://evil@127.0.0.1:8080",
            "http://x127.0.0.1:8080",
            "https://127.0.0.1:8080",
            "httpx://127.0.0.1:8080",
            "http:127.0.0.1:8080",
            "127.0.0.1:8080",
            "null",
            "",
        ] {
            assert!(refused(&[("origin", origin)], "http", HOST), "{origin}");
        }
        assert!(!refused(&[("origin", "https://127.0.0.1:8080")], "https", HOST));
        assert!(refused(&[("origin", "http://127.0.0.1:8080")], "https", HOST));
        // Of two, a server behind this one may believe the other.
        let own = ("origin", "http://127.0.0.1:8080");
        assert!(refused(&[own, own], "http", HOST));
    }

    #[test]
    fn what_a_browser_says_of_the_site_counts_too_and_programs_say_nothing() {
        let own = ("origin", "http://127.0.0.1:8080");
        let evil = ("origin", "http://evil.example");
        assert!(!refused(&[], "http", HOST));
        for (site, is_refused) in [
            ("same-origin", false),
            ("none", false),
            ("same-site", true),
            ("cross-site", true),
            ("", true),
        ] {
            let site = ("sec-fetch-site", site);
            assert_eq!(refused(&[site], "http", HOST), is_refused, "{site:?}");
            assert_eq!(refused(&[own, site], "http", HOST), is_refused, "{site:?}");
            assert!(refused(&[evil, site], "http", HOST), "{site:?}");
        }
    }

    #[test]
    fn a_host_is_named_once_and_without_a_user() {
        let name = |all: &[(&'static str, &str)]| host(&headers(all)).map(|it| it.to_string());
        assert_eq!(name(&[("host", "localhost:8080")]).as_deref(), Some("localhost:8080"));
        assert_eq!(name(&[("host", "[::1]")]).as_deref(), Some("[::1]"));
        assert_eq!(name(&[]), None);
        assert_eq!(name(&[("host", "localhost"), ("host", "localhost")]), None);
        for text in ["user@localhost", "@localhost", "", "local host", "localhost/ui"] {
            assert_eq!(name(&[("host", text)]), None, "{text}");
        }
    }

    /// The words that browsers know: any other is as none.
    #[test]
    fn answers_are_kept_from_frames_caches_and_other_sites() {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'self'; frame-ancestors 'none'"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert!(HEADERS.iter().any(|(n, v)| (n.as_str(), *v) == (name, value)), "{name}");
        }
    }
}
