//! The promises of docs/http.md for every answer: errors are JSON, bounded, and state the next
//! step.

use crate::http::{Answer, Server};
use crate::http_guard::guarded;
use mayhap_server::config::Config;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The text of an error, which is JSON.
fn error(answer: &Answer) -> String {
    assert_eq!(answer.header("content-type"), "application/json", "{answer:?}");
    answer.json()["error"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

#[test]
fn errors_of_a_query_are_json_and_name_the_parameter() {
    let server = Server::plain();
    server.send("PUT /v1/filters/a", &json!({}));
    for (line, status, parts) in [
        ("GET /v1/filters?limit=-1", 400, ["limit must be a whole number", "\"-1\""]),
        ("GET /v1/filters?limit=x", 400, ["limit must be a whole number", "\"x\""]),
        ("GET /v1/filters?limit=", 400, ["limit must be a whole number", "\"\""]),
        ("GET /v1/filters?limit=1e3", 400, ["limit must be a whole number", "\"1e3\""]),
        ("GET /v1/filters?cursor=x", 400, ["cursor must be a whole number", "\"x\""]),
        ("GET /v1/filters?nonsense=1", 400, ["unknown parameter", "nonsense"]),
        ("GET /v1/filters?limit=1&limit=2", 400, ["duplicate parameter", "limit"]),
        ("GET /v1/filters/a?measure=yes", 400, ["measure must be true or false", "\"yes\""]),
        ("GET /v1/filters/a?measure=", 400, ["measure must be true or false", ""]),
        ("GET /v1/filters/a?measure=true&measure=true", 400, ["duplicate", "measure"]),
        ("GET /v1/filters/a?x", 400, ["unknown parameter", "`x`"]),
        ("PUT /v1/filters/b/file?replace=null", 400, ["replace must be true or false", "\"null\""]),
        ("PUT /v1/filters/b/file?replace=1&x=1", 400, ["unknown parameter", "`x`"]),
        ("GET /ui/events?events=-1", 400, ["events", "invalid digit"]),
        ("GET /ui/events?what=1", 400, ["unknown parameter", "what"]),
    ] {
        let kind = [("Content-Type", "application/octet-stream")];
        let answer = server.ask(line, &kind, b"");
        assert_eq!(answer.status, status, "{line} {answer:?}");
        let text = error(&answer);
        assert!(parts.iter().all(|part| text.contains(part)), "{line}: {text}");
    }
    for (path, status) in
        [("/v1/filters?limit=0", 200), ("/v1/filters?limit=99999&cursor=0&match=*", 200)]
    {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    assert!(server.get("/v1/filters/a?measure=true").json()["fill_ratio"].is_number());
    assert!(server.get("/v1/filters/a?measure=false").json()["fill_ratio"].is_null());
}

/// Sends bytes; returns one answer and whether the connection is closed after it.
fn exchange(server: &Server, request: &[u8]) -> (Answer, bool) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(request);
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    let closed = loop {
        match stream.read(&mut part) {
            Ok(0) => break true,
            Ok(more) => bytes.extend_from_slice(&part[..more]),
            Err(error) if bytes.is_empty() => panic!("{error}: {}", request.escape_ascii()),
            Err(_) => break false,
        }
        if bytes.ends_with(b"}\n") && !bytes.windows(17).any(|part| part == b"connection: close") {
            break false;
        }
    };
    (Answer::parse(&bytes), closed)
}

fn chunked(server: &Server, coding: &str, body: &[u8]) -> Vec<u8> {
    let host = server.address;
    let head = format!(
        "POST /v1/filters/f/add HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         {coding}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn a_malformed_chunk_is_called_so() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    let long = [b"5;", &vec![b'x'; 1 << 20][..], b"\r\n"].concat();
    for body in [
        &b"-f\r\n"[..],
        b"0xf\r\n",
        b"10\n{\"items\":[\"a\"]}\n0\n\n",
        b"10\r\n{\"items\":[\"a\"]}XX0\r\n\r\n",
        b"11111111111111111\r\n",
        b"\r\n\r\n",
        b"g\r\n",
        b"5 x\r\n",
        &long,
    ] {
        let (answer, _) = exchange(&server, &chunked(&server, "Transfer-Encoding: chunked", body));
        assert_eq!(answer.status, 400, "{}", body[..body.len().min(40)].escape_ascii());
        let text = error(&answer);
        assert!(text.contains("malformed chunk"), "{}: {text}", body.len());
    }
    // A request that ends early still gets an answer.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let request = chunked(&server, "Transfer-Encoding: chunked", b"10\r\n{\"items");
    stream.write_all(&request).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    assert!(bytes.is_empty() || error(&Answer::parse(&bytes)).contains("ended early"));
    assert_eq!(server.get("/v1/filters/f").json()["items"], 0);
}

#[test]
fn a_transfer_encoding_other_than_chunked_is_refused_and_the_connection_closed() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    let body = b"f\r\n{\"items\":[\"a\"]}\r\n0\r\n\r\n";
    let next = format!("DELETE /v1/filters/f HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    for coding in [
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding:",
        "Transfer-Encoding: ,chunked",
    ] {
        let request = [&chunked(&server, coding, body), next.as_bytes()].concat();
        let (answer, closed) = exchange(&server, &request);
        assert!(matches!(answer.status, 400 | 501), "{coding}: {}", answer.status);
        assert!(!error(&answer).is_empty(), "{coding}");
        assert!(closed, "{coding}");
        assert_eq!(answer.header("connection"), "close", "{coding}");
        assert_eq!(answer.header("keep-alive"), "", "{coding}");
        assert_eq!(server.get("/v1/filters/f").json()["items"], 0, "{coding}");
    }
    for coding in ["Transfer-Encoding: chunked", "transfer-encoding: Chunked"] {
        let (answer, _) = exchange(&server, &chunked(&server, coding, body));
        assert_eq!(answer.status, 200, "{coding} {answer:?}");
    }
}

#[test]
fn a_head_above_the_limits_is_refused_with_a_reason() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    let head = |fields: &str| {
        format!("POST /v1/filters/f/add HTTP/1.1\r\nHost: localhost\r\n{fields}\r\nx").into_bytes()
    };
    let lengths = |length: &str| {
        head(&format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"))
    };
    let lines = "X-Line: 1\r\n";
    for (request, status, part) in [
        (head(&lines.repeat(100)), 431, "100 header lines"),
        (head(&format!("X: {}\r\n", "x".repeat(70_000))), 431, "64 KiB"),
        (lengths("18446744073709551615"), 413, "Content-Length"),
        (lengths("18446744073709551614"), 413, "Content-Length"),
        (lengths("18446744073709551616"), 413, "Content-Length"),
        (lengths(&"9".repeat(400)), 413, "Content-Length"),
        (lengths("18446744073709551613"), 413, "8388608"),
        (lengths("1152921504606846976"), 413, "8388608"),
        (lengths("-1"), 400, "malformed"),
        (lengths("1x"), 400, "malformed"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), 400, "HTTP/1.1"),
        (b"what is this\r\n\r\n".to_vec(), 400, "malformed"),
        (
            format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(65_535)).into_bytes(),
            414,
            "65,534",
        ),
    ] {
        let (answer, closed) = exchange(&server, &request);
        let shown = request[..request.len().min(90)].escape_ascii();
        assert_eq!(answer.status, status, "{shown}");
        assert!(error(&answer).contains(part), "{shown} {answer:?}");
        assert!(closed, "{shown}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        let length = answer.header("content-length").parse::<usize>().unwrap();
        assert_eq!(length, answer.body.len(), "{shown}");
    }
    // One less, with the two present ones, is accepted.
    let (answer, _) = exchange(&server, &head(&lines.repeat(98)));
    assert_eq!(answer.status, 415);
    // A second request on a connection that was fine before.
    let good = "GET /v1/filters HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(good.as_bytes()).unwrap();
    stream.read_exact(&mut [0; 15]).unwrap();
    stream.write_all(&head(&lines.repeat(100))).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.contains("HTTP/1.1 431") && rest.contains("100 header lines"), "{rest}");
}

