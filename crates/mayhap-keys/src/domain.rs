//! The domain of a URL or of a mail address.

use super::keyless::NoKey;
use url::{Host, Url};

/// Appends the host of a URL, or the part after the last `@` of an address, or a bare host name: in
/// lower case and ASCII, as the URL standard writes it (<https://url.spec.whatwg.org/>), without a
/// dot at its end.
///
/// # Errors
///
/// [`NoKey::Domain`] for anything else; `keys` is then as it was.
pub(super) fn push_domain(text: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
    let text = std::str::from_utf8(text).map_err(|_| NoKey::Domain)?;
    let url = Url::parse(text).ok();
    let host = match url.as_ref().and_then(Url::host_str).filter(|host| !host.is_empty()) {
        Some(host) => host,
        None => text.rsplit('@').next().unwrap_or(text),
    };
    // For a scheme unknown to the standard, it leaves hosts as they are.
    let host = parse(host)?;
    let domain = host.strip_suffix('.').unwrap_or(&host);
    // A text that would be read as another host, such as one with two dots at its end, is none.
    if parse(domain)? != domain || domain.ends_with('.') {
        return Err(NoKey::Domain);
    }
    keys.extend_from_slice(domain.as_bytes());
    Ok(())
}

fn parse(host: &str) -> Result<String, NoKey> {
    Host::parse(host).map(|host| host.to_string()).map_err(|_| NoKey::Domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(text: &str) -> Result<String, NoKey> {
        let mut keys = b"before".to_vec();
        let result = push_domain(text.as_bytes(), &mut keys);
        let key = keys.strip_prefix(b"before").unwrap();
        result.map(|()| String::from_utf8(key.to_vec()).unwrap())
    }

    #[test]
    fn hosts_of_urls_and_addresses_are_in_one_form() {
        for (text, expected) in [
            ("https://www.Example.com/a?b=c@d#e", "www.example.com"),
            ("http://ann:secret@example.com.:8080/", "example.com"),
            ("ftp://EXAMPLE.com", "example.com"),
            ("git://Example.COM/a", "example.com"),
            ("https:example.com", "example.com"),
            ("Ann@Example.com", "example.com"),
            ("\"a@b\"@example.com", "example.com"),
            ("mailto:ann@example.com", "example.com"),
            ("Example.com.", "example.com"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("ann@bücher.example", "xn--bcher-kva.example"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://[2001:DB8::1]/", "[2001:db8::1]"),
        ] {
            assert_eq!(domain(text).as_deref(), Ok(expected), "{text}");
            assert_eq!(domain(expected).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_host_has_no_key() {
        for text in ["", ".", "a..", "/a/b", "example.com/a", "example.com:80", "ann@", "a b"] {
            assert_eq!(domain(text), Err(NoKey::Domain), "{text}");
        }
        for text in ["file:///a", "mailto:", "Ann <ann@example.com>", "http://1.2.3.4.5/"] {
            assert_eq!(domain(text), Err(NoKey::Domain), "{text}");
        }
        assert_eq!(push_domain(b"ann@\xFF.com", &mut Vec::new()), Err(NoKey::Domain));
    }
}
