//! Fuse and ribbon filters over HTTP and Redis's protocol: uploaded, queried, replaced, and never
//! added to.

use crate::command::Server as Commands;
use crate::http::{Server, kept};
use crate::http_metrics::check_metrics;
use mayhap::native::{HEADER_BYTES, encode};
use mayhap::{BinaryFuse, DigestFunction, FuseWidth, RibbonFilter};
use mayhap_engine::durable::Policy;
use serde_json::{Value, json};

const FILE: [(&str, &str); 1] = [("Content-Type", "application/octet-stream")];
const KINDS: [&str; 2] = ["fuse", "ribbon"];

fn items(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|i| format!("item {i}")).collect()
}

/// The file of a filter with these items.
fn file(kind: &str, range: std::ops::Range<u64>) -> Vec<u8> {
    let (width, function) = (FuseWidth::from_bits(20).unwrap(), DigestFunction::default());
    let (items, function_of) = (items(range), function);
    match kind {
        "fuse" => encode(&BinaryFuse::from_keys(width, function_of, items).unwrap(), ""),
        _ => encode(&RibbonFilter::from_keys(width, function_of, items).unwrap(), ""),
    }
}

fn put(server: &Server, name: &str, bytes: &[u8], query: &str) -> (u16, Value) {
    let made = server.ask(&format!("PUT /v1/filters/{name}/file{query}"), &FILE, bytes);
    (made.status, made.json())
}

/// How many of these items it may have.
fn found(server: &Server, name: &str, range: std::ops::Range<u64>) -> Value {
    let line = format!("POST /v1/filters/{name}/check");
    server.send(&line, &json!({ "items": items(range) })).json()["found"].clone()
}

#[test]
fn a_frozen_filter_is_queried_described_and_never_added_to() {
    let server = Server::plain();
    for kind in KINDS {
        let bytes = file(kind, 0..500);
        let (status, made) = put(&server, kind, &bytes, "");
        assert_eq!(status, 201, "{made}");
        for (member, expected) in [
            ("kind", json!(kind)),
            ("read_only", json!(true)),
            ("keyed", json!(false)),
            ("items", json!(500)),
            ("capacity", json!(500)),
            ("over_capacity", json!(false)),
            ("expansion", Value::Null),
        ] {
            assert_eq!(made[member], expected, "{kind} {member}: {made}");
        }
        assert!(made["expected_fpp"].as_f64().unwrap() < 1.1e-6, "{made}");
        assert_eq!(found(&server, kind, 0..1_000), 500);
        for (line, body, status, problem) in [
            ("add", json!({ "items": ["item 1", "x"] }), 409, "takes no others; build a new one"),
            ("remove", json!({ "items": ["item 1"] }), 409, "items can be removed from counting"),
            ("shrink", json!({}), 409, "which does not fold"),
            ("merge", json!({ "from": [kind] }), 409, "item exists"),
        ] {
            let refused = server.send(&format!("POST /v1/filters/{kind}/{line}"), &body);
            assert_eq!(refused.status, status, "{line}: {}", refused.text());
            assert!(refused.text().contains(problem), "{line}: {}", refused.text());
        }
        let union = server.send("POST /v1/filters/u/merge", &json!({ "from": [kind, kind] }));
        assert!(union.text().contains(&format!("no union of {kind} filters")), "{}", union.text());
        assert_eq!(union.status, 400);
        // Of one alone it is a copy.
        let line = format!("POST /v1/filters/copy-{kind}/merge");
        assert_eq!(server.send(&line, &json!({ "from": [kind] })).status, 201);
        assert_eq!(server.get(&format!("/v1/filters/copy-{kind}/file")).body, bytes);
        // Nothing of that changed it.
        assert_eq!(server.get(&format!("/v1/filters/{kind}/file")).body, bytes);
        assert_eq!(found(&server, kind, 0..1_000), 500);
        let page = server.get("/metrics").text();
        check_metrics(&page);
        let line = format!("mayhap_filter_items{{filter=\"{kind}\"}} 500");
        assert!(page.lines().any(|found| found == line), "{page}");
    }
}