/// Megabytes of a request are never echoed in an error.
#[test]
fn an_error_repeats_little_of_its_request() {
    let server = guarded();
    let login = ("Authorization", "Bearer master password");
    let (json_type, long) = (("Content-Type", "application/json"), "é".repeat(1 << 20));
    let ask = |line: &str, headers: &[(&str, &str)], body: &str| {
        server.ask(line, &[&[login], headers].concat(), body.as_bytes())
    };
    let field = format!("{{\"{long}\": 1}}");
    let value = format!("{{\"capacity\": \"{long}\"}}");
    let layout = format!("{{\"layout\": \"{long}\"}}");
    let items = format!("{{\"items_base64\": [\"{long}\"]}}");
    let create = format!("{{\"items\": [], \"create\": {{\"{long}\": 1}}}}");
    let kind = format!("text/{}", "x".repeat(50_000));
    let query = |name: &str| format!("GET /v1/filters?{name}={}", "x".repeat(60_000));
    let name = "x".repeat(60_000);
    let mut tried = 0;
    for answer in [
        ask("PUT /v1/filters/z", &[json_type], &field),
        ask("PUT /v1/filters/z", &[json_type], &value),
        ask("PUT /v1/filters/z", &[json_type], &layout),
        ask("POST /v1/filters/z/add", &[json_type], &items),
        ask("POST /v1/filters/z/add", &[json_type], &create),
        ask("POST /v1/filters/z/check", &[json_type], &field),
        ask("POST /v1/filters/z/merge", &[json_type], &field),
        ask("PUT /v1/filters/z/expiry", &[json_type], &field),
        ask("POST /v1/filters/z/rename", &[json_type], &field),
        ask("POST /v1/which", &[json_type], &field),
        ask("POST /v1/which", &[json_type], &format!("\"{long}\"")),
        ask("PUT /v1/filters/z", &[("Content-Type", &kind)], "{}"),
        ask("PUT /v1/filters/z", &[json_type, ("Content-Encoding", &kind)], "{}"),
        ask(&query("limit"), &[], ""),
        ask(&query(&name[..40_000]), &[], ""),
        ask(&format!("GET /{name}"), &[], ""),
        ask(&format!("GET /v1/filters/{name}"), &[], ""),
        ask(&format!("GET /ui/events?filters={name}"), &[], ""),
        ask("GET /v1/filters", &[("Transfer-Encoding", &kind)], ""),
    ] {
        assert!((400..510).contains(&answer.status), "{}", answer.status);
        assert!(answer.body.len() < 2000, "{} bytes", answer.body.len());
        assert!(!error(&answer).is_empty());
        tried += 1;
    }
    assert_eq!(tried, 19);
    // The end of a long one states the next step.
    let text = error(&ask("PUT /v1/filters/z", &[json_type], &field));
    assert!(
        text.starts_with("the body: unknown field") && text.contains("expected one of"),
        "{text}"
    );
    assert!(text.contains("bytes left out"), "{text}");
}

