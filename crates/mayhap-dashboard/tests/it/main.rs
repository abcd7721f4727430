//! The dashboard of a Redis server, as a browser sees it.
#![cfg(feature = "remote")]

use mayhap::DigestFunction;
use mayhap_dashboard::caller::HEADERS;
use mayhap_dashboard::files::FILES;
use mayhap_dashboard::remote::{Dashboard, Options};
use mayhap_keys::KeyOptions;
use mayhap_redis::{Address, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use test_servers::{RedisOptions, RedisServer, ready};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server with filters, and the page in front of it.
struct Page {
    address: SocketAddr,
    server: Server,
    _redis: RedisServer,
}

/// An answer: its status, its head in lower case, and its body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}{}", self.head, self.body))
    }
}

impl Page {
    /// With filters of these names, and key options.
    async fn start(names: &[(&str, KeyOptions)], may_add: bool) -> Option<Self> {
        if !ready(&["redis-server"]) {
            return None;
        }
        let redis = RedisServer::start(&RedisOptions::default()).unwrap();
        let address = Address::parse(&redis.url()).unwrap();
        let server = Server::connect(&address, ServerOptions::default()).await.unwrap();
        for (name, key_options) in names {
            let ttl = (*name == "short").then(|| Duration::from_secs(1_000));
            let key_options = key_options.to_header();
            let options = NativeOptions::for_items(1_000, 1e-6).unwrap();
            let options = NativeOptions { key_options, ttl, ..options };
            NativeFilter::create(&server, name, &options).await.unwrap();
        }
        let options = Options { may_add, url: redis.url(), ..Options::default() };
        let dashboard = Dashboard::bind(server.clone(), options).await.unwrap();
        let address = dashboard.address();
        tokio::spawn(dashboard.serve(std::future::pending()));
        Some(Self { address, server, _redis: redis })
    }

    async fn send(&self, request: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let length = body.len();
        let request = format!(
            "{request} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\n\
             {headers}\r\n{body}",
            self.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.into() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), "", "").await
    }

    async fn post(&self, path: &str, items: &[&str]) -> Answer {
        let body = json!({ "items": items }).to_string();
        self.send(&format!("POST {path}"), "content-type: application/json\r\n", &body).await
    }

    async fn filter(&self, name: &str) -> NativeFilter {
        NativeFilter::attach(&self.server, name, None).await.unwrap()
    }
}

