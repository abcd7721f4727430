//! Filters keep the rate that they were created with, or report on the wire that they do not.

use crate::attack::numbered;
use crate::command::Server;
use crate::http;
use mayhap_engine::keyspace::Upkeep;
use serde_json::json;

/// `BF.MADD` of these keys; returns how many were new, and the error at the end, if any.
fn add(server: &mut Server, name: &str, keys: std::ops::Range<u64>) -> (usize, Option<String>) {
    let mut request = vec![b"BF.MADD".to_vec(), name.into()];
    request.extend(numbered("key", keys));
    let answer = String::from_utf8(server.ask(&request)).unwrap();
    let error = answer.lines().find(|line| line.starts_with('-')).map(str::to_owned);
    (answer.lines().filter(|&line| line == ":1").count(), error)
}

/// How many of these keys are found.
fn found(server: &mut Server, name: &str, keys: std::ops::Range<u64>) -> usize {
    let mut request = vec![b"BF.MEXISTS".to_vec(), name.into()];
    request.extend(numbered("key", keys));
    let answer = String::from_utf8(server.ask(&request)).unwrap();
    answer.lines().filter(|&line| line == ":1").count()
}

const FULL: &str = "-ERR non scaling filter is full";

#[test]
fn a_counting_filter_reports_that_it_is_full_like_a_fixed_one() {
    for (kind, rate) in [("NONSCALING", 0.01), ("COUNTING", 0.01), ("COUNTING", 1e-4)] {
        let mut server = Server::new();
        server.line(&format!("BF.RESERVE f {rate} 5000 {kind}"));
        let mut new = 0;
        for at in (0..20_000).step_by(1000) {
            new += add(&mut server, "f", at..at + 1000).0;
        }
        assert!((4_900..=5_000).contains(&new), "{kind}: {new}");
        let (none, error) = add(&mut server, "f", 20_000..20_001);
        assert_eq!((none, error.as_deref()), (0, Some(FULL)), "{kind}");
        assert_eq!(server.line("BF.ADD f another"), format!("{FULL}\r\n"), "{kind}");
        let absent = found(&mut server, "f", 1_000_000..1_020_000);
        assert!((absent as f64) < 20_000.0 * rate * 1.3, "{kind}: {absent} of 20,000");
        // Present keys can be added again any number of times.
        assert_eq!(add(&mut server, "f", 0..1000), (0, None), "{kind}");
    }
}

#[test]
fn repeats_take_no_room_in_a_counting_filter_and_removals_make_room() {
    let mut server = Server::new();
    server.line("BF.RESERVE f 0.001 100 COUNTING");
    for _ in 0..20 {
        assert_eq!(add(&mut server, "f", 0..1).1, None);
    }
    assert_eq!(add(&mut server, "f", 1..100), (99, None), "100 distinct keys");
    assert_eq!(add(&mut server, "f", 50..150), (0, Some(FULL.into())), "and no more");
    assert_eq!(found(&mut server, "f", 0..100), 100);
    assert_eq!(server.line("BF.REM f key:1 key:2"), "*2\r\n:1\r\n:1\r\n");
    assert_eq!(add(&mut server, "f", 200..202), (2, None), "two places were returned");
    assert_eq!(add(&mut server, "f", 202..203), (0, Some(FULL.into())));
    // The keys before the one without room are inserted.
    assert_eq!(server.line("BF.REM f key:3"), "*1\r\n:1\r\n");
    assert_eq!(add(&mut server, "f", 300..303), (1, Some(FULL.into())));
    assert_eq!(found(&mut server, "f", 300..303), 1);
}

const MERGED: [(&str, &str); 5] = [
    ("NONSCALING", "fixed"),
    ("COUNTING", "counting"),
    ("LAYOUT compact", "compact"),
    ("", "growing"),
    ("LAYOUT standard NONSCALING", "standard"),
];