#[test]
fn a_list_is_refused_wherever_an_object_is_expected() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    for (line, body) in [
        ("PUT /v1/filters/g", "[]"),
        ("PUT /v1/filters/g", "[1000, 0.01, null, null, null, null, null]"),
        ("POST /v1/filters/f/add", "[]"),
        ("POST /v1/filters/f/add", "[[\"a\"], null, null, null]"),
        ("POST /v1/filters/f/add", "{\"items\": [\"a\"], \"create\": []}"),
        ("POST /v1/filters/g/add", "{\"items\": [\"a\"], \"create\": [1000]}"),
        ("POST /v1/filters/f/check", "[[\"a\"], null, null]"),
        ("POST /v1/filters/f/remove", "[[\"a\"], null]"),
        ("POST /v1/filters/f/age", "[[\"a\"], null]"),
        ("POST /v1/filters/g/merge", "[[\"f\"]]"),
        ("PUT /v1/filters/f/expiry", "[4000000000000]"),
        ("POST /v1/filters/f/rename", "[\"g\"]"),
        ("POST /v1/which", "[[\"f\"], null, null, [\"a\"], null]"),
        ("PUT /v1/filters/g", "\"capacity\""),
        ("PUT /v1/filters/g", "1"),
        ("PUT /v1/filters/g", "null"),
    ] {
        let answer = server.ask(line, &[("Content-Type", "application/json")], body.as_bytes());
        assert_eq!(answer.status, 400, "{line} {body}");
        assert!(error(&answer).contains("expected an object"), "{line} {body}: {answer:?}");
    }
    assert_eq!(server.get("/v1/filters/f").json()["items"], 0);
    assert_eq!(server.get("/v1/filters/g").status, 404);
}

#[test]
fn a_number_without_a_fraction_is_a_whole_number_however_it_is_written() {
    let server = Server::plain();
    for (at, number) in ["1000", "1000.0", "1e3", "1E+3", "10000e-1", "1000.000"].iter().enumerate()
    {
        let body = format!("{{\"capacity\": {number}, \"expansion\": 2.0, \"scale_to\": 2e3}}");
        let line = format!("PUT /v1/filters/f{at}");
        let made = server.ask(&line, &[("Content-Type", "application/json")], body.as_bytes());
        assert_eq!(made.status, 201, "{number} {made:?}");
        assert_eq!(made.json()["capacity"], 1000, "{number}");
    }
    for number in ["1000.5", "-1000.0", "-1e3", "0.0", "1e20", "1e300", "1e-3"] {
        let body = format!("{{\"capacity\": {number}}}");
        let made = server.ask(
            "PUT /v1/filters/g",
            &[("Content-Type", "application/json")],
            body.as_bytes(),
        );
        assert_eq!(made.status, 400, "{number}");
        assert!(error(&made).starts_with("capacity must be"), "{number} {made:?}");
    }
    let body = json!({ "window": 500.0, "capacity": 100 });
    assert_eq!(server.send("PUT /v1/filters/w", &body).status, 201);
    let body = json!({ "expires_at": 4e12 });
    assert_eq!(
        server.send("PUT /v1/filters/w/expiry", &body).json()["expires_at"],
        4_000_000_000_000_u64
    );
}

