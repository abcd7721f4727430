//! A server that is started before its store, or with settings that the store refuses.

use super::http::{get, send};
use super::{Client, cluster, config, made_of_lines};
use mayhap_server::front::ConnectError;
use mayhap_server::{Config, Running, Server, StartError};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn hurried(url: &str) -> Config {
    Config { store_timeout_ms: 300, ..config(url) }
}

/// Waits until the server is ready, and uses a filter.
fn works_at_last(front: &Running) {
    let is_ready = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        get(front, "/readyz").status == 200
    });
    assert!(is_ready, "{}", get(front, "/readyz").text());
    // A node may still be missing, so that this server waits for it.
    let mut client = Client::of(front);
    let made = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        ["+OK\r\n", "-ERR item exists\r\n"].contains(&&*client.ask("BF.RESERVE f 1e-9 100"))
    });
    assert!(made && client.ask("BF.ADD f a").starts_with(':'));
    assert_eq!(client.ask("BF.MEXISTS f a b"), "*2\r\n:1\r\n:0\r\n");
    assert!(get(front, "/metrics").text().contains("mayhap_store_reached 1\n"));
    assert_eq!(get(front, "/v1/filters").json()["filters"][0]["name"], "f");
}

/// Every request has an error with these words, over HTTP with this status, and nothing says
/// "surely not".
fn has_no_store(front: &Running, words: &str, status: u16) {
    let mut client = Client::of(front);
    for _ in 0..3 {
        for request in [
            "BF.RESERVE f 0.01 100",
            "BF.ADD f a",
            "BF.MADD f a b",
            "BF.EXISTS f a",
            "BF.MEXISTS f a b",
            "BF.INSERT f CAPACITY 9 ITEMS a",
            "BF.CARD f",
            "BF.INFO f",
            "EXISTS f",
            "EXISTS f g",
            "DEL f",
            "TYPE f",
            "TTL f",
            "EXPIRE f 10",
            "PERSIST f",
            "SCAN 0",
            "KEYS *",
            "DBSIZE",
        ] {
            let answer = client.ask(request);
            assert!(answer.starts_with("-ERR redis"), "{request}: {answer}");
            assert!(answer.contains(words) && !answer.contains("secret"), "{request}: {answer}");
        }
    }
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    assert_eq!(get(front, "/healthz").status, 200);
    for (path, status) in [("/readyz", 503), ("/v1/filters", status), ("/v1/filters/f", status)] {
        let answer = get(front, path);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(answer.text().contains(words), "{path}: {answer:?}");
    }
    let made = send(front, "PUT /v1/filters/f", &json!({ "capacity": 100 }));
    assert_eq!(made.status, status, "{made:?}");
    assert!(get(front, "/metrics").text().contains("mayhap_store_reached 0\n"));
    let event = get(front, "/ui/events?events=1&filters=f");
    assert_eq!(event.status, 200, "{event:?}");
}

#[test]
fn a_server_that_starts_before_its_store_is_ready_once_it_is_reached() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    redis.kill();
    let front = Server::start(hurried(&redis.url())).unwrap();
    has_no_store(&front, "refuses connections", 503);
    redis.restart().unwrap();
    works_at_last(&front);
    front.shut_down().unwrap();

    // One that never comes does not hold up the end.
    redis.kill();
    Server::start(hurried(&redis.url())).unwrap().shut_down().unwrap();
    // A name without an address may have one later.
    let front = Server::start(hurried("redis://none.invalid")).unwrap();
    assert_eq!(get(&front, "/readyz").status, 503);
    assert_eq!(get(&front, "/v1/filters").json()["filters"], Value::Null);
}

#[test]
fn a_server_that_starts_before_its_cluster_is_ready_once_it_is_reached() {
    let Some((cluster, url)) = cluster() else { return };
    (0..3).for_each(|node| cluster.kill(node));
    let front = Server::start(hurried(&url)).unwrap();
    has_no_store(&front, "refuses connections", 503);
    (0..3).for_each(|node| cluster.restart(node).unwrap());
    cluster.wait_ok().unwrap();
    works_at_last(&front);
}

/// The address of something else.
fn web_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    address
}

#[test]
fn what_does_not_pass_by_itself_fails_at_the_start() {
    if !ready(&["redis-server"]) {
        return;
    }
    let password = Some("right".to_owned());
    let redis = RedisServer::start(&RedisOptions { password, ..RedisOptions::default() }).unwrap();
    let (port, other) = (redis.port(), web_server());
    for (url, words) in [
        (format!("redis://:secret@127.0.0.1:{port}"), "refuses this user or password"),
        (format!("redis://127.0.0.1:{port}"), "refuses this user or password"),
        (format!("redis://:right@127.0.0.1:{port}/99"), "out of range"),
        (format!("redis+cluster://:right@127.0.0.1:{port}"), "cluster support disabled"),
        (format!("redis://{other}"), "does not speak"),
    ] {
        // They do not wait for it.
        let patient = Config { store_timeout_ms: 3_600_000, ..config(&url) };
        let error = Server::start(patient).map(drop).unwrap_err();
        assert!(matches!(error, StartError::Store(ConnectError::Store(_))), "{url}: {error:?}");
        let said = error.to_string();
        assert!(said.contains(words) && !said.contains("secret"), "{url}: {said}");
    }

    // A store that is away at the start and refuses the password later, until it is changed.
    redis.kill();
    let front = Server::start(hurried(&format!("redis://:secret@127.0.0.1:{port}"))).unwrap();
    redis.restart().unwrap();
    let is_refused = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        get(&front, "/readyz").text().contains("refuses this user or password")
    });
    assert!(is_refused, "{}", get(&front, "/readyz").text());
    has_no_store(&front, "refuses this user or password", 502);
    redis.cli(&["CONFIG", "SET", "requirepass", "secret"]).unwrap();
    works_at_last(&front);
}

/// The answers to these were known before the store was away, or without it.
#[test]
fn a_request_that_is_not_sent_does_not_say_that_the_store_is_back() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let front = Server::start(hurried(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("BF.RESERVE f 0.01 100"), "+OK\r\n");
    made_of_lines(&redis, "lines");
    assert!(client.ask("BF.EXISTS lines a").contains("are made of lines"));
    redis.pause().unwrap();
    let is_open = (0..40).any(|_| client.ask("BF.EXISTS f a").contains("was not sent"));
    assert!(is_open);
    for request in ["DEL a{b", "TTL a{b", "RENAME a{b c", "BF.ADD a{b x", "BF.EXISTS lines a"] {
        // One a second is tried.
        std::thread::sleep(Duration::from_millis(1100));
        let answer = client.ask(request);
        assert!(get(&front, "/metrics").text().contains("mayhap_store_reached 0\n"), "{request}");
        let others = [(); 3].map(|()| client.ask("BF.EXISTS f a"));
        assert!(
            others.iter().any(|other| other.contains("was not sent")),
            "{request}: {answer}{others:?}"
        );
    }
    redis.resume().unwrap();
    works_at_last(&front);
}
