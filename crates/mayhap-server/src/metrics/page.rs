//! The numbers as Prometheus reads them: text format 0.0.4.

use super::times::CLASSES;
use super::{Counter, Took};
use crate::Shared;
use crate::clock::unix_ms;
use crate::config::Rights;
use crate::dropped_lines;
use crate::durable::Stats;
use crate::keyspace::{Entry, Info, Measured};
use std::fmt::{Display, Write};
use std::time::Duration;

/// A family of the page: its name, kind and what it is.
struct Family<'a>(&'a str, &'a str, &'a str);

/// Writes all numbers; of filters one by one only those that the user may see, and no more than
/// `metrics_filters` of them.
pub fn page(shared: &Shared, rights: &Rights, out: &mut String) {
    counters(shared, out);
    times(shared, out);
    state(shared, out);
    filters(shared, rights, out);
}

fn counters(shared: &Shared, out: &mut String) {
    let metrics = &shared.metrics;
    head(out, &Family("mayhap_commands_total", "counter", "Commands by family"));
    for (family, counter) in
        [("read", Counter::Reads), ("write", Counter::Writes), ("other", Counter::Others)]
    {
        line(out, "mayhap_commands_total", &[("family", family)], metrics.total(counter));
    }
    let plain = [
        ("errors", "Commands answered with an error", Counter::Errors),
        ("items_added", "Keys given to be added", Counter::ItemsAdded),
        ("login_failures", "Logins that failed", Counter::LoginsFailed),
        ("http_requests", "HTTP requests", Counter::HttpRequests),
        ("http_errors", "HTTP requests answered with 4xx or 5xx", Counter::HttpErrors),
        ("http_refused", "HTTP connections refused: too many", Counter::HttpRefused),
    ];
    for (name, help, counter) in plain {
        let name = format!("mayhap_{name}_total");
        one(out, &name, "counter", help, metrics.total(counter));
    }
    let checked = metrics.total(Counter::ItemsFound) + metrics.total(Counter::ItemsAbsent);
    one(out, "mayhap_items_checked_total", "counter", "Keys looked up", checked);
    let clients = &shared.clients;
    for (name, help, value) in [
        ("requests", "Requests of Redis clients", clients.requests()),
        ("received_bytes", "Bytes from Redis clients", clients.bytes_in()),
        ("sent_bytes", "Bytes to Redis clients", clients.bytes_out()),
        ("connections_received", "Connections there were", clients.received()),
        ("connections_refused", "Connections refused: too many", clients.refused()),
    ] {
        one(out, &format!("mayhap_{name}_total"), "counter", help, value);
    }
    one(out, "mayhap_connections", "gauge", "Connections now", clients.connected());
    let buffered = clients.buffered_bytes();
    one(out, "mayhap_buffered_bytes", "gauge", "Unfinished requests and unsent answers", buffered);
    let dropped = dropped_lines();
    one(out, "mayhap_log_lines_dropped_total", "counter", "Messages that nobody read", dropped);
    let uptime = metrics.uptime().as_secs_f64();
    one(out, "mayhap_uptime_seconds", "gauge", "Uptime of the server", uptime);
}

fn times(shared: &Shared, out: &mut String) {
    let metrics = &shared.metrics;
    let turns = "A turn of an event loop, from reading requests to sending answers";
    histogram(out, "turn", turns, &metrics.times(false));
    let requests = "An HTTP request, from its head to its answer";
    histogram(out, "http_request", requests, &metrics.times(true));
    histogram(out, "job", "A request executed outside the event loops", &metrics.jobs.get());
}

fn histogram(out: &mut String, name: &str, help: &str, took: &Took) {
    let name = format!("mayhap_{name}_seconds");
    head(out, &Family(&name, "histogram", help));
    let classes = &took.classes;
    let bucket = format!("{name}_bucket");
    let mut sum = 0;
    for (class, count) in classes.iter().enumerate().take(CLASSES - 1) {
        sum += count;
        let bound = Duration::from_micros(1 << class).as_secs_f64().to_string();
        line(out, &bucket, &[("le", &bound)], sum);
    }
    sum += classes[CLASSES - 1];
    line(out, &bucket, &[("le", "+Inf")], sum);
    let time = Duration::from_nanos(took.nanoseconds);
    line(out, &format!("{name}_sum"), &[], time.as_secs_f64());
    line(out, &format!("{name}_count"), &[], sum);
}

