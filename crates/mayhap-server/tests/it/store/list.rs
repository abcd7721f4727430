//! The list of the filters in a store.

use super::http::{get, send};
use super::{Client, cluster, config, redis};
use mayhap_server::{Running, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The names on all pages of a list, and the number of pages.
fn names(front: &Running, query: &str) -> (Vec<String>, usize) {
    let (mut names, mut cursor, mut pages) = (Vec::new(), json!(0), 0);
    while !cursor.is_null() {
        let page = get(front, &format!("/v1/filters?cursor={cursor}&{query}")).json();
        let filters = page["filters"].as_array().unwrap_or_else(|| panic!("{page}"));
        names.extend(filters.iter().map(|filter| filter["name"].as_str().unwrap().to_owned()));
        cursor = page["next"].clone();
        pages += 1;
    }
    (names, pages)
}

/// Whether all pages have these names, each once, at last: a list may be a few milliseconds old.
fn has(front: &Running, query: &str, expected: &BTreeSet<String>) -> bool {
    (0..200).any(|_| {
        let (names, _) = names(front, query);
        let found: BTreeSet<String> = names.iter().cloned().collect();
        if found == *expected && names.len() == expected.len() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
        false
    })
}

fn reserve(front: &Running, names: &BTreeSet<String>) {
    let requests: Vec<[&str; 4]> =
        names.iter().map(|name| ["BF.RESERVE", name, "0.01", "10"]).collect();
    let requests: Vec<&[&str]> = requests.iter().map(|words| &words[..]).collect();
    assert_eq!(Client::of(front).ask_all(&requests), "+OK\r\n".repeat(names.len()));
}

#[test]
fn a_long_list_has_each_filter_on_one_of_its_pages() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    assert_eq!(names(&front, "limit=100"), (Vec::new(), 1));
    let all: BTreeSet<String> =
        (0..1_500).map(|i| format!("{}:{i}", if i % 3 == 0 { "shop" } else { "log" })).collect();
    reserve(&front, &all);
    // Keys of others, and what looks like a filter's parameters.
    for words in [
        &["SET", "{shop:x}:meta", "a"][..],
        &["HSET", "{shop:y}:config", "a", "b"],
        &["HSET", "shop:z", "a", "b"],
        &["HSET", "{shop:w}:metal", "a", "b"],
    ] {
        redis.cli(words).unwrap();
    }
    let (listed, pages) = names(&front, "limit=100");
    assert_eq!((listed.len(), pages), (1_500, 15), "this server has made them all");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), all);
    assert_eq!(names(&front, "limit=100000").1, 2, "a page has 1000 at most");
    let shops: BTreeSet<String> =
        all.iter().filter(|name| name.starts_with("shop")).cloned().collect();
    let (listed, pages) = names(&front, "limit=200&match=shop:*");
    assert_eq!((listed.len(), pages), (500, 8));
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), shops);

    // What this server has deleted is not on its next list; what another one did soon is neither.
    assert_eq!(send(&front, "DELETE /v1/filters/shop:0", &Value::Null).status, 204);
    assert_eq!(names(&front, "limit=1000").0.len(), 1_499);
    let other = Server::start(config(&redis.url())).unwrap();
    let mut rest = all.clone();
    rest.remove("shop:0");
    assert!(has(&other, "limit=700", &rest));
    assert_eq!(Client::of(&other).ask("DEL log:1 log:2"), ":2\r\n");
    reserve(&other, &BTreeSet::from(["new".to_owned()]));
    rest.remove("log:1");
    rest.remove("log:2");
    rest.insert("new".to_owned());
    assert!(has(&front, "limit=700", &rest));
}

#[test]
fn the_list_of_a_cluster_has_the_filters_of_all_nodes() {
    let Some((cluster, url)) = cluster() else { return };
    let front = Server::start(config(&url)).unwrap();
    let all: BTreeSet<String> = (0..60).map(|i| format!("f{i}")).collect();
    reserve(&front, &all);
    assert!(has(&front, "limit=7", &all));
    let size = json!({ "capacity": 10_000_000, "target_fpp": 1e-4 });
    let made = send(&front, "PUT /v1/filters/large", &size).json();
    assert!(made["shards"].as_u64().is_some_and(|shards| shards > 1), "{made}");
    let items: Vec<String> = (0..2_000).map(|i| format!("key-{i}")).collect();
    let items = json!({ "items": items });
    assert_eq!(send(&front, "POST /v1/filters/large/add", &items).json()["added"], 2_000);
    cluster.reshard(0, 1, 3_000).unwrap();
    assert_eq!(send(&front, "POST /v1/filters/large/check", &items).json()["found"], 2_000);
    let mut with_large = all.clone();
    with_large.insert("large".to_owned());
    assert!(has(&front, "limit=7", &with_large));
    assert_eq!(send(&front, "DELETE /v1/filters/large", &Value::Null).status, 204);
    assert!(has(&front, "limit=7", &all));
}
