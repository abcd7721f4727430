//! A server and a request for it, parsed from a URL.

use crate::error::Error;
use std::fmt;

/// The protocol of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    Redis,
}

/// A server, and the request for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) protocol: Protocol,
    pub(super) is_tls: bool,
    /// A name or an address, without the brackets of IPv6.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port as written.
    pub(super) authority: String,
    /// With its query; empty for Redis.
    pub(super) path: String,
}

/// Schemes with their protocols, whether they use TLS, and the default port.
const SCHEMES: [(&str, Protocol, bool, u16); 4] = [
    ("http", Protocol::Http, false, 80),
    ("https", Protocol::Http, true, 443),
    ("redis", Protocol::Redis, false, 6379),
    ("rediss", Protocol::Redis, true, 6379),
];

impl Target {
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let bad = |problem: &str| {
            let hint = "for example: mayhap health http://127.0.0.1:8080/readyz, or mayhap health \
                        127.0.0.1:6380";
            let url = mayhap_sets::redacted(url);
            Error::usage(format!("{url:?} is not a server to ask: {problem}"), hint)
        };
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let known = SCHEMES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(scheme));
        let (protocol, is_tls, usual) = match known {
            Some(&(_, protocol, is_tls, port)) => (protocol, is_tls, Some(port)),
            None if scheme.is_empty() => (Protocol::Redis, false, None),
            None => {
                return Err(bad("it begins with none of http://, https://, redis://, rediss://"));
            }
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        // A password is not sent.
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if url.contains(|char: char| char.is_control() || char == ' ') {
            return Err(bad("it has spaces or control characters"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => {
                (host, rest.strip_prefix(':').or((!rest.is_empty()).then_some("")))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        let port = match port {
            Some(text) => text.parse().ok().filter(|&port| port != 0),
            None => usual,
        };
        let port = port.ok_or_else(|| bad("the port is missing, or none from 1 to 65535"))?;
        let path = match (protocol, path.split('#').next().unwrap_or_default()) {
            (Protocol::Redis, _) => String::new(),
            (Protocol::Http, "" | "/") => "/readyz".into(),
            (Protocol::Http, path) if path.starts_with('?') => format!("/readyz{path}"),
            (Protocol::Http, path) => path.into(),
        };
        let authority = authority.to_owned();
        Ok(Self { protocol, is_tls, host: host.into(), port, authority, path })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ours =
            |row: &&(_, Protocol, bool, _)| (row.1, row.2) == (self.protocol, self.is_tls);
        let scheme = SCHEMES.iter().find(is_ours).map_or("redis", |row| row.0);
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (url, shown, host, port) in [
            ("http://127.0.0.1:8080/readyz", "http://127.0.0.1:8080/readyz", "127.0.0.1", 8080),
            ("HTTP://a", "http://a/readyz", "a", 80),
            ("https://a/", "https://a/readyz", "a", 443),
            ("http://a?verbose", "http://a/readyz?verbose", "a", 80),
            ("http://[::1]:8080/healthz?a#b", "http://[::1]:8080/healthz?a", "::1", 8080),
            ("redis://a/0/name", "redis://a", "a", 6379),
            ("rediss://user:secret@a:7", "rediss://a:7", "a", 7),
            ("127.0.0.1:6380", "redis://127.0.0.1:6380", "127.0.0.1", 6380),
            ("[::1]:6380", "redis://[::1]:6380", "::1", 6380),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((&*target.to_string(), &*target.host, target.port), (shown, host, port));
        }
        for url in [
            "",
            "a",
            "a:",
            "a:0",
            "a:65536",
            "a:x",
            ":6380",
            "http://",
            "http://:80",
            "ftp://a",
            "[::1]",
            "[::1]x:1",
            "http://a b",
            "http://a/\r\nX: y",
            "redis://secret@",
            "::1:6380",
        ] {
            let error = Target::parse(url).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(text.contains("is not a server to ask") && !text.contains("secret@"), "{text}");
        }
    }
}