fn state(shared: &Shared, out: &mut String) {
    let keyspace = &shared.keyspace;
    one(out, "mayhap_filters", "gauge", "Filters", keyspace.len());
    one(out, "mayhap_clears_total", "counter", "Filters cleared at CLEARAT", keyspace.clears());
    let over = "Filters with more keys than they were created for, as of the last sweep";
    one(out, "mayhap_filters_over_capacity", "gauge", over, keyspace.over_capacity());
    let unreadable = keyspace.unreadable_files();
    one(out, "mayhap_unreadable_files", "gauge", "Filters whose files cannot be used", unreadable);
    let stale = "Filters whose files were removed or replaced by unusable ones";
    one(out, "mayhap_stale_files", "gauge", stale, keyspace.stale_files());
    one(out, "mayhap_memory_bytes", "gauge", "All filters together", keyspace.used_bytes());
    if let Some(limit) = shared.config().max_memory {
        one(out, "mayhap_memory_limit_bytes", "gauge", "The setting max_memory", limit);
    }
    let stats = shared.log.as_ref().map(|log| log.stats());
    let writable = u8::from(stats.as_ref().is_none_or(|stats| stats.writable));
    one(out, "mayhap_writable", "gauge", "Whether writes are accepted", writable);
    if let Some(stats) = stats {
        log(&stats, out);
    }
}

fn log(stats: &Stats, out: &mut String) {
    let since_checkpoint = unix_ms().saturating_sub(stats.checkpoint_at) as f64 / 1e3;
    let failed = u8::from(stats.checkpoint_error.is_some());
    let poisoned = u8::from(stats.poisoned);
    let displaced = u8::from(stats.displaced);
    let gauges: [(&str, &str, f64); 8] = [
        ("log_bytes", "Bytes of log that a start would replay", stats.log_bytes as f64),
        ("log_unsynced_frames", "Writes not yet on the disk", stats.unsynced_frames as f64),
        (
            "log_unsynced_seconds",
            "Age of the oldest unsynced write",
            stats.unsynced_ms as f64 / 1e3,
        ),
        ("log_poisoned", "Whether a sync failed; restart the server", poisoned.into()),
        ("log_displaced", "Whether files of the log were removed or moved", displaced.into()),
        ("image_bytes", "All images", stats.image_bytes as f64),
        ("checkpoint_age_seconds", "Time since the last checkpoint", since_checkpoint),
        ("checkpoint_failed", "Whether the last checkpoint failed", failed.into()),
    ];
    for (name, help, value) in gauges {
        one(out, &format!("mayhap_{name}"), "gauge", help, value);
    }
    one(out, "mayhap_log_frames_total", "counter", "Writes to the log", stats.frames);
    histogram(out, "log_sync", "A sync of the log", &stats.syncs);
    histogram(out, "checkpoint", "A checkpoint, including failed ones", &stats.checkpoints);
}

/// Bits of filters that a page reads for how full they are: a tenth of a second.
const MEASURED_BYTES: u64 = 1 << 30;

/// A filter on the page.
struct Listed {
    name: String,
    info: Info,
    /// What its bits say, if they were read.
    measured: Option<Measured>,
}

/// What a family says of a filter, if it is known.
type Value = fn(&Listed) -> Option<f64>;

