//! `mayhap ui`: the filters of a server over HTTP. The page itself is tested in a browser, by
//! `web/test/dashboard.test.mjs`.

use crate::places::Serve;
use crate::remote::{server, url};
use crate::support::{fail, folder, lines, mayhap, start_serving, succeed};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use test_servers::{ClusterOptions, RedisCluster, ready};

/// The command, ended when this is dropped.
struct Ui {
    child: Child,
    host: String,
}

impl Ui {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = mayhap(folder);
        command.args(["ui", "--http", "0"]).args(arguments);
        let (child, rest, mut stderr) = start_serving(command, "http://");
        let host = rest.trim_end_matches("/ui").to_owned();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, host }
    }

    /// The status and the body of an answer.
    fn ask(&self, request: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let host = [("Host", &*self.host)];
        let is_given = headers.iter().any(|(name, _)| *name == "Host");
        let host = if is_given { &[][..] } else { &host };
        let lines = host.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let (lines, length) = (lines.collect::<String>(), body.len());
        let head = format!(
            "{request} HTTP/1.1\r\nConnection: close\r\n{lines}\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-security-policy: default-src 'self'"), "{head}");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(&format!("GET {path}"), &[], "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn post(&self, path: &str, items: &[&str]) -> (u16, Value) {
        let json = [("Content-Type", "application/json")];
        let body = json!({ "items": items }).to_string();
        let (status, body) = self.ask(&format!("POST {path}"), &json, &body);
        (status, serde_json::from_str(&body).unwrap())
    }

    /// One event of the stream.
    fn event(&self, filters: &str) -> Value {
        let path = format!("GET /ui/events?events=1&filters={filters}");
        let (status, body) = self.ask(&path, &[], "");
        assert_eq!(status, 200, "{body}");
        let data = body.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        serde_json::from_str(data).unwrap()
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["filters"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect()
}

#[test]
fn filters_of_redis_are_listed_described_and_queried() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let folder = folder.path();
    let n = ["-n", "1000", "-p", "1%"];
    succeed(folder, &[&["create", "-q", &url(&redis, "seen"), "--lower"][..], &n].concat(), b"");
    let users = url(&redis, "users");
    succeed(folder, &[&["create", "-q", &users, "--format", "redisson"][..], &n].concat(), b"");
    succeed(folder, &["add", "-q", &url(&redis, "seen")], &lines("key", 0..300));
    succeed(folder, &["add", "-q", &users], &lines("key", 0..200));
    redis.cli(&["HSET", "{odd}:meta", "version", "9"]).unwrap();
    let ui = Ui::start(folder, &[&redis.url()]);
    let list = ui.get("/v1/filters");
    assert_eq!(names(&list), ["odd", "seen", "users"]);
    assert_eq!((&list["next"], &list["is_cut"]), (&Value::Null, &json!(false)));
    let page = ui.get("/v1/filters?limit=2&cursor=1");
    assert_eq!(names(&page), ["seen", "users"]);

    let event = ui.event("seen,users,odd,missing");
    assert_eq!(names(&event), ["seen", "users", "odd"]);
    let [seen, users, odd] = [0, 1, 2].map(|i| &event["filters"][i]);
    assert_eq!((&seen["kind"], &users["kind"]), (&json!("mayhap blocked"), &json!("redisson")));
    for (filter, added) in [(seen, 300.0), (users, 200.0)] {
        assert_eq!((&filter["capacity"], &filter["target_fpp"]), (&json!(1000), &json!(0.01)));
        let items = filter["items"].as_f64().unwrap();
        assert!((items / added - 1.0).abs() < 0.1, "{filter}");
        assert!(filter["expected_fpp"].as_f64().unwrap() < 0.01);
        assert_eq!(filter["fill_ratio"], Value::Null);
    }
    assert!(odd["problem"].as_str().unwrap().contains("version"), "{odd}");
    let server = &event["server"];
    assert_eq!(server["filters"], 3);
    assert_eq!(server["persistence"]["has_log"], true);
    assert!(server["keys"].as_u64().unwrap() >= 5 && server["num_bytes"].as_u64().unwrap() > 0);
    let measured = ui.get("/v1/filters/seen?measure=true");
    assert!((0.01..0.5).contains(&measured["fill_ratio"].as_f64().unwrap()), "{measured}");

    // Like the command line: the key option of one, the encoding of the other.
    for name in ["seen", "users"] {
        let path = format!("/v1/filters/{name}/check");
        let (status, answer) = ui.post(&path, &["key-1", "key-5", "never"]);
        assert_eq!((status, &answer), (200, &json!({ "present": [true, true, false] })));
    }
    let (_, answer) = ui.post("/v1/filters/seen/check", &["KEY-1"]);
    assert_eq!(answer["present"], json!([true]));
    let (status, answer) = ui.post("/v1/filters/seen/add", &["new"]);
    assert_eq!(status, 403, "{answer}");
    assert_eq!(ui.ask("GET /v1/filters/missing", &[], "").0, 404);
    assert!(ui.get("/ui/clients").as_array().unwrap().iter().any(|c| c["user"] == "default"));
    assert!(ui.get("/ui/slow").is_array());
    assert!(ui.ask("GET /ui", &[], "").1.contains("/ui/main.js"));

    let ui = Ui::start(folder, &["--allow-add", &redis.url()]);
    let (status, answer) = ui.post("/v1/filters/seen/add", &["New", "key-1"]);
    assert_eq!((status, &answer), (200, &json!({ "new": [true, false] })));
    assert_eq!(succeed(folder, &["check", &url(&redis, "seen")], b"new\n"), b"new\n");
}

