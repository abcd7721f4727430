//! Other names, expiry and keys by their digests over HTTP, of filters in a store.

use super::http::{READER, WRITER, get, guarded, problem, send, send_as};
use super::{Client, cluster, config, redis};
use crate::http::Server as Plain;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::DigestFunction;
use mayhap_engine::unix_ms;
use mayhap_server::{Config, Server};
use serde_json::{Value, json};

#[test]
fn names_and_ends_change_as_on_a_server_with_filters_of_its_own() {
    let Some(redis) = redis() else { return };
    let plain = Plain::start(Config::default());
    let front = Server::start(config(&redis.url())).unwrap();
    let fixed = json!({ "capacity": 100, "fixed": true });
    let past = json!({ "expires_at": 1 });
    for (line, body) in [
        ("PUT /v1/filters/f", &fixed),
        ("PUT /v1/filters/g", &fixed),
        ("POST /v1/filters/f/add", &json!({ "items": ["of-f"] })),
        ("PUT /v1/filters/f/expiry", &json!({ "expires_in": "1h" })),
        ("PUT /v1/filters/f/expiry", &json!({ "expires_at": unix_ms() + 7_200_000 })),
        ("DELETE /v1/filters/f/expiry", &Value::Null),
        ("DELETE /v1/filters/f/expiry", &Value::Null),
        ("PUT /v1/filters/f/expiry", &json!({})),
        ("PUT /v1/filters/f/expiry", &json!({ "expires_at": 0 })),
        ("PUT /v1/filters/f/expiry", &json!({ "expires_in": "soon" })),
        ("PUT /v1/filters/none/expiry", &json!({ "expires_in": "1h" })),
        ("PUT /v1/filters/none/expiry", &past),
        ("DELETE /v1/filters/none/expiry", &Value::Null),
        ("POST /v1/filters/f/rename", &json!({ "to": "g" })),
        ("POST /v1/filters/f/rename", &json!({ "to": "f" })),
        ("POST /v1/filters/f/rename", &json!({ "to": "f", "replace": true })),
        ("POST /v1/filters/f/rename", &json!({ "to": "h", "replace": 1 })),
        ("POST /v1/filters/f/rename", &json!({ "to": "" })),
        ("POST /v1/filters/f/rename", &json!({})),
        ("POST /v1/filters/none/rename", &json!({ "to": "h" })),
        ("POST /v1/filters/f/rename", &json!({ "to_base64": "aA==" })),
        ("GET /v1/filters/f", &Value::Null),
        ("POST /v1/filters/h/check", &json!({ "items": ["of-f", "of-g"] })),
        ("POST /v1/filters/h/rename", &json!({ "to": "g", "replace": true })),
        ("POST /v1/filters/g/check", &json!({ "items": ["of-f", "of-g"] })),
        ("PUT /v1/filters/g/expiry", &past),
        ("GET /v1/filters/g", &Value::Null),
    ] {
        let (answer, expected) = (send(&front, line, body), plain.send(line, body));
        assert_eq!(answer.status, expected.status, "{line} {body}: {answer:?}, {expected:?}");
        match answer.status {
            204 => assert_eq!(answer.text(), "", "{line}"),
            // Of a missing filter each says where it was looked for.
            404 => assert!(problem(&answer).contains("filter"), "{line}: {answer:?}"),
            400.. => assert_eq!(answer.text(), expected.text(), "{line} {body}"),
            _ if line.ends_with("add") || line.ends_with("check") => {
                assert_eq!(answer.text(), expected.text(), "{line}");
            }
            _ => {
                let (answer, expected) = (answer.json(), expected.json());
                for member in ["name", "path", "capacity", "target_fpp"] {
                    assert_eq!(answer[member], expected[member], "{line} {body}: {member}");
                }
                // Two clocks, and the time between two requests.
                let end = |value: &Value| value["expires_at"].as_u64().map(|at| at / 60_000);
                let ends = (end(&answer), end(&expected));
                let far = ends.0.unwrap_or(0).abs_diff(ends.1.unwrap_or(0));
                assert!(ends.0.is_some() == ends.1.is_some() && far <= 1, "{line}: {ends:?}");
            }
        }
    }
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0", "nothing is left behind");
    assert_eq!(send(&front, "PUT /v1/filters/f", &fixed).status, 201);
    let far = send(&front, "PUT /v1/filters/f/expiry", &json!({ "expires_at": u64::MAX }));
    assert!(far.status == 400 && problem(&far).contains("within"), "{far:?}");
    let odd = send(&front, "POST /v1/filters/f/rename", &json!({ "to": "a{b" }));
    assert!(odd.status == 400 && problem(&odd).contains('{'), "{odd:?}");
    redis.cli(&["SET", "taken", "a value"]).unwrap();
    for replace in [false, true] {
        let body = json!({ "to": "taken", "replace": replace });
        let taken = send(&front, "POST /v1/filters/f/rename", &body);
        assert!(taken.status == 409 && problem(&taken).contains("taken"), "{taken:?}");
    }
    assert_eq!(redis.cli(&["GET", "taken"]).unwrap(), "a value");
    assert_eq!(get(&front, "/v1/filters/f").json()["expires_at"], Value::Null);
    front.shut_down().unwrap();
}