#[test]
fn a_union_that_does_not_fit_is_refused_and_one_that_fits_holds_the_rate() {
    for (kind, what) in MERGED {
        let mut server = Server::new();
        for n in 0..10 {
            assert_eq!(server.line(&format!("BF.RESERVE f{n} 0.01 3000 {kind}")), "+OK\r\n");
            let (new, error) = add(&mut server, &format!("f{n}"), n * 300..n * 300 + 300);
            // One may be taken for a repeat.
            assert!(new >= 299 && error.is_none(), "{what}: {new} {error:?}");
        }
        let all = "f0 f1 f2 f3 f4 f5 f6 f7 f8 f9";
        assert_eq!(server.line(&format!("BF.MERGE fits {all}")), "+OK\r\n", "{what}");
        assert_eq!(found(&mut server, "fits", 0..3000), 3000, "{what}");
        let wrong = found(&mut server, "fits", 1_000_000..1_020_000);
        assert!(wrong < 300, "{what}: {wrong} of 20,000 are false positives");
        for n in 0..10 {
            let keys = 10_000 * (n + 1)..10_000 * (n + 1) + 2_000;
            assert!(add(&mut server, &format!("f{n}"), keys).0 > 1_900, "{what}");
        }
        let answer = server.line(&format!("BF.MERGE all {all}"));
        if kind.is_empty() {
            assert_eq!(answer, "+OK\r\n");
            let wrong = found(&mut server, "all", 1_000_000..1_020_000);
            assert!(wrong < 300, "{what}: {wrong} of 20,000 are false positives");
            continue;
        }
        assert!(answer.starts_with("-ERR cannot merge these filters: "), "{what}: {answer}");
        assert!(answer.contains("3000"), "{what}: {answer}");
        assert_eq!(server.line("EXISTS all"), ":0\r\n", "{what}");
        assert_eq!(found(&mut server, "f9", 100_000..102_000), 2_000, "{what}");
    }
}

#[test]
fn a_full_filter_and_one_that_adds_nothing_to_it_are_united() {
    let mut server = Server::new();
    for n in 0..40 {
        let (full, none) = (format!("full{n}"), format!("none{n}"));
        server.line(&format!("BF.RESERVE {full} 0.01 3000 NONSCALING"));
        server.line(&format!("BF.RESERVE {none} 0.01 3000 NONSCALING"));
        add(&mut server, &full, n * 10_000..n * 10_000 + 4_000);
        add(&mut server, &none, n * 10_000..n * 10_000 + 100);
        let answer = server.line(&format!("BF.MERGE all{n} {full} {none}"));
        assert_eq!(answer, "+OK\r\n", "{n}: it has no key that the full one lacks");
        assert_eq!(
            server.line(&format!("BF.CARD all{n}")),
            server.line(&format!("BF.CARD {full}"))
        );
    }
}

#[test]
fn kinds_that_cannot_be_united_are_named() {
    let mut server = Server::new();
    for (name, kind) in [
        ("w", "WINDOW 1000"),
        ("v", "WINDOW 1000"),
        ("c", "CLEARAT 0.5"),
        ("d", "CLEARAT 0.5"),
        ("n", "COUNTING"),
        ("f", "NONSCALING"),
        ("g", ""),
    ] {
        assert_eq!(server.line(&format!("BF.RESERVE {name} 0.01 1000 {kind}")), "+OK\r\n");
    }
    for (pair, words) in [
        ("w v", "window filters"),
        ("c d", "clearing filters"),
        ("n f", "counting against "),
        ("g n", "scalable against counting"),
        ("w g", "window filters"),
    ] {
        let answer = server.line(&format!("BF.MERGE all {pair}"));
        assert!(answer.starts_with("-ERR cannot merge these filters: "), "{pair}: {answer}");
        assert!(answer.contains(words) && !answer.contains(" against 1"), "{pair}: {answer}");
        assert!(!answer.contains("4 against 4"), "{pair}: {answer}");
    }
}

