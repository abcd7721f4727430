//! The dashboard and the metrics of a server in front of a store. The page itself is tested in a
//! browser, by `web/test/`.

use super::http::{get, send};
use super::{Client, config, redis};
use mayhap_server::{Config, Running, Server};
use serde_json::{Value, json};

/// The only event of a stream.
fn event(front: &Running, filters: &str) -> Value {
    let answer = get(front, &format!("/ui/events?events=1&filters={filters}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.text();
    let event = text.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(event.unwrap_or_else(|| panic!("{text}"))).unwrap()
}

#[test]
fn the_dashboard_shows_the_filters_of_the_store_and_leaves_out_what_no_store_says() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    for path in ["/ui", "/ui/main.js", "/ui/clients", "/ui/slow", "/openapi.json", "/"] {
        assert_eq!(get(&front, path).status, 200, "{path}");
    }
    assert_eq!(send(&front, "PUT /v1/filters/f", &json!({ "capacity": 100 })).status, 201);
    let items = json!({ "items": ["a", "b", "c"] });
    assert_eq!(send(&front, "POST /v1/filters/f/add", &items).json()["added"], 3);
    let before = event(&front, "");
    assert_eq!(before["server"]["filters"], Value::Null, "nobody has listed them");
    assert_eq!(get(&front, "/v1/filters").json()["next"], Value::Null);

    let event = event(&front, "f,none,%25FF");
    let server = &event["server"];
    assert_eq!(server["store"], redis.url());
    assert_eq!((&server["filters"], &server["nodes"]), (&json!(1), &json!(1)));
    assert!(server["version"].as_str().is_some_and(|it| !it.is_empty()), "{server}");
    assert_eq!((&server["items_added"], &server["items_checked"]), (&json!(3), &json!(0)));
    assert!(server["persistence"]["eviction"].is_string(), "{server}");
    // A log and the names of a server with filters of its own.
    assert!(server.get("log").is_none() && server.get("is_lost").is_none(), "{server}");
    let [filter] = &event["filters"].as_array().unwrap()[..] else { panic!("{event}") };
    assert_eq!((&filter["name"], &filter["items"]), (&json!("f"), &json!(3)));
    for absent in ["items_checked", "distinct_items", "layers"] {
        assert!(filter.get(absent).is_none(), "{absent} of {filter}");
    }
    // What pages have shown, and no more.
    let samples = |filter: &str| {
        let answer = get(&front, &format!("/ui/history?filter={filter}")).json();
        answer["samples"].as_array().unwrap().len()
    };
    assert_eq!((samples("f"), samples("none")), (1, 0));
}

/// A server whose user at the store may not call `INFO`.
#[test]
fn a_store_that_does_not_tell_its_state_still_shows_its_filters() {
    let Some(redis) = redis() else { return };
    let rules = ["ACL", "SETUSER", "front", "on", ">pw", "~*", "+@all", "-info"];
    redis.cli(&rules).unwrap();
    let url = redis.url().replace("redis://", "redis://front:pw@");
    let front = Server::start(config(&url)).unwrap();
    assert_eq!(send(&front, "PUT /v1/filters/f", &json!({ "capacity": 100 })).status, 201);
    let event = event(&front, "f");
    assert_eq!(event["filters"][0]["name"], "f");
    let server = &event["server"];
    for absent in ["problem", "is_lost", "num_bytes", "version", "persistence"] {
        assert!(server.get(absent).is_none(), "{absent} of {server}");
    }
    assert!(!event.to_string().contains("pw"), "{event}");
}

/// A server whose password at the store has changed.
#[test]
fn a_store_that_refuses_the_user_is_a_problem_on_the_page() {
    let Some(redis) = redis() else { return };
    redis.cli(&["ACL", "SETUSER", "front", "on", ">pw", "~*", "+@all"]).unwrap();
    let url = redis.url().replace("redis://", "redis://front:pw@");
    let front = Server::start(config(&url)).unwrap();
    assert_eq!(send(&front, "PUT /v1/filters/f", &json!({ "capacity": 100 })).status, 201);
    redis.cli(&["ACL", "SETUSER", "front", "resetpass", ">other"]).unwrap();
    redis.cli(&["CLIENT", "KILL", "USER", "front"]).unwrap();
    let event = event(&front, "f");
    let problem = event["server"]["problem"].as_str().unwrap_or_else(|| panic!("{event}"));
    assert!(problem.contains("refuses this user or password"), "{event}");
    assert_eq!(event["server"]["is_lost"], false, "it answers: {event}");
    let row = &event["filters"][0];
    assert!(row["problem"].as_str().is_some_and(|text| text.contains("refuses")), "{event}");
}

#[test]
fn metrics_have_the_filters_that_were_used_and_no_zeros_for_what_is_not_here() {
    let Some(redis) = redis() else { return };
    let front = Server::start(Config { store_timeout_ms: 600, ..config(&redis.url()) }).unwrap();
    let mut client = Client::of(&front);
    client.ask("BF.RESERVE f 0.01 1000");
    client.ask("BF.MADD f a b");
    let page = get(&front, "/metrics").text();
    let line = |text: &str| page.lines().any(|line| line == text);
    assert!(line("mayhap_filters_listed 1"), "{page}");
    assert!(line("mayhap_filter_items{filter=\"f\"} 2"), "{page}");
    assert!(line("mayhap_filter_capacity{filter=\"f\"} 1000"), "{page}");
    assert!(line("mayhap_filter_target_fpp{filter=\"f\"} 0.01"), "{page}");
    for absent in ["mayhap_filters ", "mayhap_memory_bytes", "mayhap_unreadable_files"] {
        assert!(!page.contains(absent), "{absent}: {page}");
    }
    redis.pause().unwrap();
    let page = get(&front, "/metrics");
    assert_eq!(page.status, 200);
    let line = |text: &str| page.text().lines().any(|line| line == text);
    assert!(line("mayhap_store_reached 0") && line("mayhap_filters_listed 0"), "{page:?}");
    assert!(!page.text().contains("filter=\"f\""), "{page:?}");
    redis.resume().unwrap();
}
