//! Filters that shrink over HTTP.

use crate::command::Server as Commands;
use crate::http::{Server, kept};
use crate::http_parity::full;
use mayhap_engine::durable::Policy;
use serde_json::{Value, json};

/// 960 blocks.
fn large() -> Value {
    json!({ "capacity": 48_640, "target_fpp": 0.01, "fixed": true, "layout": "blocked" })
}

fn items(range: std::ops::Range<u32>) -> Value {
    let items: Vec<String> = range.map(|i| format!("item {i}")).collect();
    json!({ "items": items })
}

#[test]
fn a_fold_is_described_before_it_is_made_and_survives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = kept(folder.path(), Policy::EverySecond);
    server.send("PUT /v1/filters/f", &large());
    server.send("POST /v1/filters/f/add", &items(0..2_000));
    let before = server.get("/v1/filters/f").json();
    let fold = &before["fold"];
    assert_eq!((&fold["factor"], &fold["num_bytes"]), (&json!(24), &json!(40 * 64)));
    let shrunk = server.send("POST /v1/filters/f/shrink", &json!({}));
    assert_eq!(shrunk.status, 200, "{}", shrunk.text());
    let shrunk = shrunk.json();
    for (member, expected) in [
        ("factor", &fold["factor"]),
        ("num_bytes", &fold["num_bytes"]),
        ("expected_fpp", &fold["expected_fpp"]),
        ("num_bytes_before", &before["num_bytes"]),
        ("items", &before["items"]),
        ("target_fpp", &json!(0.01)),
    ] {
        assert_eq!(&shrunk[member], expected, "{member}: {shrunk}");
    }
    // Nothing more is to be saved.
    let after = server.get("/v1/filters/f").json();
    assert_eq!((&after["fold"], &after["factor"]), (&Value::Null, &Value::Null));
    let again = server.send("POST /v1/filters/f/shrink", &json!({})).json();
    assert_eq!((&again["factor"], &again["num_bytes"]), (&json!(1), &shrunk["num_bytes"]));
    drop(server);
    let server = kept(folder.path(), Policy::EverySecond);
    let restored = server.get("/v1/filters/f").json();
    for member in ["num_bytes", "capacity", "items", "expected_fpp"] {
        assert_eq!(restored[member], shrunk[member], "{member}");
    }
    let found = server.send("POST /v1/filters/f/check", &items(0..2_000)).json();
    assert_eq!(found["found"], 2_000);
}

#[test]
fn a_filter_that_cannot_shrink_is_refused_with_the_reason() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &large());
    server.send("POST /v1/filters/f/add", &items(0..20_000));
    server.send("PUT /v1/filters/grows", &json!({}));
    let fpp = "a number above 0 and below 1";
    for (line, body, status, problem) in [
        ("POST none/shrink", json!({}), 404, "there is no filter"),
        ("POST grows/shrink", json!({}), 409, "this filter is scalable, which does not fold"),
        ("POST f/shrink", json!({ "factor": 0 }), 400, "factor must be a whole number, at least 1"),
        ("POST f/shrink", json!({ "factor": "2" }), 400, "factor must be "),
        ("POST f/shrink", json!({ "factor": 2, "capacity": 9 }), 400, "give either factor, or "),
        ("POST f/shrink", json!({ "target_fpp": 1 }), 400, &format!("target_fpp must be {fpp}")),
        ("POST f/shrink", json!({ "items": 3 }), 400, "unknown field `items`"),
        ("POST f/shrink", json!({ "factor": 7 }), 409, "960 blocks do not fold by 7"),
        ("POST f/shrink", json!({ "factor": 3 }), 409, "the filter has "),
        ("POST f/shrink", json!({ "target_fpp": 1e-9 }), 409, "cannot shrink: at its size "),
    ] {
        let refused = server.send(&full(line), &body);
        assert_eq!(refused.status, status, "{line} {body}: {}", refused.text());
        let found = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(found.contains(problem), "{line} {body}: {found}");
    }
    assert_eq!(server.get("/v1/filters/f").json()["num_bytes"], 960 * 64);
}

/// A reader that rounds takes this rate for 1, which is none.
#[test]
fn a_rate_is_read_to_its_last_bit() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &large());
    let shrunk =
        server.send("POST /v1/filters/f/shrink", &json!({ "target_fpp": 0.999_999_999_999_999_9 }));
    assert_eq!(shrunk.status, 200, "{}", shrunk.text());
}

/// Clients of `RedisBloom` parse the five fields by their names, from a reply without others.
#[test]
fn commands_describe_a_fold_by_fields_of_their_own() {
    let mut commands = Commands::new();
    commands.line("BF.RESERVE f 0.01 48640 NONSCALING");
    assert_eq!(commands.line("BF.INFO f").matches("\r\n+").count(), 5);
    assert!(commands.line("BF.INFO f").starts_with("*10\r\n+Capacity\r\n"));
    let factor = commands.line("BF.INFO f FOLDFACTOR");
    let factor: u64 = factor.strip_prefix("*1\r\n:").unwrap().trim_end().parse().unwrap();
    let size = commands.line("BF.INFO f FOLDSIZE");
    let size: u64 = size.strip_prefix("*1\r\n:").unwrap().trim_end().parse().unwrap();
    assert_eq!(commands.line("BF.INFO f SIZE"), format!("*1\r\n:{}\r\n", factor * size));
    assert!(commands.line("BF.INFO f FOLDFPP").starts_with("*1\r\n$"));
    commands.line("BF.RESERVE grows 0.01 1000");
    for field in ["FOLDFACTOR", "FOLDSIZE", "FOLDFPP"] {
        assert_eq!(commands.line(&format!("BF.INFO grows {field}")), "*1\r\n$-1\r\n");
    }
}
