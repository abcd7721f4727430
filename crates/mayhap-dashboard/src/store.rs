//! Filters on Redis, Valkey or a cluster, and the server itself, in the JSON that the page knows.

use crate::path::encode;
use mayhap_redis::{FilterInfo, Status};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The path of a filter.
///
/// ```
/// assert_eq!(mayhap_dashboard::store::path("a/b"), "/v1/filters/a%2Fb");
/// ```
pub fn path(name: &str) -> String {
    format!("/v1/filters/{}", encode(name.as_bytes()))
}

/// Milliseconds since 1970.
///
/// ```
/// assert!(mayhap_dashboard::store::now() > 1_700_000_000_000);
/// ```
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A filter of which no more than its name and its kind is known, as in a list.
///
/// ```
/// let row = mayhap_dashboard::store::named("a/b", "mayhap");
/// assert_eq!((&row["name"], &row["path"]), (&"a/b".into(), &"/v1/filters/a%2Fb".into()));
/// ```
pub fn named(name: &str, kind: &str) -> Value {
    json!({ "name": name, "path": path(name), "kind": kind })
}

/// A filter that cannot be described, and why.
///
/// ```
/// let row = mayhap_dashboard::store::unknown("seen", "there is no answer");
/// assert_eq!(row["problem"], "there is no answer");
/// ```
pub fn unknown(name: &str, problem: &str) -> Value {
    let mut row = named(name, "?");
    row["problem"] = problem.into();
    row
}

/// A filter's numbers; `is_measured` if all of its bits were counted.
///
/// ```
/// use mayhap_redis::FilterInfo;
///
/// let info = FilterInfo {
///     layout: "blocked", num_bits: 512, num_hashes: 4, expected_items: Some(50), grows: false,
///     target_fpp: Some(0.01), count_ones: 128, estimated_items: None, estimated_fpp: f64::NAN,
///     num_shards: 1, num_bytes: 72, ttl_ms: None,
/// };
/// let row = mayhap_dashboard::store::filter("seen", "mayhap blocked", &info, true);
/// assert_eq!((&row["capacity"], &row["fill_ratio"]), (&50.into(), &0.25.into()));
/// assert!(row["items"].is_null() && row["expected_fpp"].is_null(), "they are not known");
/// ```
pub fn filter(name: &str, kind: &str, info: &FilterInfo, is_measured: bool) -> Value {
    let is_measured = is_measured && info.num_hashes > 0;
    let fill = info.count_ones as f64 / info.num_bits as f64;
    json!({
        "name": name,
        "path": path(name),
        "kind": kind,
        "capacity": info.expected_items.filter(|&items| items > 0),
        // Where all bits are set there may be any number of keys.
        "items": info.estimated_items.map(|items| items.round() as u64),
        "num_bytes": info.num_bytes,
        "shards": info.num_shards,
        "grows": info.grows,
        "target_fpp": info.target_fpp,
        // NaN, where the server reports too little, becomes null.
        "expected_fpp": info.estimated_fpp,
        "fill_ratio": is_measured.then_some(fill),
        "estimated_fpp": is_measured.then_some(info.estimated_fpp),
        "expires_at": info.ttl_ms.map(|left| now().saturating_add(left)),
    })
}

/// The command that copies a filter to a file: `copy`, and the URL of the filter.
///
/// ```
/// let command = mayhap_dashboard::store::pull("mayhap pull", "redis://[::1]/0", "it's");
/// assert_eq!(command, "mayhap pull redis://[::1]/0/it%27s");
/// ```
pub fn pull(copy: &str, url: &str, name: &str) -> String {
    format!("{copy} {}", quoted(&format!("{url}/{}", encode(name.as_bytes()))))
}

/// Quoted for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.,+-_%@[]".contains(&byte);
    if text.bytes().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The server's numbers: its version, its memory, and what it keeps.
///
/// ```
/// let status = mayhap_redis::Status { has_log: true, ..Default::default() };
/// assert_eq!(mayhap_dashboard::store::server(&status)["persistence"]["has_log"], true);
/// ```
pub fn server(status: &Status) -> Value {
    json!({
        "version": status.version,
        "nodes": status.nodes,
        "uptime_seconds": status.uptime_seconds,
        "num_bytes": status.used_bytes,
        "max_bytes": status.max_bytes,
        "connections": status.clients,
        "requests": status.commands,
        "keys": status.keys,
        "persistence": {
            "eviction": status.eviction,
            "evicted_keys": status.evicted_keys,
            "has_log": status.has_log,
            "is_saved": status.is_saved,
            "saved_at": status.saved_at.map(|at| at.saturating_mul(1000)),
            "unsaved_changes": status.unsaved_changes,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_as_a_shell_takes_it() {
        for (text, expected) in [
            ("redis://[::1]:6379/0/a.b_c-d", "redis://[::1]:6379/0/a.b_c-d"),
            ("a b", "'a b'"),
            ("a;b", "'a;b'"),
            ("$(x)", "'$(x)'"),
            ("it's", r"'it'\''s'"),
            ("é", "'é'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn numbers_have_the_names_and_units_that_the_page_knows() {
        let status = Status {
            version: "redis 7.0.15".into(),
            nodes: 1,
            uptime_seconds: 2,
            used_bytes: 3,
            max_bytes: Some(4),
            eviction: "noeviction".into(),
            clients: 5,
            commands: 6,
            keys: 7,
            evicted_keys: 8,
            has_log: true,
            is_saved: false,
            saved_at: Some(1_700_000_000),
            unsaved_changes: 9,
        };
        let expected = json!({
            "version": "redis 7.0.15", "nodes": 1, "uptime_seconds": 2, "num_bytes": 3,
            "max_bytes": 4, "connections": 5, "requests": 6, "keys": 7,
            "persistence": {
                "eviction": "noeviction", "evicted_keys": 8, "has_log": true, "is_saved": false,
                // Milliseconds, as JavaScript counts.
                "saved_at": 1_700_000_000_000u64, "unsaved_changes": 9,
            },
        });
        assert_eq!(server(&status), expected);
        assert_eq!(server(&Status { max_bytes: None, ..status })["max_bytes"], Value::Null);
    }
}
