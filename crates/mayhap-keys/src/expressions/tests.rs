use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn canonical(url: &[u8]) -> Result<String, NoKey> {
    let mut keys = b"before".to_vec();
    let result = push_expression(url, &mut keys);
    let key = keys.strip_prefix(b"before").unwrap();
    result.map(|()| String::from_utf8(key.to_vec()).unwrap())
}

fn expressions(url: &str) -> Vec<String> {
    let mut all = Vec::new();
    let key = canonical(url.as_bytes()).unwrap();
    for_each_expression(key.as_bytes(), |it| all.push(String::from_utf8(it.to_vec()).unwrap()));
    all
}

/// The examples of the page, without the scheme that no expression has.
#[test]
fn canonical_forms_are_those_of_the_source() {
    for (url, expected) in [
        (&b"http://host/%25%32%35"[..], "host/%25"),
        (b"http://host/%25%32%35%25%32%35", "host/%25%25"),
        (b"http://host/%2525252525252525", "host/%25"),
        (b"http://host/asdf%25%32%35asd", "host/asdf%25asd"),
        (b"http://host/%%%25%32%35asd%%", "host/%25%25%25asd%25%25"),
        (b"http://www.google.com/", "www.google.com/"),
        (
            b"http://%31%36%38%2e%31%38%38%2e%39%39%2e%32%36/%2E%73%65%63%75%72%65/%77%77%77%2E\
              %65%62%61%79%2E%63%6F%6D/",
            "168.188.99.26/.secure/www.ebay.com/",
        ),
        (
            b"http://195.127.0.11/uploads/%20%20%20%20/.verify/.eBaysecure=updateuserdata",
            "195.127.0.11/uploads/%20%20%20%20/.verify/.eBaysecure=updateuserdata",
        ),
        (
            b"http://host%23.com/%257Ea%2521b%2540c%2523d%2524e%25f%255E00%252611%252A22%252833\
              %252944_55%252B",
            "host%23.com/~a!b@c%23d$e%25f^00&11*22(33)44_55+",
        ),
        (b"http://3279880203/blah", "195.127.0.11/blah"),
        (b"http://www.google.com/blah/..", "www.google.com/"),
        (b"www.google.com/", "www.google.com/"),
        (b"www.google.com", "www.google.com/"),
        (b"http://www.evil.com/blah#frag", "www.evil.com/blah"),
        (b"http://www.GOOgle.com/", "www.google.com/"),
        (b"http://www.google.com.../", "www.google.com/"),
        (b"http://www.google.com/foo\tbar\rbaz\n2", "www.google.com/foobarbaz2"),
        (b"http://www.google.com/q?", "www.google.com/q?"),
        (b"http://www.google.com/q?r?", "www.google.com/q?r?"),
        (b"http://www.google.com/q?r?s", "www.google.com/q?r?s"),
        (b"http://evil.com/foo#bar#baz", "evil.com/foo"),
        (b"http://evil.com/foo;", "evil.com/foo;"),
        (b"http://evil.com/foo?bar;", "evil.com/foo?bar;"),
        (b"http://\x01\x80.com/", "%01%80.com/"),
        (b"http://notrailingslash.com", "notrailingslash.com/"),
        (b"http://www.gotaport.com:1234/", "www.gotaport.com/"),
        (b"  http://www.google.com/  ", "www.google.com/"),
        (b"http:// leadingspace.com/", "%20leadingspace.com/"),
        (b"http://%20leadingspace.com/", "%20leadingspace.com/"),
        (b"%20leadingspace.com/", "%20leadingspace.com/"),
        (b"https://www.securesite.com/", "www.securesite.com/"),
        (b"http://host.com/ab%23cd", "host.com/ab%23cd"),
        (b"http://host.com//twoslashes?more//slashes", "host.com/twoslashes?more//slashes"),
    ] {
        assert_eq!(canonical(url).as_deref(), Ok(expected), "{}", url.escape_ascii());
    }
}

/// The phishing check in browsers passes the same cases.
#[test]
fn the_cases_of_browsers_have_the_same_form_here() {
    let cases = include_str!("cases.tsv");
    for case in cases.lines() {
        let (url, expected) = case.split_once('\t').unwrap();
        let expected = if expected == "-" { Err(NoKey::Expression) } else { Ok(expected) };
        assert_eq!(canonical(url.as_bytes()).as_deref(), expected.as_ref().copied(), "{url}");
    }
    assert!(cases.lines().count() > 50);
}

