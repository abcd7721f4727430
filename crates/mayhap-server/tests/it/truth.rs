//! The server's fill ratio and rate of a filter: computed from all distinct keys inserted, not from
//! those that were answered "new".

use crate::attack::{Target, numbered};
use crate::http::Server;
use serde_json::json;

/// Absent keys for measuring a rate.
const ABSENT: u64 = 200_000;

fn number(server: &mut crate::command::Server, field: &str) -> f64 {
    let reply = server.line(&format!("BF.INFO f {field}"));
    let line = reply.split("\r\n").find(|line| line.starts_with([':', ',']));
    match line {
        Some(line) => line[1..].parse().unwrap(),
        // A bulk string, as doubles are in RESP2.
        None => reply.split("\r\n").nth(2).unwrap().parse().unwrap(),
    }
}

#[test]
fn a_filter_that_does_not_grow_is_full_at_its_rate() {
    for (layout, error) in [("blocked", 0.3), ("standard", 0.3), ("blocked", 0.1)] {
        let reserve = format!("BF.RESERVE f {error} 50000 NONSCALING LAYOUT {layout} KEYED no");
        let mut target = Target::new(&reserve);
        let mut keys = numbered("key", 0..100_000);
        let mut came = 0;
        let full = loop {
            let key = String::from_utf8(keys.next().unwrap()).unwrap();
            let reply = target.server.line(&format!("BF.ADD f {key}"));
            if reply.starts_with('-') {
                break reply;
            }
            came += 1;
        };
        assert!(full.contains("full"), "{full}");
        // The inserted keys, including those counted as repeats, within chance.
        assert!((49_500..51_000).contains(&came), "{layout} at {error}: full after {came}");
        let (items, distinct) =
            (number(&mut target.server, "ITEMS"), number(&mut target.server, "DISTINCT"));
        assert!(items < 50_000.0 * (1.0 - error / 6.0), "{items} items");
        assert!((distinct / f64::from(came) - 1.0).abs() < 0.015, "{distinct} of {came}");
        let wrong = target.ask(numbered("absent", 0..ABSENT)) as f64 / ABSENT as f64;
        let asking = (error * (1.0 - error) / ABSENT as f64).sqrt();
        let sigma = asking.hypot(2.0 * error / 50_000f64.sqrt());
        assert!((wrong - error).abs() < 3.0 * sigma, "{layout}: {wrong} for {error} ± {sigma}");
        let told = number(&mut target.server, "FPP");
        assert!((told / error - 1.0).abs() < 0.02, "{layout}: {told} reported for {error}");
    }
}

#[test]
fn a_growing_filter_reports_its_distinct_keys_over_http_too() {
    let server = Server::plain();
    let made = server.send("PUT /v1/filters/f", &json!({ "target_fpp": 0.1, "capacity": 3000 }));
    assert_eq!(made.status, 201, "{made:?}");
    for start in (0..30_000).step_by(1000) {
        let items: Vec<String> = (start..start + 1000).map(|i| format!("key:{i}")).collect();
        let added = server.send("POST /v1/filters/f/add", &json!({ "items": items }));
        assert_eq!(added.status, 200, "{added:?}");
    }
    let info = server.get("/v1/filters/f").json();
    let (items, came) = (info["items"].as_f64().unwrap(), info["distinct_items"].as_f64().unwrap());
    assert!(items < 29_500.0 && (came / 30_000.0 - 1.0).abs() < 0.01, "{info}");
    let page = server.get("/metrics").text();
    assert!(
        page.contains(&format!("mayhap_filter_distinct_items{{filter=\"f\"}} {came}")),
        "{page}"
    );
}