/// The first filters that the user may see.
fn list(shared: &Shared, rights: &Rights) -> Vec<Listed> {
    let (limit, now) = (shared.config().metrics_filters, unix_ms());
    let (mut listed, mut cursor, mut left) = (Vec::new(), 0, MEASURED_BYTES);
    while listed.len() < limit {
        // Without a pattern there is nothing to refuse.
        let Ok(page) = shared.keyspace.scan(cursor, 1000, None, now) else { break };
        for name in page.names.iter().filter(|name| rights.covers(name)) {
            let entry = shared.keyspace.get(name, now).filter(|_| listed.len() < limit);
            listed.extend(entry.map(|entry| describe(name, &entry, &mut left)));
        }
        cursor = page.cursor;
        if cursor == 0 {
            break;
        }
    }
    listed
}

fn describe(name: &[u8], entry: &Entry, left: &mut u64) -> Listed {
    let info = entry.info();
    let rest = left.checked_sub(info.num_bytes);
    *left = rest.unwrap_or(*left);
    let measured = rest.map(|_| entry.measure()).filter(|_| entry.file_problem().is_none());
    Listed { name: label(name), info, measured }
}

/// What the page has of each filter.
const FILTER_FAMILIES: [(Family<'static>, Value); 11] = [
    (Family("mayhap_filter_items", "gauge", "Keys that were new"), |filter| {
        Some(filter.info.items as f64)
    }),
    (
        Family("mayhap_filter_distinct_items", "gauge", "Distinct keys, estimated from its count"),
        |filter| Some(filter.info.distinct_items as f64),
    ),
    (Family("mayhap_filter_capacity", "gauge", "Capacity in keys"), |filter| {
        Some(filter.info.capacity as f64)
    }),
    (
        Family(
            "mayhap_filter_over_capacity",
            "gauge",
            "Whether it has more keys than it was created for",
        ),
        |filter| Some(f64::from(u8::from(filter.info.over_capacity))),
    ),
    (
        Family("mayhap_filter_forgotten_early", "gauge", "Keys that a window of time forgot early"),
        |filter| Some(filter.info.forgotten_early? as f64),
    ),
    (Family("mayhap_filter_num_bytes", "gauge", "Its memory"), |filter| {
        Some(filter.info.num_bytes as f64)
    }),
    (Family("mayhap_filter_target_fpp", "gauge", "The promised rate"), |filter| {
        Some(filter.info.target_fpp)
    }),
    (
        Family(
            "mayhap_filter_expected_fpp",
            "gauge",
            "Expected false-positive rate, from its number of keys",
        ),
        |filter| Some(filter.info.expected_fpp),
    ),
    (
        Family(
            "mayhap_filter_estimated_fpp",
            "gauge",
            "Estimated false-positive rate, from its bits",
        ),
        |filter| Some(filter.measured?.estimated_fpp),
    ),
    (Family("mayhap_filter_fill_ratio", "gauge", "Share of bits that are set"), |filter| {
        Some(filter.measured?.fill_ratio)
    }),
    (
        Family(
            "mayhap_filter_fill_alarm",
            "gauge",
            "Whether more bits are set than its keys explain",
        ),
        |filter| Some(f64::from(u8::from(filter.measured?.fill_alarm?))),
    ),
];

fn filters(shared: &Shared, rights: &Rights, out: &mut String) {
    let listed = list(shared, rights);
    one(out, "mayhap_filters_listed", "gauge", "Filters listed individually", listed.len());
    for (family, value) in FILTER_FAMILIES {
        head(out, &family);
        for filter in &listed {
            if let Some(value) = value(filter) {
                line(out, family.0, &[("filter", &filter.name)], value);
            }
        }
    }
}

/// A name as a label: the text, or percent-encoded if it is none or has control characters, or a
/// `%`, so that no two names have one label.
fn label(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains(|char: char| char == '%' || char.is_control()) => {
            text.to_owned()
        }
        _ => crate::http::encode(name),
    }
}

fn one(out: &mut String, name: &str, kind: &str, help: &str, value: impl Display) {
    // Writing to a String does not fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
}

fn head(out: &mut String, Family(name, kind, help): &Family<'_>) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    out.push_str(name);
    for (i, (label, text)) in labels.iter().enumerate() {
        out.push_str(if i == 0 { "{" } else { "," });
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(out, "{label}=\"{text}\"");
    }
    if !labels.is_empty() {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}
