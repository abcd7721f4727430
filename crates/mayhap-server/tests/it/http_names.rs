//! Expiry and renaming of filters over HTTP, beyond the cases shared with the commands.

use crate::http::Server;
use crate::http_parity::full;
use serde_json::json;

#[test]
fn an_end_and_a_name_that_are_not_as_they_should_be_are_named() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    server.send("PUT /v1/filters/g", &json!({}));
    for (line, body, status, problem) in [
        ("PUT f/expiry", json!({}), 400, "give either expires_at or expires_in"),
        ("PUT f/expiry", json!({ "expires_at": 0 }), 400, "expires_at must be "),
        ("PUT f/expiry", json!({ "expires_at": "7d" }), 400, "expires_at must be "),
        ("PUT f/expiry", json!({ "expires_in": 7 }), 400, "expires_in must be "),
        ("PUT f/expiry", json!({ "expires_in": "0s" }), 400, "expires_in must be "),
        ("PUT f/expiry", json!({ "expires_in": "9999999999999w" }), 400, "expires_in must be "),
        ("PUT f/expiry", json!({ "expires_in": "7d", "expires_at": 9 }), 400, "give either "),
        ("PUT none/expiry", json!({ "expires_in": "7d" }), 404, "there is no filter"),
        ("DELETE none/expiry", json!({}), 404, "there is no filter"),
        ("POST f/rename", json!({}), 400, "give either to or to_base64"),
        ("POST f/rename", json!({ "to": "" }), 400, "to must be "),
        ("POST f/rename", json!({ "to": 1 }), 400, "to must be "),
        ("POST f/rename", json!({ "to_base64": "*" }), 400, "to_base64 must be "),
        ("POST f/rename", json!({ "to": "h", "replace": 1 }), 400, "replace must be "),
        ("POST f/rename", json!({ "to": "x".repeat(2_000) }), 400, "the name has 2000 bytes"),
        ("POST f/rename", json!({ "to": "g" }), 409, "item exists"),
        ("POST none/rename", json!({ "to": "h" }), 404, "there is no filter"),
    ] {
        let refused = server.send(&full(line), &body);
        assert_eq!(refused.status, status, "{line} {body}: {}", refused.text());
        let found = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(found.starts_with(problem), "{line} {body}: {found}");
    }
    let renamed = server.send("POST /v1/filters/f/rename", &json!({ "to_base64": "/wA=" }));
    assert_eq!(renamed.json()["path"], "/v1/filters/%FF%00");
    assert_eq!(server.get("/v1/filters/f").status, 404);
}