#[test]
fn over_http_a_union_that_does_not_fit_is_refused_too() {
    let server = http::Server::plain();
    for (n, kind) in [(0, "fixed"), (1, "counting"), (2, "layout")] {
        for m in 0..2 {
            let path = format!("/v1/filters/f{n}{m}");
            let mut wanted = json!({"capacity": 3000});
            wanted[kind] = if kind == "layout" { json!("compact") } else { json!(true) };
            let made = server.send(&format!("PUT {path}"), &wanted);
            assert_eq!(made.status, 201, "{kind}");
            let items: Vec<String> = (0..2_000).map(|i| format!("{m}:{i}")).collect();
            server.send(&format!("POST {path}/add"), &json!({ "items": items }));
        }
        let from = json!({ "from": [format!("f{n}0"), format!("f{n}1")] });
        let refused = server.send(&format!("POST /v1/filters/all{n}/merge"), &from);
        assert_eq!(refused.status, 409, "{kind}");
        assert!(refused.json()["error"].as_str().unwrap().contains("3000"), "{kind}");
        assert_eq!(server.get(&format!("/v1/filters/all{n}")).status, 404, "{kind}");
    }
}

/// As an operator learns of it: by `BF.INFO`, HTTP and metrics.
#[test]
fn an_exceeded_capacity_is_reported_wherever_filters_are_described() {
    let server = http::Server::plain();
    let mut client = Server::another(&server.shared);
    client.line("BF.RESERVE w 0.01 2000 WINDOW 1h");
    client.line("BF.RESERVE c 0.01 3000 CLEARAT 0.9");
    client.line("BF.RESERVE half 0.01 3000 CLEARAT 0.5");
    client.line("BF.RESERVE g 0.01 2000");
    client.line("BF.RESERVE n 0.01 2000 WINDOW 2000");
    for at in (0..20_000).step_by(100) {
        add(&mut client, "half", at..at + 100);
        assert_eq!(client.line("BF.INFO half OVERCAPACITY"), "*1\r\n:0\r\n", "it is cleared");
    }
    for (name, over) in [("w", 1), ("c", 1), ("g", 0), ("n", 0)] {
        assert_eq!(client.line(&format!("BF.INFO {name} OVERCAPACITY")), "*1\r\n:0\r\n");
        for at in (0..8_000).step_by(1_000) {
            add(&mut client, name, at..at + 1_000);
        }
        let said = client.line(&format!("BF.INFO {name} OVERCAPACITY"));
        assert_eq!(said, format!("*1\r\n:{over}\r\n"), "{name}");
        let described = server.get(&format!("/v1/filters/{name}")).json();
        assert_eq!(described["over_capacity"], json!(over == 1), "{name}");
    }
    let forgotten = client.line("BF.INFO w FORGOTTENEARLY");
    let forgotten: u64 = forgotten.trim_start_matches("*1\r\n:").trim().parse().unwrap();
    assert!((5_000..7_000).contains(&forgotten), "{forgotten}");
    assert_eq!(client.line("BF.INFO n FORGOTTENEARLY"), "*1\r\n$-1\r\n");
    Upkeep::sweep(&server.shared.keyspace, 0, 100, 1, None);
    let page = String::from_utf8(server.get("/metrics").body).unwrap();
    for line in [
        "mayhap_filters_over_capacity 2".to_owned(),
        "mayhap_filter_over_capacity{filter=\"w\"} 1".to_owned(),
        "mayhap_filter_over_capacity{filter=\"g\"} 0".to_owned(),
        format!("mayhap_filter_forgotten_early{{filter=\"w\"}} {forgotten}"),
    ] {
        assert!(page.contains(&format!("\n{line}\n")), "{line}: {page}");
    }
    assert!(!page.contains("forgotten_early{filter=\"n\"}"));
    client.line("DEL w");
    Upkeep::sweep(&server.shared.keyspace, 0, 100, 1, None);
    assert_eq!(server.shared.keyspace.over_capacity(), 1);
}