#[test]
fn an_encoded_body_is_refused_with_a_sentence() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    let body = br#"{"items":["a"]}"#;
    for coding in ["gzip", "deflate", "br", "zstd", "x-gzip", "GZIP", "identity, gzip", ""] {
        for (line, kind) in [
            ("POST /v1/filters/f/add", "application/json"),
            ("PUT /v1/filters/g/file", "application/octet-stream"),
        ] {
            let headers = [("Content-Type", kind), ("Content-Encoding", coding)];
            let answer = server.ask(line, &headers, body);
            assert_eq!(answer.status, 415, "{coding}");
            assert!(error(&answer).contains("content encoding"), "{coding} {answer:?}");
        }
    }
    for coding in ["identity", "Identity"] {
        let headers = [("Content-Type", "application/json"), ("Content-Encoding", coding)];
        assert_eq!(server.ask("POST /v1/filters/f/add", &headers, body).status, 200);
    }
}

#[test]
fn probes_are_answered_whatever_the_host_is_called() {
    let server = guarded();
    for path in ["/healthz", "/readyz"] {
        for host in ["mayhap:8080", "mayhap.default.svc.cluster.local", "10.1.2.3", "user@x", ""] {
            for method in ["GET", "HEAD"] {
                let answer = server.ask(&format!("{method} {path}"), &[("Host", host)], b"");
                assert_eq!(answer.status, 200, "{method} {path} {host:?}");
            }
        }
        for request in [
            format!("GET {path} HTTP/1.0\r\n\r\n"),
            format!("HEAD {path} HTTP/1.0\r\n\r\n"),
            format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n"),
            format!(
                "GET http://mayhap:8080{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            ),
        ] {
            let answer = Answer::parse(&server.raw(request.as_bytes()));
            assert_eq!(answer.status, 200, "{request:?}");
        }
        let foreign = server.ask(&format!("GET {path}?verbose"), &[("Host", "mayhap:80")], b"");
        assert_eq!(foreign.status, 421, "a probe with details needs a host name of ours");
    }
    // And nothing else is.
    for path in ["/", "/openapi.json", "/v1/filters", "/metrics", "/healthz/", "//healthz"] {
        let answer = server.ask(&format!("GET {path}"), &[("Host", "mayhap:8080")], b"");
        assert_eq!(answer.status, 421, "{path}");
    }
}

#[test]
fn an_idle_connection_stays_as_long_as_it_is_announced() {
    let ask = |stream: &mut TcpStream, version: &str, field: &str| {
        let request = format!("GET /healthz {version}\r\nHost: localhost\r\n{field}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\nok\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            bytes.push(byte[0]);
        }
        Answer::parse(&bytes)
    };
    let connect = |server: &Server| {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    };
    let server = Server::plain();
    let mut stream = connect(&server);
    assert_eq!(ask(&mut stream, "HTTP/1.1", "").header("keep-alive"), "timeout=75");
    let ten = ask(&mut stream, "HTTP/1.0", "Connection: keep-alive\r\n");
    assert_eq!((ten.header("keep-alive"), ten.header("connection")), ("timeout=75", "keep-alive"));
    let last = ask(&mut stream, "HTTP/1.1", "Connection: close\r\n");
    assert_eq!((last.header("keep-alive"), last.header("connection")), ("", "close"));

    // Longer than a head may take: an idle connection has no head.
    let config =
        Config { request_timeout_ms: 300, http_keep_alive_ms: 60_000, ..Config::default() };
    let server = Server::start(config);
    let mut stream = connect(&server);
    for _ in 0..3 {
        assert_eq!(ask(&mut stream, "HTTP/1.1", "").header("keep-alive"), "timeout=60");
        std::thread::sleep(Duration::from_millis(700));
    }
    // A started head has its own timeout.
    stream.write_all(b"GET /hea").unwrap();
    assert!(matches!(stream.read(&mut [0; 16]), Ok(0)), "it is closed");

    let server = Server::start(Config { http_keep_alive_ms: 400, ..Config::default() });
    let mut stream = connect(&server);
    ask(&mut stream, "HTTP/1.1", "");
    let began = Instant::now();
    assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
    assert!(began.elapsed() < Duration::from_secs(9), "closed by its own time");

    let server = Server::start(Config { http_keep_alive_ms: 0, ..Config::default() });
    let mut stream = connect(&server);
    let only = ask(&mut stream, "HTTP/1.1", "");
    assert_eq!((only.header("keep-alive"), only.header("connection")), ("", "close"));
    assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
}
