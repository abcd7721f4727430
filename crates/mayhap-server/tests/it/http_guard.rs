//! Access over HTTP, and names that break out of the text they are written into.

use crate::http::{Answer, Server};
use crate::http_metrics::check_metrics;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_server::config::{Config, Rights, Users, hash_password};
use mayhap_server::metrics::Counter;
use serde_json::json;
use std::sync::Arc;

/// T14: pages of other sites, and names that are bound to our address.
#[test]
fn foreign_hosts_origins_and_forms_are_refused() {
    let http_hosts = vec!["filters.example.org".into()];
    let server = Server::start(Config { http_hosts, ..Config::default() });
    let port = server.address.port();
    let mut tried = 0;
    for (host, ours) in [
        (format!("127.0.0.1:{port}"), true),
        ("127.0.0.1".into(), true),
        (format!("localhost:{port}"), true),
        ("LocalHost".into(), true),
        (format!("[::1]:{port}"), true),
        ("127.1.2.3".into(), true),
        ("Filters.Example.org:80".into(), true),
        ("evil.example".into(), false),
        (format!("evil.example:{port}"), false),
        ("localhost.evil.example".into(), false),
        ("127.0.0.1.evil.example".into(), false),
        ("filters.example.org.".into(), false),
        ("10.0.0.1".into(), false),
        ("user@localhost".into(), false),
        (String::new(), false),
    ] {
        let expected = if ours { 200 } else { 421 };
        let answer = server.ask("GET /v1/filters", &[("Host", &host)], b"");
        assert_eq!(answer.status, expected, "{host:?}");
        tried += 1;
    }
    let twice = [("Host", "localhost"), ("Host", "evil.example")];
    assert_ne!(server.ask("GET /v1/filters", &twice, b"").status, 200);
    let none = server.raw(b"GET /v1/filters HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!(matches!(Answer::parse(&none).status, 400 | 421));

    let json_type = ("Content-Type", "application/json");
    let ours = format!("http://{}", server.address);
    for (i, (headers, expected)) in [
        (vec![json_type], 201),
        (vec![json_type, ("Origin", &*ours)], 201),
        (vec![json_type, ("Origin", "http://evil.example")], 403),
        (vec![json_type, ("Origin", "null")], 403),
        (vec![json_type, ("Origin", "https://localhost")], 403),
        (vec![json_type, ("Origin", "http://localhost:1")], 403),
        (vec![json_type, ("Origin", &*ours), ("Origin", "http://evil.example")], 403),
        (vec![json_type, ("Sec-Fetch-Site", "cross-site")], 403),
        (vec![json_type, ("Sec-Fetch-Site", "same-site")], 403),
        (vec![json_type, ("Sec-Fetch-Site", "same-origin")], 201),
        (vec![("Content-Type", "text/plain")], 415),
        (vec![("Content-Type", "application/x-www-form-urlencoded")], 415),
        (vec![("Content-Type", "multipart/form-data; boundary=x")], 415),
        (vec![], 415),
        (vec![("Content-Type", "application/json; charset=utf-8")], 201),
    ]
    .into_iter()
    .enumerate()
    {
        let line = format!("PUT /v1/filters/f{i}");
        let answer = server.ask(&line, &headers, b"{}");
        assert_eq!(answer.status, expected, "{headers:?}");
        assert_eq!(server.get(&format!("/v1/filters/f{i}")).status == 200, expected == 201);
        tried += 1;
    }
    for answer in [server.get("/"), server.get("/none"), server.get("/v1/filters")] {
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(answer.header("content-security-policy").starts_with("default-src 'self'"));
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")));
    }
    let page = server.get("/").text();
    assert!(!page.contains("<script") && !page.contains("style="), "inline: {page}");
    assert_eq!(server.ask("OPTIONS /v1/filters/f0", &[], b"").status, 405);
    assert!(tried >= 30);
}

#[test]
fn a_redis_client_is_not_answered() {
    let server = Server::plain();
    for request in [&b"*1\r\n$4\r\nPING\r\n"[..], b"*"] {
        assert_eq!(server.raw(request), b"", "{request:?}");
    }
}

/// Users of every sort.
pub(crate) fn guarded() -> Server {
    let mut users = Users::new().unwrap();
    users.add("default", b"master password", Rights::ALL).unwrap();
    let of = |read, write, prefix: &str| Rights {
        read,
        write,
        admin: false,
        prefix: (!prefix.is_empty()).then(|| prefix.as_bytes().into()),
    };
    users.add("eye", b"only looks", of(true, false, "")).unwrap();
    users.add("hand", b"only writes", of(false, true, "")).unwrap();
    let hash = hash_password(b"in its corner").unwrap();
    users.add_hashed("shop", &hash, of(true, true, "shop:")).unwrap();
    Server::start(Config { users: Arc::new(users), ..Config::default() })
}

pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[test]
fn every_path_requires_its_right() {
    let server = guarded();
    let json_type = ("Content-Type", "application/json");
    let ask = |line: &str, login: &str, body: &[u8]| {
        let headers = [json_type, ("Authorization", login)];
        server.ask(line, if login.is_empty() { &headers[..1] } else { &headers }, body).status
    };
    let all = "Bearer master password";
    let (eye, hand) = (basic("eye", "only looks"), basic("hand", "only writes"));
    let shop = basic("shop", "in its corner");
    assert_eq!(ask("PUT /v1/filters/f", all, b"{}"), 201);
    assert_eq!(ask("PUT /v1/filters/shop:1", &shop, b"{}"), 201);
    let items = br#"{"items":["a"]}"#;
    let from = br#"{"from":["f"]}"#;
    for (line, body, expected) in [
        // Without a login, and for eye, hand and shop.
        ("GET /v1/filters", &b""[..], [401, 200, 403, 200]),
        ("GET /v1/filters/f", b"", [401, 200, 403, 403]),
        ("GET /v1/filters/shop:1", b"", [401, 200, 403, 200]),
        ("GET /v1/filters/f/file", b"", [401, 200, 403, 403]),
        ("GET /metrics", b"", [401, 200, 403, 200]),
        ("POST /v1/filters/f/check", items, [401, 200, 403, 403]),
        ("POST /v1/filters/f/add", items, [401, 403, 200, 403]),
        ("POST /v1/filters/shop:1/add", items, [401, 403, 200, 200]),
        ("POST /v1/filters/shop:2/merge", from, [401, 403, 403, 403]),
        ("PUT /v1/filters/f", b"{}", [401, 403, 409, 403]),
        ("DELETE /v1/filters/none", b"", [401, 403, 404, 403]),
        ("GET /healthz", b"", [200, 200, 200, 200]),
        ("GET /readyz", b"", [200, 200, 200, 200]),
        ("GET /openapi.json", b"", [200, 200, 200, 200]),
    ] {
        for (login, expected) in ["", &eye, &hand, &shop].into_iter().zip(expected) {
            assert_eq!(ask(line, login, body), expected, "{line} {login}");
        }
    }
    let headers = [("Authorization", &*shop)];
    let list = server.ask("GET /v1/filters", &headers, b"").json();
    assert_eq!(list["filters"].as_array().unwrap().len(), 1, "{list}");
    let metrics = server.ask("GET /metrics", &headers, b"").text();
    assert!(metrics.contains("{filter=\"shop:1\"}") && !metrics.contains("{filter=\"f\"}"));
}

#[test]
fn wrong_passwords_are_refused_in_any_form() {
    let server = guarded();
    for login in [
        basic("eye", "only look"),
        basic("nobody", "only looks"),
        "Bearer master".into(),
        "Basic ???".into(),
        format!("Basic {}", STANDARD.encode("no colon")),
        "Digest x".into(),
        "Bearer".into(),
    ] {
        let answer = server.ask("GET /v1/filters", &[("Authorization", &*login)], b"");
        assert_eq!(answer.status, 401, "{login}");
        assert!(answer.header("www-authenticate").starts_with("Basic"));
        assert!(!answer.text().contains("master password"));
    }
    assert_eq!(server.shared.metrics.total(Counter::LoginsFailed), 3);
}

/// Names that break out of the text they are written into.
fn hostile_names() -> Vec<Vec<u8>> {
    let texts = [
        "<img src=x onerror=1>",
        "\"",
        "'",
        "\\",
        "a\"} 1\nmayhap_up 1",
        "\n",
        "\r\n\r\n",
        "\0",
        "../x",
        "/etc/passwd",
        "..",
        ".",
        "CON",
        "a/b",
        "%00",
        "%",
        "%2F",
        "?",
        "#",
        "&amp;",
        "{}",
        "{filter=\"x\"}",
        "\u{1B}[31m",
        "\u{202E}abc",
        "é",
        "🦀",
        " ",
        "a b",
        "*",
        "add",
        "$(reboot)",
        "`id`",
        "x'; DROP TABLE",
        "</script>",
        "\u{7F}",
        "\u{85}",
        "file",
    ];
    let mut names: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    names.extend([b"\xFF\xFE".to_vec(), b"a\xFFb".to_vec(), vec![b'x'; 4096], vec![0xF0; 64]]);
    names
}

fn encoded(name: &[u8]) -> String {
    name.iter().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"))
}

/// T13, T14: 30 hostile names and more, through every path.
#[test]
fn hostile_names_are_names_and_nothing_else() {
    let server =
        Server::start(Config { metrics_filters: 1000, max_name_bytes: 4096, ..Config::default() });
    let names = hostile_names();
    assert!(names.len() >= 40);
    for name in &names {
        let path = format!("/v1/filters/{}", encoded(name));
        let made = server.send(&format!("PUT {path}"), &json!({ "capacity": 10 }));
        assert_eq!(made.status, 201, "{name:?} {}", made.text());
        let added = server.send(&format!("POST {path}/add"), &json!({ "items": ["x"] })).json();
        assert_eq!(added["added"], 1, "{name:?}");
        let info = server.get(&path);
        let raw = String::from_utf8(info.body.clone()).unwrap();
        assert!(raw.trim_end().bytes().all(|byte| byte >= b' '), "{raw:?}");
        let info = info.json();
        let told = match info["name"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => STANDARD.decode(info["name_base64"].as_str().unwrap()).unwrap(),
        };
        assert_eq!(&told, name);
        // The reported path leads back.
        let told = info["path"].as_str().unwrap();
        assert_eq!(server.get(told).json()["items"], 1, "{told}");
    }
    assert_eq!(server.shared.keyspace.len(), names.len());
    let labels = check_metrics(&server.get("/metrics").text());
    let items = labels.iter().filter(|(family, _)| family == "mayhap_filter_items");
    assert_eq!(items.count(), names.len());
    for path in ["/v1/filters/", "/v1/filters/%", "/v1/filters/%4", "/v1/filters/%zz"] {
        assert!(matches!(server.get(path).status, 400 | 404), "{path}");
    }
    let long = encoded(&vec![b'x'; 20_000]);
    let config = Config { max_name_bytes: 10_000, ..Config::default() };
    assert_eq!(Server::start(config).get(&format!("/v1/filters/{long}")).status, 400);
}