#[test]
fn a_frozen_filter_is_replaced_expires_and_survives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    {
        let server = kept(folder.path(), Policy::No);
        for kind in KINDS {
            assert_eq!(put(&server, kind, &file(kind, 0..500), "").0, 201);
            // The same name is taken; a complete new set takes its place.
            assert_eq!(put(&server, kind, &file(kind, 500..900), "").0, 409);
            assert_eq!(put(&server, kind, &file(kind, 500..900), "?replace=true").0, 201);
            assert_eq!(put(&server, &format!("old-{kind}"), &file(kind, 0..9), "").0, 201);
            let line = format!("PUT /v1/filters/old-{kind}/expiry");
            let expiring = server.send(&line, &json!({ "expires_at": 4_000_000_000_000u64 }));
            assert_eq!(expiring.status, 200, "{}", expiring.text());
            assert_eq!(put(&server, &format!("gone-{kind}"), &file(kind, 0..9), "").0, 201);
            let gone = server.ask(&format!("DELETE /v1/filters/gone-{kind}"), &[], b"");
            assert_eq!(gone.status, 204, "{}", gone.text());
        }
    }
    let server = kept(folder.path(), Policy::No);
    for kind in KINDS {
        assert_eq!(server.get(&format!("/v1/filters/{kind}/file")).body, file(kind, 500..900));
        assert_eq!(found(&server, kind, 0..900), 400);
        let old = server.get(&format!("/v1/filters/old-{kind}")).json();
        assert_eq!(old["expires_at"], 4_000_000_000_000u64, "{old}");
        assert_eq!(server.get(&format!("/v1/filters/gone-{kind}")).status, 404);
        let refused =
            server.send(&format!("POST /v1/filters/{kind}/add"), &json!({ "items": ["x"] }));
        assert_eq!(refused.status, 409);
    }
}

#[test]
fn commands_load_query_and_describe_it() {
    let mut commands = Commands::new();
    for kind in KINDS {
        let bytes = file(kind, 0..500);
        let (header, body) = bytes.split_at(HEADER_BYTES);
        for (cursor, chunk) in [(1, header), (1 + body.len(), body)] {
            let cursor = cursor.to_string().into_bytes();
            let request = [b"BF.LOADCHUNK".to_vec(), kind.into(), cursor, chunk.to_vec()];
            assert_eq!(commands.ask(&request), b"+OK\r\n");
        }
        let [one, all] = ["BF.EXISTS", "BF.MEXISTS"].map(|word| format!("{word} {kind} 'item 7'"));
        assert_eq!(commands.line(&one), ":1\r\n");
        assert_eq!(
            commands.line(&format!("{all} x 'item 499' 'item 500'")).matches(":1").count(),
            2
        );
        assert_eq!(commands.line(&format!("BF.CARD {kind}")), ":500\r\n");
        for (field, expected) in [
            ("CAPACITY", ":500\r\n".to_owned()),
            ("ITEMS", ":500\r\n".to_owned()),
            ("FILTERS", ":1\r\n".to_owned()),
            ("EXPANSION", "$-1\r\n".to_owned()),
            ("REQUESTED", "$-1\r\n".to_owned()),
            ("KIND", format!("${}\r\n{kind}\r\n", kind.len())),
            ("OVERCAPACITY", ":0\r\n".to_owned()),
        ] {
            let found = commands.line(&format!("BF.INFO {kind} {field}"));
            assert_eq!(found, format!("*1\r\n{expected}"), "{field}");
        }
        let refusal = format!(": this filter is {kind}, which was built from all of its items");
        for request in ["BF.ADD", "BF.MADD", "BF.INSERT"] {
            let items = if request == "BF.INSERT" { "ITEMS x" } else { "x" };
            let refused = commands.line(&format!("{request} {kind} {items}"));
            assert!(refused.contains(&refusal), "{request}: {refused}");
        }
        for (request, problem) in [
            (format!("BF.MERGE u {kind} {kind}"), format!("there is no union of {kind} filters")),
            (format!("BF.RESERVE {kind} 0.01 100"), "-ERR item exists".to_owned()),
            (format!("BF.REM {kind} x"), "items can be removed from counting".to_owned()),
        ] {
            let refused = commands.line(&request);
            assert!(refused.starts_with("-ERR ") && refused.contains(&problem), "{refused}");
        }
        assert_eq!(commands.line(&format!("BF.CARD {kind}")), ":500\r\n");
        assert_eq!(commands.line(&format!("BF.EXISTS {kind} x")), ":0\r\n");
    }
}