#[test]
fn hosts_and_paths_have_one_form() {
    for (url, expected) in [
        ("http://ann:secret@Evil.com:80?q", "evil.com/?q"),
        ("http://bücher.example/é", "xn--bcher-kva.example/%C3%A9"),
        ("http://b%C3%BCcher.example/", "xn--bcher-kva.example/"),
        ("http://0x7f.1/a/./b/../c/", "127.0.0.1/a/c/"),
        ("http://[2001:0db8:0000::1]:80/", "[2001:db8::1]/"),
        ("http://[::ffff:1.2.3.4]/", "1.2.3.4/"),
        ("http://[64:ff9b::1.2.3.4]/", "1.2.3.4/"),
        ("http://..a...b../", "a.b/"),
        ("http://a.b/../..", "a.b/"),
        ("http://a.b/c/.", "a.b/c/"),
        ("evil.com:80", "evil.com/"),
    ] {
        assert_eq!(canonical(url.as_bytes()).as_deref(), Ok(expected), "{url}");
    }
    for url in ["", "http://", "http:///a", "...", "javascript:alert(1)", "http://[::1/", "/a"] {
        assert_eq!(canonical(url.as_bytes()), Err(NoKey::Expression), "{url}");
    }
}

/// The examples of the page: the full form first, then folders from the root on.
#[test]
fn expressions_are_those_of_the_source() {
    assert_eq!(
        expressions("http://a.b.c/1/2.html?param=1"),
        [
            "a.b.c/1/2.html?param=1",
            "a.b.c/1/2.html",
            "a.b.c/",
            "a.b.c/1/",
            "b.c/1/2.html?param=1",
            "b.c/1/2.html",
            "b.c/",
            "b.c/1/",
        ]
    );
    assert_eq!(
        expressions("http://a.b.c.d.e.f.g/1.html"),
        [
            "a.b.c.d.e.f.g/1.html",
            "a.b.c.d.e.f.g/",
            "c.d.e.f.g/1.html",
            "c.d.e.f.g/",
            "d.e.f.g/1.html",
            "d.e.f.g/",
            "e.f.g/1.html",
            "e.f.g/",
            "f.g/1.html",
            "f.g/",
        ]
    );
    assert_eq!(expressions("http://1.2.3.4/1/"), ["1.2.3.4/1/", "1.2.3.4/"]);
    assert_eq!(expressions("http://[::1]/"), ["[::1]/"]);
    assert_eq!(expressions("http://localhost/"), ["localhost/"]);
    let most = expressions("http://a.b.c.d.e.f/1/2/3/4/5?q");
    assert_eq!((most.len(), most[5].as_str()), (30, "a.b.c.d.e.f/1/2/3/"));
}

/// Passes over the whole text until one changes nothing, as the page describes it.
fn unescaped_in_passes(url: &[u8]) -> Vec<u8> {
    let mut text = url.to_vec();
    loop {
        let (mut next, mut at) = (Vec::new(), 0);
        while at < text.len() {
            match text[at..] {
                [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    let digits = [high, low];
                    let digits = std::str::from_utf8(&digits).unwrap();
                    next.push(u8::from_str_radix(digits, 16).unwrap());
                    at += 3;
                }
                _ => {
                    next.push(text[at]);
                    at += 1;
                }
            }
        }
        if next == text {
            return next;
        }
        text = next;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(19),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn escapes_are_resolved_as_in_passes(text in "[%2345a]{0,24}") {
        prop_assert_eq!(unescaped(text.as_bytes()), unescaped_in_passes(text.as_bytes()));
    }

    #[test]
    fn every_expression_is_canonical_and_comes_once(
        host in "(https?://)?([a-cé.]{1,6}|[0-9x.]{1,6}|[%。２.@:]{1,4}){1,4}",
        path in "(/[a.%5/]{0,5}){0,6}[?a]{0,2}"
    ) {
        let text = host + &path;
        let Ok(key) = canonical(text.as_bytes()) else { return Ok(()) };
        let mut all = Vec::new();
        for_each_expression(key.as_bytes(), |it| all.push(it.to_vec()));
        prop_assert_eq!(&all[0], key.as_bytes());
        prop_assert!(all.len() <= 30);
        for (i, expression) in all.iter().enumerate() {
            prop_assert!(!all[..i].contains(expression), "{} twice", expression.escape_ascii());
        }
        prop_assert_eq!(canonical(key.as_bytes()), Ok(key));
    }
}