fn plain<const N: usize>(names: [&str; N]) -> [(&str, KeyOptions); N] {
    names.map(|name| (name, KeyOptions::default()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_comes_in_pages_that_leave_none_out() {
    let Some(page) = Page::start(&plain(["a", "b", "c", "d", "e"]), false).await else { return };
    let list = async |query: &str| {
        let answer = page.get(&format!("/v1/filters{query}")).await.json();
        let names = answer["filters"].as_array().unwrap().iter();
        let names: String = names.map(|filter| filter["name"].as_str().unwrap()).collect();
        (names, answer["next"].as_u64())
    };
    for (query, names, next) in [
        ("", "abcde", None),
        ("?limit=2", "ab", Some(2)),
        ("?cursor=2&limit=2", "cd", Some(4)),
        ("?cursor=4&limit=2", "e", None),
        ("?cursor=3&limit=2", "de", None),
        ("?cursor=99", "", None),
        // A page has one row at least, or it would lead to itself.
        ("?limit=0", "a", Some(1)),
    ] {
        assert_eq!(list(query).await, (names.to_owned(), next), "{query}");
    }
    for query in ["?limit=-1", "?cursor=x", "?page=1"] {
        assert_eq!(page.get(&format!("/v1/filters{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_added_only_where_that_was_allowed_and_are_found_then() {
    let Some(page) = Page::start(&plain(["seen"]), false).await else { return };
    let refused = page.post("/v1/filters/seen/add", &["a"]).await;
    assert_eq!(refused.status, 403);
    let present = page.post("/v1/filters/seen/check", &["a", "b"]).await.json();
    assert_eq!(present, json!({ "present": [false, false] }));
    let page = Page::start(&plain(["seen"]), true).await.unwrap();
    let new = page.post("/v1/filters/seen/add", &["a", "b", "a"]).await.json();
    assert_eq!(new, json!({ "new": [true, true, false] }));
    let present = page.post("/v1/filters/seen/check", &["c", "b", "a"]).await.json();
    assert_eq!(present, json!({ "present": [false, true, true] }));
    assert_eq!(page.post("/v1/filters/none/check", &["a"]).await.status, 502);
    assert_eq!(
        page.send("POST /v1/filters/seen/add", "", "{\"items\": [\"x\"]}").await.status,
        415
    );
    let of_other = "content-type: application/json\r\norigin: http://evil.example\r\n";
    let answer = page.send("POST /v1/filters/seen/add", of_other, "{\"items\": [\"x\"]}").await;
    assert_eq!(answer.status, 403);
    let present = page.post("/v1/filters/seen/check", &["x"]).await.json();
    assert_eq!(present, json!({ "present": [false] }));
}

/// A text may have several keys: one of them is enough, wherever it stands among them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_is_present_if_any_of_its_expressions_is() {
    let urls = KeyOptions { url_prefixes: true, ..KeyOptions::default() };
    let all = ["0", "1", "2", "3"].map(|name| (name, urls.clone()));
    let Some(page) = Page::start(&all, false).await else { return };
    for (name, expression) in ["a.x.org/p", "a.x.org/", "x.org/p", "x.org/"].iter().enumerate() {
        let filter = page.filter(&name.to_string()).await;
        filter.insert(expression.as_bytes()).await.unwrap();
        let texts = ["y.org/", "http://a.x.org/p", "http://z.org/"];
        let present = page.post(&format!("/v1/filters/{name}/check"), &texts).await.json();
        assert_eq!(present, json!({ "present": [false, true, false] }), "{expression}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_are_those_of_the_filter_and_all_bits_are_counted_only_if_asked() {
    let Some(page) = Page::start(&plain(["long", "short"]), false).await else { return };
    let filter = page.filter("long").await;
    let digest = |number: u64| DigestFunction::default().digest(&number);
    filter.insert_digests(&(0..500).map(digest).collect::<Vec<_>>()).await.unwrap();
    let (glance, all) = ("/v1/filters/long", "/v1/filters/long?measure=true");
    let (glance, all) = (page.get(glance).await.json(), page.get(all).await.json());
    let info = filter.info().await.unwrap();
    for numbers in [&glance, &all] {
        assert_eq!(
            (&numbers["name"], &numbers["kind"]),
            (&json!("long"), &json!("mayhap blocked"))
        );
        assert_eq!((&numbers["capacity"], &numbers["target_fpp"]), (&json!(1_000), &json!(1e-6)));
        assert_eq!(numbers["num_bytes"], json!(info.num_bytes));
        assert!((numbers["items"].as_f64().unwrap() - 500.0).abs() < 20.0, "{numbers}");
        assert_eq!(numbers["expires_at"], Value::Null);
        assert!(numbers["pull"].as_str().unwrap().ends_with("/long"), "{numbers}");
    }
    assert_eq!((&glance["fill_ratio"], &glance["estimated_fpp"]), (&Value::Null, &Value::Null));
    let fill = info.count_ones as f64 / info.num_bits as f64;
    assert!((all["fill_ratio"].as_f64().unwrap() / fill - 1.0).abs() < 1e-9, "{all}");
    let off = all["estimated_fpp"].as_f64().unwrap() / info.estimated_fpp - 1.0;
    assert!(off.abs() < 1e-9, "{all}");
    let short = page.get("/v1/filters/short").await.json();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let left = short["expires_at"].as_u64().unwrap() - now;
    assert!((900_000..=1_000_000).contains(&left), "{left} ms");
    assert_eq!(page.get("/v1/filters/none").await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_have_the_numbers_of_the_server_and_of_the_filters_that_are_there() {
    let Some(page) = Page::start(&plain(["a", "b c"]), false).await else { return };
    let answer = page.get("/ui/events?events=2&filters=a,none,b%20c").await;
    assert!(answer.head.contains("content-type: text/event-stream"), "{}", answer.head);
    let events = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(events.len(), 2);
    for event in events {
        let names = event["filters"].as_array().unwrap().iter().map(|filter| &filter["name"]);
        assert!(names.eq(["a", "b c"]), "{event}");
        assert_eq!(event["server"]["read_only"], true);
        assert!(event["server"]["keys"].as_u64().unwrap() >= 2, "{event}");
    }
    assert_eq!(page.get(&format!("/ui/events?filters={}", "a,".repeat(101))).await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_shown_of_a_filter_is_kept() {
    let Some(page) = Page::start(&plain(["a b", "c"]), false).await else { return };
    let history = async |name: &str| {
        let answer = page.get(&format!("/ui/history?filter={name}")).await.json();
        answer["samples"].as_array().unwrap().clone()
    };
    assert!(history("a%2520b").await.is_empty());
    page.get("/ui/events?events=1&filters=a%2520b").await;
    page.filter("a b").await.insert(b"key").await.unwrap();
    page.get("/ui/events?events=1&filters=a%2520b").await;
    // The first sample, and none again within the minute.
    let samples = history("a%2520b").await;
    assert_eq!(samples.len(), 1);
    assert_eq!((&samples[0][1], &samples[0][2]), (&json!(0.0), &json!(0.0)));
    assert!(history("c").await.is_empty());
    for query in ["", "?filter=%25ff", "?filter=a&x=1"] {
        assert_eq!(page.get(&format!("/ui/history{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_kept_from_other_sites_and_files_have_their_types() {
    let Some(page) = Page::start(&[], false).await else { return };
    let kept_by = |answer: &Answer, policy: Option<&str>| {
        for (name, value) in HEADERS {
            let own = policy.filter(|_| name == "content-security-policy");
            let value = own.unwrap_or(value);
            let header = format!("\r\n{name}: {value}").to_lowercase();
            assert_eq!(answer.head.matches(&header).count(), 1, "{name}: {}", answer.head);
        }
    };
    let kept = |answer: &Answer| kept_by(answer, None);
    for file in FILES {
        let answer = page.get(file.path).await;
        kept_by(&answer, file.policy);
        assert_eq!((answer.status, &*answer.body), (200, file.text));
        assert!(answer.head.contains(&format!("content-type: {}", file.kind)), "{}", answer.head);
    }
    let first = page.get("/").await;
    kept(&first);
    assert!(first.status == 307 && first.head.contains("\r\nlocation: /ui\r\n"));
    for (path, status) in [("/ui/none.js", 404), ("/v1/filters?x=1", 400), ("/ui/clients", 200)] {
        let answer = page.get(path).await;
        kept(&answer);
        assert_eq!((answer.status, answer.json().is_null()), (status, false), "{path}");
    }
    let mut stream = TcpStream::connect(page.address).await.unwrap();
    let request = "GET /ui HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 421 ") && !text.contains("<html"), "{text}");
    // What takes keys takes no question.
    assert_eq!(page.get("/v1/filters/a/add").await.status, 405);
}
