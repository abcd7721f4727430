//! A filter is replaced atomically: a query sees either the old or the new one.

use crate::http::{Server, kept};
use mayhap_engine::durable::Policy;
use mayhap_engine::keyspace::Files;
use serde_json::json;

const FILE: [(&str, &str); 1] = [("Content-Type", "application/octet-stream")];

/// Two filters with a key each, and the file of the second one.
fn two(server: &Server) -> Vec<u8> {
    for (name, item) in [("live", "old"), ("next", "new")] {
        let made = server.send(&format!("PUT /v1/filters/{name}"), &json!({}));
        assert_eq!(made.status, 201);
        let added = server.send(&format!("POST /v1/filters/{name}/add"), &json!({"items": [item]}));
        assert_eq!(added.json()["added"], 1);
    }
    server.get("/v1/filters/next/file").body
}

/// Whether a filter has `old`, and `new`.
fn found(server: &Server, name: &str) -> [bool; 2] {
    let line = format!("POST /v1/filters/{name}/check");
    let found = server.send(&line, &json!({ "items": ["old", "new"] })).json();
    [0, 1].map(|item| found["present"][item].as_bool().unwrap())
}

#[test]
fn a_filter_is_replaced_only_on_request_and_only_by_a_sound_one() {
    let server = Server::plain();
    let file = two(&server);
    let put = |query: &str, bytes: &[u8]| {
        server.ask(&format!("PUT /v1/filters/live/file{query}"), &FILE, bytes).status
    };
    for query in ["", "?replace=false"] {
        assert_eq!(put(query, &file), 409, "{query:?}");
    }
    for query in ["?replace=maybe", "?replace", "?force=true"] {
        assert_eq!(put(query, &file), 400, "{query:?}");
    }
    let mut damaged = file.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for (what, bytes) in
        [("damaged", &damaged[..]), ("cut", &file[..file.len() - 1]), ("none", b"")]
    {
        assert_eq!(put("?replace=true", bytes), 400, "{what}");
        assert_eq!(found(&server, "live"), [true, false], "{what}");
    }
    assert!(server.shared.keyspace.expire(b"live", u64::MAX, 1, None).unwrap());
    assert_eq!(put("?replace=true", &file), 201);
    assert_eq!(found(&server, "live"), [false, true]);
    let live = server.get("/v1/filters/live").json();
    assert_eq!((&live["items"], &live["expires_at"]), (&json!(1), &json!(null)));
    // If there is none, one is created.
    let made = server.ask("PUT /v1/filters/third/file?replace=true", &FILE, &file);
    assert_eq!((made.status, found(&server, "third")), (201, [false, true]));
    assert_eq!(server.get("/v1/filters").json()["filters"].as_array().unwrap().len(), 3);
}

#[test]
fn a_file_of_the_data_folder_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain();
    let file = two(&server);
    std::fs::write(folder.path().join("listed.mayhap"), &file).unwrap();
    Files::serve(&server.shared.keyspace, &folder.path().join("listed.mayhap")).unwrap();
    let refused = server.ask("PUT /v1/filters/listed/file?replace=true", &FILE, &file);
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("read-only"), "{}", refused.text());
}

#[test]
fn a_restart_finds_the_new_filter() {
    let folder = tempfile::tempdir().unwrap();
    {
        let server = kept(folder.path(), Policy::No);
        let file = two(&server);
        let replaced = server.ask("PUT /v1/filters/live/file?replace=true", &FILE, &file);
        assert_eq!(replaced.status, 201);
    }
    let server = kept(folder.path(), Policy::No);
    assert_eq!(found(&server, "live"), [false, true]);
    assert_eq!(server.shared.keyspace.len(), 2);
}