#[test]
fn a_cluster_refuses_another_name_with_the_way_out() {
    let Some((_cluster, url)) = cluster() else { return };
    let front = Server::start(config(&url)).unwrap();
    assert_eq!(send(&front, "PUT /v1/filters/f", &json!({ "capacity": 100 })).status, 201);
    let refused = send(&front, "POST /v1/filters/f/rename", &json!({ "to": "g" }));
    assert!(refused.status == 409 && problem(&refused).contains("mayhap move"), "{refused:?}");
    let ends = send(&front, "PUT /v1/filters/f/expiry", &json!({ "expires_in": "1h" }));
    assert!(ends.status == 200 && ends.json()["expires_at"].is_u64(), "{ends:?}");
}

#[test]
fn items_by_their_digests_are_those_of_the_commands() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    let batch = |items: &[&str]| {
        let digest = |item: &&str| DigestFunction::xxh3(0).digest(item.as_bytes()).get();
        let bytes: Vec<u8> = items.iter().flat_map(|item| digest(item).to_le_bytes()).collect();
        json!({ "digests_base64": STANDARD.encode(bytes) })
    };
    let gone = send(&front, "POST /v1/filters/f/add", &batch(&["a"]));
    assert_eq!(gone.status, 404, "{gone:?}");
    let mut first = batch(&["a", "b", "a"]);
    first["create"] = json!({ "capacity": 1000, "target_fpp": 1e-9 });
    let added = send(&front, "POST /v1/filters/f/add", &first).json();
    assert_eq!(added, json!({ "new": [true, true, false], "added": 2 }));
    assert_eq!(client.ask("BF.MEXISTS f a b c"), "*3\r\n:1\r\n:1\r\n:0\r\n");
    assert_eq!(client.ask("BF.ADD f c"), ":1\r\n");
    let found = send(&front, "POST /v1/filters/f/check", &batch(&["c", "d", "a"])).json();
    assert_eq!(found, json!({ "present": [true, false, true], "found": 2 }));
    let none = send(&front, "POST /v1/filters/f/check", &batch(&[])).json();
    assert_eq!(none, json!({ "present": [], "found": 0 }));
    redis.flush().unwrap();
    for body in [batch(&["a"]), batch(&[])] {
        assert_eq!(send(&front, "POST /v1/filters/f/check", &body).status, 404, "{body}");
    }
}

#[test]
fn digests_of_keyed_filters_need_an_admin_and_changes_the_right_to_write() {
    let Some(redis) = redis() else { return };
    let (front, _folder) = guarded(&redis);
    let size = json!({ "capacity": 100 });
    assert_eq!(send_as(&front, "PUT /v1/filters/shop:f", &size, &[WRITER]).status, 201);
    let digests = json!({ "digests_base64": "H06WHrYyxuY=" });
    let (ours, theirs) = (json!({ "to": "shop:g" }), json!({ "to": "other" }));
    let end = json!({ "expires_in": "1h" });
    for (line, body, of_writer, of_reader) in [
        ("POST /v1/filters/shop:f/add", &digests, 403, 403),
        ("POST /v1/filters/shop:f/check", &digests, 200, 200),
        ("POST /v1/filters/other/check", &digests, 403, 403),
        ("POST /v1/filters/shop:f/rename", &theirs, 403, 403),
        ("POST /v1/filters/other/rename", &ours, 403, 403),
        ("PUT /v1/filters/other/expiry", &end, 403, 403),
        ("DELETE /v1/filters/other/expiry", &Value::Null, 403, 403),
        ("PUT /v1/filters/shop:f/expiry", &end, 200, 403),
        ("DELETE /v1/filters/shop:f/expiry", &Value::Null, 200, 403),
        ("POST /v1/filters/shop:f/rename", &ours, 200, 403),
    ] {
        assert_eq!(send_as(&front, line, body, &[READER]).status, of_reader, "{line}");
        assert_eq!(send_as(&front, line, body, &[WRITER]).status, of_writer, "{line}");
    }
    let found = send_as(&front, "GET /v1/filters/shop:g", &Value::Null, &[READER]).json();
    assert_eq!((&found["items"], &found["keyed"]), (&json!(0), &json!(true)));
}
