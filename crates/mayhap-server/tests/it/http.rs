//! The answers of HTTP for the same filters.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::{DigestFunction, SecretKey};
use mayhap_engine::durable::{self, DataFolder, Log, Policy};
use mayhap_engine::keyspace::{Keyspace, Options, Recovery};
use mayhap_server::Shared;
use mayhap_server::config::Config;
use mayhap_server::http::Http;
use mayhap_server::metrics::Counter;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

const KEY: SecretKey = SecretKey::new([7; 16]);

/// Sends bytes as they are and reads until the server closes.
fn raw(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that refuses at once may have closed already.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The answer to one request.
pub(crate) fn ask(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut request = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        let _ = write!(request, "Host: {address}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    let _ = write!(request, "Content-Length: {}\r\n\r\n", body.len());
    Answer::parse(&raw(address, &[request.as_bytes(), body].concat()))
}

/// A server with HTTP only.
pub(crate) struct Server {
    http: Option<Http>,
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn start(config: Config) -> Self {
        let max_name_bytes = config.max_name_bytes as usize;
        let options = Options { max_name_bytes, ..Options::new(KEY) };
        Self::with(config, Keyspace::new(options), None)
    }

    fn with(mut config: Config, keyspace: Keyspace, log: Option<Arc<Log>>) -> Self {
        config.http_port = Some(0);
        let shared = Shared::new(config, keyspace, log);
        let http = Http::start(shared.clone(), 512).unwrap();
        Self { address: http.addresses()[0], http: Some(http), shared }
    }

    pub(crate) fn limited(max_filter_bytes: u64) -> Self {
        let options = Options { max_filter_bytes, ..Options::new(KEY) };
        Self::with(Config::default(), Keyspace::new(options), None)
    }

    pub(crate) fn plain() -> Self {
        Self::start(Config::default())
    }

    /// Sends bytes as they are and reads until the server closes.
    pub(crate) fn raw(&self, request: &[u8]) -> Vec<u8> {
        raw(self.address, request)
    }

    pub(crate) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        ask(self.address, line, headers, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[], b"")
    }

    pub(crate) fn send(&self, line: &str, body: &Value) -> Answer {
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
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
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

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {:?}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

#[test]
fn a_filter_is_made_filled_asked_listed_and_removed() {
    let server = Server::plain();
    let made =
        server.send("PUT /v1/filters/seen", &json!({ "capacity": 1000, "target_fpp": 0.001 }));
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!((&made["name"], &made["capacity"]), (&json!("seen"), &json!(1000)));
    assert_eq!((&made["target_fpp"], &made["keyed"]), (&json!(0.001), &json!(true)));
    let again = server.send("PUT /v1/filters/seen", &json!({}));
    assert_eq!(again.status, 409, "{again:?}");
    let items = json!({ "items": ["a", "b", "a"] });
    let added = server.send("POST /v1/filters/seen/add", &items).json();
    assert_eq!(added, json!({ "new": [true, true, false], "added": 2 }));
    let base64 = json!({ "items_base64": [STANDARD.encode(b"a"), STANDARD.encode(b"\xFF\0")] });
    let checked = server.send("POST /v1/filters/seen/check", &base64).json();
    assert_eq!(checked, json!({ "present": [true, false], "found": 1 }));
    let total = |counter| server.shared.metrics.total(counter);
    assert_eq!((total(Counter::ItemsFound), total(Counter::ItemsAbsent)), (1, 1));
    let info = server.get("/v1/filters/seen?measure=true").json();
    assert_eq!((&info["items"], &info["kind"]), (&json!(2), &json!("scalable")));
    assert!(info["fill_ratio"].as_f64().unwrap() > 0.0, "{info}");
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
fn a_full_filter_reports_how_many_items_were_inserted() {
    let server = Server::plain();
    let body = json!({ "capacity": 3, "fixed": true });
    assert_eq!(server.send("PUT /v1/filters/few", &body).status, 201);
    let items: Vec<String> = (0..50).map(|i| format!("item {i}")).collect();
    let full = server.send("POST /v1/filters/few/add", &json!({ "items": items }));
    assert_eq!(full.status, 409, "{full:?}");
    let error = full.json()["error"].to_string();
    assert!(error.contains("full") && error.contains("3 items before it"), "{error}");
    let again = server.send("POST /v1/filters/few/add", &json!({ "items": [items[0], "other"] }));
    let error = again.json()["error"].to_string();
    assert!(error.contains("; the item before it was added, or was there"), "{error}");
    let none = server.send("POST /v1/filters/few/add", &json!({ "items": ["other"] }));
    assert!(none.json()["error"].to_string().contains("; no item was added"), "{none:?}");
    // Of 53 items the refused ones are not among the added ones.
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("\nmayhap_items_added_total 4\n"), "{metrics}");
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
fn a_filter_is_downloaded_as_a_file_and_uploaded_again() {
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

    // Nothing is left of a file that is damaged, cut, too long or not a filter.
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
        json!({ "target_fpp": 0 }),
        json!({ "target_fpp": 1 }),
        json!({ "target_fpp": -0.1 }),
        json!({ "target_fpp": "1%" }),
        json!({ "fixed": true, "expansion": 2 }),
        json!({ "expansion": 32_769 }),
        json!({ "capcity": 1 }),
    ] {
        assert_eq!(server.send("PUT /v1/filters/g", &body).status, 400, "{body}");
    }
    let huge =
        server.send("PUT /v1/filters/g", &json!({ "capacity": 1u64 << 60, "target_fpp": 1e-9 }));
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
pub(crate) fn kept(folder: &Path, policy: Policy) -> Server {
    let options = Options::new(KEY);
    let recovery = Recovery::new(options);
    let mut settings = durable::Options::new(DigestFunction::sip13(KEY));
    settings.policy = policy;
    let folder = DataFolder::open(folder).unwrap();
    let (log, report) = Log::open(folder, settings, &recovery, &|_| ()).unwrap();
    let keyspace = recovery.finish(report.next_id).unwrap();
    Server::with(Config::default(), keyspace, Some(log))
}

#[test]
fn acknowledged_changes_are_there_after_a_restart() {
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
