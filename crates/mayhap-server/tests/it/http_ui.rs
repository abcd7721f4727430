//! The dashboard: its stream, and the rights that its parts need. The page itself is tested in a
//! browser, by `web/test/dashboard.test.mjs`.

use crate::http::{Answer, Server};
use crate::http_guard::{basic, guarded};
use serde_json::{Value, json};

/// The events of a stream that has ended.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "text/event-stream");
    // In chunks, each after its length: only whole events are lines of data.
    let text = answer.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|event| serde_json::from_str(event).unwrap()).collect()
}

#[test]
fn the_stream_has_the_server_and_the_filters_that_were_named() {
    let server = Server::plain();
    for name in ["a", "%3Cimg%20src=x%3E", "other"] {
        assert_eq!(server.send(&format!("PUT /v1/filters/{name}"), &json!({})).status, 201);
    }
    let items = json!({ "items": ["one", "two"] });
    assert_eq!(server.send("POST /v1/filters/a/add", &items).status, 200);
    let items = json!({ "items": ["one", "three", "four"] });
    assert_eq!(server.send("POST /v1/filters/a/check", &items).status, 200);
    let path = "/ui/events?events=2&filters=a,%253Cimg%2520src=x%253E,missing";
    let events = events(&server.get(path));
    assert_eq!(events.len(), 2);
    for event in &events {
        assert_eq!(event["server"]["filters"], 3);
        assert_eq!(event["server"]["items_added"], 2);
        assert_eq!(event["server"]["log"], Value::Null);
        let filters = event["filters"].as_array().unwrap();
        let names: Vec<_> = filters.iter().map(|filter| filter["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "<img src=x>"]);
        assert_eq!(filters[0]["items"], 2);
        assert_eq!(filters[0]["items_checked"], 3);
    }
}

#[test]
fn too_many_filters_and_bad_names_are_refused() {
    let server = Server::plain();
    let names = |count: usize| vec!["f"; count].join(",");
    let status = |names: &str| server.get(&format!("/ui/events?events=1&filters={names}")).status;
    assert_eq!(status(&names(100)), 200);
    assert_eq!(status(&names(101)), 400);
    assert_eq!(status("%25zz"), 400);
    assert_eq!(server.get("/ui/events?tick=1").status, 400);
}

#[test]
fn a_stream_has_no_filter_beyond_the_prefix_of_its_user() {
    let server = guarded();
    let all = [("Authorization", "Bearer master password"), ("Content-Type", "application/json")];
    for name in ["f", "shop:1"] {
        assert_eq!(server.ask(&format!("PUT /v1/filters/{name}"), &all, b"{}").status, 201);
    }
    let shop = basic("shop", "in its corner");
    let path = "GET /ui/events?events=1&filters=f,shop:1";
    let answer = server.ask(path, &[("Authorization", &*shop)], b"");
    let filters = &events(&answer)[0]["filters"];
    assert_eq!(filters.as_array().unwrap().len(), 1, "{filters}");
    assert_eq!(filters[0]["name"], "shop:1");
    assert_eq!(server.ask(path, &[], b"").status, 401);
}

#[test]
fn the_history_of_a_filter_is_for_users_who_may_read_it() {
    let server = guarded();
    let all = [("Authorization", "Bearer master password"), ("Content-Type", "application/json")];
    for name in ["f", "shop:1"] {
        assert_eq!(server.ask(&format!("PUT /v1/filters/{name}"), &all, b"{}").status, 201);
    }
    let history = |name: &str, user: &str| {
        let path = format!("GET /ui/history?filter={name}");
        server.ask(&path, &[("Authorization", user)], b"")
    };
    let items = |name: &str| {
        let body = history(name, "Bearer master password").json();
        let samples = body["samples"].as_array().unwrap().clone();
        samples.iter().map(|sample| sample[2].as_f64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(items("f"), [0.0]);
    let body = json!({ "items": ["key"] }).to_string();
    assert_eq!(server.ask("POST /v1/filters/f/add", &all, body.as_bytes()).status, 200);
    // It was kept: the next sample is due in a minute.
    assert_eq!(items("f"), [0.0]);
    let shop = basic("shop", "in its corner");
    assert_eq!(history("shop:1", &shop).status, 200);
    assert_eq!(history("f", &shop).status, 403);
    assert_eq!(history("none", "Bearer master password").status, 404);
    assert_eq!(history("%25zz", "Bearer master password").status, 400);
    assert_eq!(server.ask("GET /ui/history?filter=f", &[], b"").status, 401);
}

#[test]
fn the_page_runs_only_scripts_of_its_own() {
    let server = Server::plain();
    let page = server.get("/ui");
    let policy = page.header("content-security-policy").to_owned();
    assert_eq!(policy, "default-src 'self'; frame-ancestors 'none'");
    let text = page.text();
    // Inline scripts, styles and handlers would be blocked by that policy.
    assert_eq!(text.matches("<script").count(), text.matches("src=\"/ui/").count());
    assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains(" on"));
    let files = text.split('"').filter(|part| part.starts_with("/ui/"));
    let files: Vec<_> = files.chain(["/ui/worker.js"]).collect();
    assert!(files.len() >= 10, "{files:?}");
    for path in files {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}
