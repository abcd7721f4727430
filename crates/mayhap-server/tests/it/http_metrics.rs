//! The metrics page, parsed like Prometheus does.

use crate::http::{Server, kept};
use mayhap_engine::durable::Policy;
use mayhap_server::config::Config;
use serde_json::{Value, json};

/// Parses the page like Prometheus; returns the families and filters of its lines.
pub(crate) fn check_metrics(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut declared = std::collections::BTreeSet::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(declared.insert(name.to_owned()), "twice: {line}");
            assert!(kind != "counter" || name.ends_with("_total"), "{line}");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
        value.parse::<f64>().unwrap_or_else(|_| panic!("{line:?}"));
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line:?}");
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let is_known = declared.contains(name) || base.is_some_and(|base| declared.contains(base));
        assert!(is_known && name.starts_with("mayhap_"), "{line:?}");
        let filter = labels.strip_prefix("filter=\"").map(|rest| {
            let rest = rest.strip_suffix("\"}").unwrap_or_else(|| panic!("{line:?}"));
            let plain = rest.replace("\\\\", "").replace("\\\"", "").replace("\\n", "");
            assert!(!plain.contains(['"', '\\']), "{line:?}");
            rest.to_owned()
        });
        found.push((name.to_owned(), filter.unwrap_or_default()));
    }
    found.sort();
    let count = found.len();
    let series = page.lines().filter(|line| !line.starts_with('#'));
    let series: std::collections::BTreeSet<&str> =
        series.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(series.len(), count, "a series is repeated");
    found
}

#[test]
fn metrics_count_operations_and_list_few_filters() {
    let server = Server::start(Config { metrics_filters: 2, ..Config::default() });
    for name in ["a", "b", "c"] {
        server.send(&format!("PUT /v1/filters/{name}"), &json!({ "capacity": 1000 }));
    }
    server.send("POST /v1/filters/a/add", &json!({ "items": ["1", "2", "2"] }));
    server.send("POST /v1/filters/a/check", &json!({ "items": ["1", "9"] }));
    server.get("/none");
    let page = server.get("/metrics").text();
    let told = check_metrics(&page);
    assert_eq!(told.iter().filter(|(name, _)| name == "mayhap_filter_items").count(), 2);
    for line in [
        "mayhap_filters 3",
        "mayhap_filters_listed 2",
        "mayhap_items_added_total 3",
        "mayhap_items_checked_total 2",
        "mayhap_commands_total{family=\"write\"} 1",
        "mayhap_filter_items{filter=\"a\"} 2",
        "mayhap_filter_capacity{filter=\"a\"} 1000",
        "mayhap_http_errors_total 1",
        "mayhap_http_requests_total 6",
        "mayhap_writable 1",
        "mayhap_http_request_seconds_count 6",
        "mayhap_http_request_seconds_bucket{le=\"+Inf\"} 6",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}\nnot in\n{page}");
    }
}

/// The names in an expression that a dashboard sends to Prometheus.
fn names(expression: &str) -> impl Iterator<Item = &str> {
    expression
        .split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .filter(|word| word.starts_with("mayhap_"))
}

#[test]
fn the_dashboard_for_grafana_shows_existing_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let logged = kept(folder.path(), Policy::No);
    let limited = Server::start(Config { max_memory: Some(1 << 30), ..Config::default() });
    let mut series = std::collections::BTreeSet::new();
    for server in [logged, limited] {
        server.send("PUT /v1/filters/a", &json!({ "capacity": 1000, "fixed": true }));
        let page = server.get("/metrics").text();
        series.extend(check_metrics(&page).into_iter().map(|(name, _)| name));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut places = std::collections::BTreeSet::new();
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            let expression = target["expr"].as_str().unwrap();
            assert!(names(expression).count() > 0, "{expression}");
            for name in names(expression) {
                assert!(series.contains(name), "no series {name}");
            }
        }
        let [x, y, width, height] =
            ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + width <= 24, "{panel}");
        for row in y..y + height {
            for column in x..x + width {
                assert!(places.insert((row, column)), "two panels at {row}, {column}");
            }
        }
    }
    let ids: std::collections::BTreeSet<_> =
        panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
}
