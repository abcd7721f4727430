//! The same filters for people: what is answered, and who is not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::{DigestFunction, SecretKey};
use mayhap_server::Shared;
use mayhap_server::config::{Config, Rights, Users, hash_password};
use mayhap_server::durable::{self, DataFolder, Log, Policy};
use mayhap_server::http::Http;
use mayhap_server::keyspace::{Keyspace, Options, Recovery};
use mayhap_server::metrics::Metrics;
use mayhap_server::net::Clients;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

const KEY: SecretKey = SecretKey::new([7; 16]);

/// A server of HTTP alone.
struct Server {
    http: Option<Http>,
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    fn start(config: Config) -> Self {
        Self::with(config, Keyspace::new(Options::new(KEY)), None)
    }

    fn with(mut config: Config, keyspace: Keyspace, log: Option<Arc<Log>>) -> Self {
        config.http_port = Some(0);
        let (metrics, clients) = (Metrics::new(1), Clients::default());
        let shared = Arc::new(Shared { config, keyspace, log, metrics, clients });
        let http = Http::start(shared.clone()).unwrap();
        Self { address: http.address(), http: Some(http), shared }
    }

    fn plain() -> Self {
        Self::start(Config::default())
    }

    /// Sends bytes as they are and reads until the server closes.
    fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // A server that refuses at once may have closed already.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn ask(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Length: {}\r\n\r\n", body.len());
        Answer::parse(&self.raw(&[request.as_bytes(), body].concat()))
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[], b"")
    }

    fn send(&self, line: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.ask(line, &[("Content-Type", "application/json")], body.as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(http) = self.http.take() {
            http.stop();
        }
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let shown = String::from_utf8_lossy(bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {shown:?}"));
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let headers: Vec<_> = lines.map(header).collect();
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {:?}", String::from_utf8_lossy(&self.body)))
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

#[test]
fn a_filter_is_made_filled_asked_listed_and_removed() {
    let server = Server::plain();
    let made = server.send("PUT /v1/filters/seen", &json!({ "capacity": 1000, "error": 0.001 }));
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!((&made["name"], &made["capacity"]), (&json!("seen"), &json!(1000)));
    assert_eq!((&made["error"], &made["keyed"]), (&json!(0.001), &json!(true)));
    let again = server.send("PUT /v1/filters/seen", &json!({}));
    assert_eq!(again.status, 409, "{again:?}");
    let items = json!({ "items": ["a", "b", "a"] });
    let added = server.send("POST /v1/filters/seen/add", &items).json();
    assert_eq!(added, json!({ "new": [true, true, false], "added": 2 }));
    let base64 = json!({ "items_base64": [STANDARD.encode(b"a"), STANDARD.encode(b"\xFF\0")] });
    let checked = server.send("POST /v1/filters/seen/check", &base64).json();
    assert_eq!(checked, json!({ "present": [true, false], "found": 1 }));
    let info = server.get("/v1/filters/seen?measure=true").json();
    assert_eq!((&info["items"], &info["kind"]), (&json!(2), &json!("growing")));
    assert!(info["fill"].as_f64().unwrap() > 0.0, "{info}");
    assert_eq!(server.get("/v1/filters").json()["filters"][0]["path"], "/v1/filters/seen");
    assert_eq!(server.ask("DELETE /v1/filters/seen", &[], b"").status, 204);
    for (line, body) in [
        ("GET /v1/filters/seen", Value::Null),
        ("DELETE /v1/filters/seen", Value::Null),
        ("POST /v1/filters/seen/add", items.clone()),
        ("POST /v1/filters/seen/check", items),
        ("GET /v1/filters/seen/file", Value::Null),
    ] {
        assert_eq!(server.send(line, &body).status, 404, "{line}");
    }
}

#[test]
fn a_list_has_pages_and_every_filter_once() {
    let server = Server::plain();
    for i in 0..25 {
        let body = json!({ "capacity": 100 });
        assert_eq!(server.send(&format!("PUT /v1/filters/f:{i}"), &body).status, 201);
    }
    let (mut names, mut cursor) = (Vec::new(), json!(0));
    while !cursor.is_null() {
        let page = server.get(&format!("/v1/filters?limit=10&cursor={cursor}")).json();
        assert!(page["filters"].as_array().unwrap().len() <= 10);
        names.extend(page["filters"].as_array().unwrap().iter().map(|it| it["name"].to_string()));
        cursor = page["next"].clone();
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 25);
    let some = server.get("/v1/filters?match=f:1?").json();
    assert_eq!(some["filters"].as_array().unwrap().len(), 10);
}

#[test]
fn a_full_filter_says_so_and_how_far_it_came() {
    let server = Server::plain();
    let body = json!({ "capacity": 3, "fixed": true });
    assert_eq!(server.send("PUT /v1/filters/few", &body).status, 201);
    let items: Vec<String> = (0..50).map(|i| format!("item {i}")).collect();
    let full = server.send("POST /v1/filters/few/add", &json!({ "items": items }));
    assert_eq!(full.status, 409, "{full:?}");
    let error = full.json()["error"].to_string();
    assert!(error.contains("full") && error.contains("3 items before it"), "{error}");
    let checked = server.send("POST /v1/filters/few/check", &json!({ "items": &items[..3] }));
    assert_eq!(checked.json()["found"], 3);
}

#[test]
fn filters_are_united_and_unlike_ones_are_not() {
    let server = Server::plain();
    for (name, keyed, item) in [("a", true, "1"), ("b", true, "2"), ("c", false, "3")] {
        let made = server.send(&format!("PUT /v1/filters/{name}"), &json!({ "keyed": keyed }));
        assert_eq!(made.status, 201);
        let added = server.send(&format!("POST /v1/filters/{name}/add"), &json!({"items": [item]}));
        assert_eq!(added.json()["added"], 1);
    }
    let united = server.send("POST /v1/filters/all/merge", &json!({ "from": ["a", "b"] }));
    assert_eq!(united.status, 201, "{united:?}");
    let items = json!({ "items": ["1", "2", "3"] });
    let checked = server.send("POST /v1/filters/all/check", &items).json();
    assert_eq!(checked["present"], json!([true, true, false]));
    let unlike = server.send("POST /v1/filters/no/merge", &json!({ "from": ["a", "c"] }));
    assert_eq!(unlike.status, 400, "{unlike:?}");
    let absent = server.send("POST /v1/filters/no/merge", &json!({ "from": ["a", "zzz"] }));
    assert_eq!(absent.status, 404);
    assert_eq!(server.get("/v1/filters/no").status, 404);
}

#[test]
fn a_filter_goes_out_as_a_file_and_comes_back() {
    let server = Server::plain();
    assert_eq!(server.send("PUT /v1/filters/a", &json!({ "capacity": 2_000_000 })).status, 201);
    let items: Vec<String> = (0..1000).map(|i| format!("key-{i}")).collect();
    server.send("POST /v1/filters/a/add", &json!({ "items": items }));
    let file = server.get("/v1/filters/a/file");
    assert_eq!((file.status, file.header("content-type")), (200, "application/octet-stream"));
    assert!(file.body.len() > 1 << 20, "more than a piece");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mayhap");
    std::fs::write(&path, &file.body).unwrap();
    mayhap_store::verify(&path).unwrap();

    let kind = [("Content-Type", "application/octet-stream")];
    let back = server.ask("PUT /v1/filters/b/file", &kind, &file.body);
    assert_eq!(back.status, 201, "{:?}", back.text());
    assert_eq!(back.json()["items"], 1000);
    let checked = server.send("POST /v1/filters/b/check", &json!({ "items": items })).json();
    assert_eq!(checked["found"], 1000);
    assert_eq!(server.ask("PUT /v1/filters/b/file", &kind, &file.body).status, 409);

    // Nothing of a file that is damaged, cut, longer or no filter stays.
    let mut damaged = file.body.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let longer = [&file.body[..], b"x"].concat();
    for (what, bytes) in [
        ("damaged", damaged.as_slice()),
        ("cut", &file.body[..file.body.len() - 1]),
        ("a header alone", &file.body[..4096]),
        ("half a header", &file.body[..100]),
        ("empty", b""),
        ("no filter", &[b'x'; 10_000]),
    ] {
        let refused = server.ask("PUT /v1/filters/c/file", &kind, bytes);
        assert_eq!(refused.status, 400, "{what}: {}", refused.text());
        assert_eq!(server.get("/v1/filters/c").status, 404, "{what}");
    }
    assert_eq!(server.ask("PUT /v1/filters/d/file", &kind, &longer).status, 400);
    let wrong = server.ask("PUT /v1/filters/c/file", &[("Content-Type", "text/plain")], b"");
    assert_eq!(wrong.status, 415);
}

/// T14: pages of other sites, and names that are bound to our address.
#[test]
fn foreign_hosts_origins_and_forms_are_refused() {
    let mut config = Config::default();
    config.http_hosts = vec!["filters.example.org".into()];
    let server = Server::start(config);
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
fn guarded() -> Server {
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

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[test]
fn every_path_asks_for_the_right_that_it_needs() {
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
        // For nobody, eye, hand and shop.
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
fn wrong_passwords_are_refused_whatever_their_form() {
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
    use mayhap_server::metrics::Counter;
    assert_eq!(server.shared.metrics.total(Counter::LoginsFailed), 3);
}

/// Names that break out of whatever they are written into.
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
    name.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// T13, T14: 30 hostile names and more, through every path.
#[test]
fn hostile_names_are_names_and_nothing_else() {
    let server = Server::start(Config { metrics_filters: 1000, ..Config::default() });
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
        // The path that is told leads back.
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

/// Reads the page as Prometheus does; the families and filters of its lines.
fn check_metrics(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut declared = std::collections::BTreeSet::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(declared.insert(name.to_owned()), "twice: {line}");
            assert!(kind != "counter" || name.ends_with("_total"), "{line}");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
        value.parse::<f64>().unwrap_or_else(|_| panic!("{line:?}"));
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line:?}");
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let is_known = declared.contains(name) || base.is_some_and(|base| declared.contains(base));
        assert!(is_known && name.starts_with("mayhap_"), "{line:?}");
        let filter = labels.strip_prefix("filter=\"").map(|rest| {
            let rest = rest.strip_suffix("\"}").unwrap_or_else(|| panic!("{line:?}"));
            let plain = rest.replace("\\\\", "").replace("\\\"", "").replace("\\n", "");
            assert!(!plain.contains(['"', '\\']), "{line:?}");
            rest.to_owned()
        });
        found.push((name.to_owned(), filter.unwrap_or_default()));
    }
    found.sort();
    let count = found.len();
    let series = page.lines().filter(|line| !line.starts_with('#'));
    let series: std::collections::BTreeSet<&str> =
        series.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(series.len(), count, "a series stands twice");
    found
}

#[test]
fn metrics_count_what_was_done_and_tell_few_filters() {
    let server = Server::start(Config { metrics_filters: 2, ..Config::default() });
    for name in ["a", "b", "c"] {
        server.send(&format!("PUT /v1/filters/{name}"), &json!({ "capacity": 1000 }));
    }
    server.send("POST /v1/filters/a/add", &json!({ "items": ["1", "2", "2"] }));
    server.send("POST /v1/filters/a/check", &json!({ "items": ["1", "9"] }));
    server.get("/none");
    let page = server.get("/metrics").text();
    let told = check_metrics(&page);
    assert_eq!(told.iter().filter(|(name, _)| name == "mayhap_filter_items").count(), 2);
    for line in [
        "mayhap_filters 3",
        "mayhap_filters_told 2",
        "mayhap_items_added_total 3",
        "mayhap_items_checked_total 2",
        "mayhap_commands_total{family=\"write\"} 1",
        "mayhap_filter_items{filter=\"a\"} 2",
        "mayhap_filter_capacity{filter=\"a\"} 1000",
        "mayhap_http_errors_total 1",
        "mayhap_http_requests_total 6",
        "mayhap_writable 1",
        "mayhap_http_request_seconds_count 6",
        "mayhap_http_request_seconds_bucket{le=\"+Inf\"} 6",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}\nnot in\n{page}");
    }
}

#[test]
fn bodies_that_are_not_as_they_should_be_are_refused_and_change_nothing() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    for body in [
        &b""[..],
        b"{",
        b"[]",
        b"null",
        b"{\"items\":[1]}",
        b"{\"items\":\"a\"}",
        b"{}",
        b"{\"items\":[],\"items_base64\":[]}",
        b"{\"items_base64\":[\"*\"]}",
        b"{\"items\":[\"a\"],\"x\":1}",
        b"{\"items\":[\"\xFF\"]}",
        b"{\"items\":[\"a\"]} x",
        b"{\"items\":[\"a\"],\"items\":[\"b\"]}",
    ] {
        let json_type = [("Content-Type", "application/json")];
        let answer = server.ask("POST /v1/filters/f/add", &json_type, body);
        assert_eq!(answer.status, 400, "{:?}", String::from_utf8_lossy(body));
    }
    for body in [
        json!({ "capacity": 0 }),
        json!({ "capacity": -1 }),
        json!({ "capacity": 1.5 }),
        json!({ "error": 0 }),
        json!({ "error": 1 }),
        json!({ "error": -0.1 }),
        json!({ "error": "1%" }),
        json!({ "fixed": true, "expansion": 2 }),
        json!({ "expansion": 0 }),
        json!({ "expansion": 32_769 }),
        json!({ "capcity": 1 }),
    ] {
        assert_eq!(server.send("PUT /v1/filters/g", &body).status, 400, "{body}");
    }
    let huge = server.send("PUT /v1/filters/g", &json!({ "capacity": 1u64 << 60, "error": 1e-9 }));
    assert!(matches!(huge.status, 400 | 507), "{huge:?}");
    let large = vec![b' '; (8 << 20) + 1];
    let json_type = [("Content-Type", "application/json")];
    assert_eq!(server.ask("POST /v1/filters/f/add", &json_type, &large).status, 413);
    assert_eq!(server.get("/v1/filters").json()["filters"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/v1/filters/f").json()["items"], 0);
    let method = server.ask("PATCH /v1/filters/f", &json_type, b"{}");
    assert_eq!((method.status, method.header("content-type")), (405, "application/json"));
}

/// A server that keeps its filters in this folder.
fn kept(folder: &Path, policy: Policy) -> Server {
    let options = Options::new(KEY);
    let recovery = Recovery::new(options);
    let mut settings = durable::Options::new(DigestFunction::sip13(KEY));
    settings.policy = policy;
    let folder = DataFolder::open(folder).unwrap();
    let (log, report) = Log::open(folder, settings, &recovery, &|_| ()).unwrap();
    let keyspace = Keyspace::restored(recovery, report.next_id).unwrap();
    Server::with(Config::default(), keyspace, Some(log))
}

#[test]
fn what_was_answered_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    {
        let server = kept(folder.path(), Policy::No);
        server.send("PUT /v1/filters/a", &json!({}));
        server.send("PUT /v1/filters/gone", &json!({}));
        server.ask("DELETE /v1/filters/gone", &[], b"");
        let added = server.send("POST /v1/filters/a/add", &json!({ "items": ["1", "2"] }));
        assert_eq!(added.json()["added"], 2);
        let united = server.send("POST /v1/filters/b/merge", &json!({ "from": ["a"] }));
        assert_eq!(united.status, 201);
    }
    let server = kept(folder.path(), Policy::No);
    for name in ["a", "b"] {
        let line = format!("POST /v1/filters/{name}/check");
        let checked = server.send(&line, &json!({ "items": ["1", "2", "3"] })).json();
        assert_eq!(checked["present"], json!([true, true, false]), "{name}");
    }
    assert_eq!(server.get("/v1/filters/gone").status, 404);
}

#[test]
fn a_log_that_takes_nothing_makes_us_unready_and_reads_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = kept(folder.path(), Policy::No);
    server.send("PUT /v1/filters/a", &json!({}));
    let items = json!({ "items": ["1"] });
    server.send("POST /v1/filters/a/add", &items);
    assert_eq!(server.get("/readyz").status, 200);
    server.shared.log.as_ref().unwrap().close().unwrap();
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/healthz").status, 200);
    for line in ["PUT /v1/filters/b", "DELETE /v1/filters/a"] {
        assert_eq!(server.send(line, &json!({})).status, 503, "{line}");
    }
    let refused = server.send("POST /v1/filters/a/add", &json!({ "items": ["2"] }));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(server.send("POST /v1/filters/a/check", &items).json()["found"], 1);
    assert!(server.get("/metrics").text().contains("\nmayhap_writable 0\n"));
}

/// The path `/v1/filters/{name}` that a request line has.
fn described(line: &str) -> (String, String) {
    let (method, path) = line.split_once(' ').unwrap();
    let path = path.split('?').next().unwrap();
    let mut segments: Vec<&str> = path.split('/').collect();
    if segments.len() > 3 && segments[2] == "filters" {
        segments[3] = "{name}";
    }
    (method.to_ascii_lowercase(), segments.join("/"))
}

/// The examples of `docs/http.md`, in order, against one server; and the description has each.
#[test]
fn the_page_and_the_description_say_what_the_server_does() {
    let server = Server::plain();
    let description = server.get("/openapi.json").json();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/http.md")).unwrap();
    let mut ran = std::collections::BTreeSet::new();
    for block in page.split("```http\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (request, expected) = block.split_once("\n\n").unwrap();
        let (line, body) = request.split_once('\n').unwrap_or((request, ""));
        let headers: &[_] =
            if body.is_empty() { &[] } else { &[("Content-Type", "application/json")] };
        let answer = server.ask(line, headers, body.as_bytes());
        let (status, wanted) = expected.split_once('\n').unwrap_or((expected, ""));
        let status: u16 = status.split(' ').next().unwrap().trim().parse().unwrap();
        assert_eq!(answer.status, status, "{line}: {}", answer.text());
        if wanted.trim_start().starts_with('{') {
            let (wanted, found): (Value, _) =
                (serde_json::from_str(wanted).unwrap(), answer.json());
            for (key, value) in wanted.as_object().unwrap() {
                assert_eq!(&found[key], value, "{line}: {key} in {found}");
            }
        } else {
            let text = String::from_utf8_lossy(&answer.body);
            wanted.lines().for_each(|wanted| assert!(text.contains(wanted), "{wanted}: {text}"));
        }
        let (method, path) = described(line);
        let operation = &description["paths"][&path][&method];
        assert!(operation["responses"][status.to_string()].is_object(), "{line} {status}");
        ran.insert((method, path));
    }
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let has = ran.contains(&(method.clone(), path.clone())) || method == "parameters";
            let is_upload = operation["operationId"] == "upload";
            assert!(has || is_upload, "{method} {path} has no example in docs/http.md");
        }
    }
}