#[test]
fn only_pages_of_this_machine_are_answered() {
    let Some(redis) = server() else { return };
    let folder = folder();
    let ui = Ui::start(folder.path(), &["--allow-add", &redis.url()]);
    let get = "GET /v1/filters";
    for host in ["evil.example", "user@127.0.0.1", "10.0.0.1", "127.0.0.1.evil.example"] {
        assert_eq!(ui.ask(get, &[("Host", host)], "").0, 421, "{host}");
    }
    for host in ["localhost:1", "127.0.0.1", "[::1]:80"] {
        assert_eq!(ui.ask(get, &[("Host", host)], "").0, 200, "{host}");
    }
    let post = |headers: &[(&str, &str)]| {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        ui.ask("POST /v1/filters/x/add", &all, r#"{"items":["a"]}"#).0
    };
    assert_eq!(post(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(post(&[("Sec-Fetch-Site", "cross-site")]), 403);
    let own = format!("http://{}", ui.host);
    // The filter does not exist; the caller was admitted.
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 502);
    let text = [("Content-Type", "text/plain")];
    let (status, body) = ui.ask("POST /v1/filters/x/add", &text, r#"{"items":["a"]}"#);
    assert_eq!(status, 415, "{body}");
    let many = vec!["a"; 10_001];
    assert_eq!(ui.post("/v1/filters/x/add", &many).0, 400);
    assert_eq!(ui.ask("GET /ui/events?filters=%25FF", &[], "").0, 400);
    // Errors are JSON, of queries too, and repeat little.
    let long = format!("GET /v1/filters?{}=1", "x".repeat(5000));
    for request in
        ["GET /v1/filters?limit=-1", "GET /ui/events?what=1", "GET /v1/filters/x?measure=1", &long]
    {
        let (status, body) = ui.ask(request, &[], "");
        let error: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
        assert_eq!((status, error["error"].is_string()), (400, true), "{body}");
        assert!(body.len() < 1200, "{} bytes", body.len());
    }
    assert_eq!(ui.ask(&format!("GET /ui/events?filters={}", "a,".repeat(101)), &[], "").0, 400);
}

#[test]
fn filters_behind_commands_and_in_clusters_are_shown_too() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    succeed(folder, &["create", "-q", &serve.url("f"), "-n", "1000", "-p", "1%"], b"");
    succeed(folder, &["add", "-q", &serve.url("f")], &lines("key", 0..100));
    let ui = Ui::start(folder, &[&format!("redis://127.0.0.1:{}", serve.port())]);
    let event = ui.event("f");
    let filter = &event["filters"][0];
    assert!(filter["kind"].as_str().unwrap().starts_with("bf "), "{filter}");
    assert_eq!(filter["items"], 100.0);
    assert_eq!(names(&ui.get("/v1/filters")), ["f"]);
    assert_eq!(ui.post("/v1/filters/f/check", &["key-1"]).1["present"], json!([true]));

    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let options = ClusterOptions { masters: 3, replicas: 0, ..ClusterOptions::default() };
    let cluster = RedisCluster::start(&options).unwrap();
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let at = format!("redis+cluster://{}", hosts.join(","));
    for name in ["a", "b", "c"] {
        let url = format!("{at}/{name}");
        succeed(folder, &["create", "-q", &url, "-n", "1000", "-p", "1%"], b"");
    }
    let ui = Ui::start(folder, &[&at]);
    assert_eq!(names(&ui.get("/v1/filters")), ["a", "b", "c"]);
    assert_eq!(ui.event("a")["server"]["nodes"], 3);
    // The command that the page shows for copying works.
    let pull = ui.get("/v1/filters/a")["pull"].as_str().unwrap().to_owned();
    let url = pull.strip_prefix("mayhap pull ").unwrap();
    succeed(folder, &["pull", "-q", url, "copy.mayhap"], b"");
}

#[test]
fn a_server_is_named_and_not_a_filter() {
    let folder = folder();
    let said = fail(folder.path(), &["ui", "redis://127.0.0.1:1/0/seen"], b"");
    assert!(said.contains("names a filter, not the server alone"), "{said}");
    let said = fail(folder.path(), &["ui", "seen.mayhap"], b"");
    assert!(said.contains("is not the URL of a server"), "{said}");
}
