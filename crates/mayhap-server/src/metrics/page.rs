//! The metrics as Prometheus reads them: text format 0.0.4.

use super::Counter;
use crate::Shared;
use crate::config::Rights;
use crate::dropped_lines;
use mayhap_engine::durable::Stats;
use mayhap_engine::keyspace::{Entry, FileState, Info, Measured};
use mayhap_engine::unix_ms;
use mayhap_engine::{CLASSES, Took};
use mayhap_redis::FilterInfo;
use std::fmt::{Display, Write};
use std::time::Duration;

/// Writes all metrics; of single filters only those that the user may see, and no more than
/// `metrics_filters` of them. `stored` are those in a store.
pub fn page(shared: &Shared, rights: &Rights, stored: &[(String, FilterInfo)], out: &mut String) {
    counters(shared, out);
    times(shared, out);
    state(shared, out);
    if shared.front().is_some() {
        of_store(stored, out);
    } else {
        filters(shared, rights, out);
    }
}

fn counters(shared: &Shared, out: &mut String) {
    let metrics = &shared.metrics;
    head(out, "mayhap_commands_total", "counter", "Commands by family");
    for (family, counter) in
        [("read", Counter::Reads), ("write", Counter::Writes), ("other", Counter::Others)]
    {
        line(out, "mayhap_commands_total", &[("family", family)], metrics.total(counter));
    }
    let (clients, total) = (&shared.clients, |counter| metrics.total(counter));
    let checked = total(Counter::ItemsFound) + total(Counter::ItemsAbsent);
    let buffers = "Unfinished requests and unsent answers";
    let rows: [Row<'_>; 16] = [
        ("errors_total", "Commands answered with an error", &total(Counter::Errors)),
        ("items_added_total", "Keys that were added, or were there", &total(Counter::ItemsAdded)),
        ("login_failures_total", "Logins that failed", &total(Counter::LoginsFailed)),
        ("http_requests_total", "HTTP requests", &total(Counter::HttpRequests)),
        (
            "http_errors_total",
            "HTTP requests answered with 4xx or 5xx",
            &total(Counter::HttpErrors),
        ),
        ("http_refused_total", "HTTP connections refused: too many", &total(Counter::HttpRefused)),
        ("items_checked_total", "Keys looked up", &checked),
        ("requests_total", "Requests of Redis clients", &clients.requests()),
        ("received_bytes_total", "Bytes from Redis clients", &clients.bytes_in()),
        ("sent_bytes_total", "Bytes to Redis clients", &clients.bytes_out()),
        ("connections_received_total", "Connections there were", &clients.received()),
        ("connections_refused_total", "Connections refused: too many", &clients.refused()),
        ("connections", "Connections now", &clients.connected()),
        ("buffered_bytes", buffers, &clients.buffered_bytes()),
        ("log_lines_dropped_total", "Messages that nobody read", &dropped_lines()),
        ("uptime_seconds", "Uptime of the server", &metrics.uptime().as_secs_f64()),
    ];
    each(out, &rows);
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
    head(out, &name, "histogram", help);
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

/// Filters of this server, which has none if they are in a store.
fn own(shared: &Shared, out: &mut String) {
    let (keyspace, files) = (&shared.keyspace, shared.keyspace.files());
    let over = "Filters with more keys than they were created for, as of the last sweep";
    let stale = "Filters whose files were removed or replaced by unusable ones";
    let [unusable, outdated] = [FileState::Unusable, FileState::Stale].map(|it| files.count(it));
    let rows: [Row<'_>; 6] = [
        ("filters", "Filters", &keyspace.len()),
        ("clears_total", "Filters cleared at CLEARAT", &keyspace.clears()),
        ("filters_over_capacity", over, &keyspace.over_capacity()),
        ("unreadable_files", "Filters whose files cannot be used", &unusable),
        ("stale_files", stale, &outdated),
        ("memory_bytes", "All filters together", &keyspace.used_bytes()),
    ];
    each(out, &rows);
    if let Some(limit) = shared.config().max_memory {
        one(out, "memory_limit_bytes", "The setting max_memory", &limit);
    }
}

fn state(shared: &Shared, out: &mut String) {
    if let Some(front) = shared.front() {
        let reached = "Whether the last request to the store was answered by it";
        one(out, "store_reached", reached, &u8::from(front.is_reached()));
        let head = "Requests that the store has not answered";
        each(out, &[("store_unanswered_total", head, &front.unanswered())]);
    } else {
        own(shared, out);
    }
    let stats = shared.log.as_ref().map(|log| log.stats());
    let writable = u8::from(stats.as_ref().is_none_or(|stats| stats.writable));
    one(out, "writable", "Whether writes are accepted", &writable);
    if let Some(stats) = stats {
        log(&stats, out);
    }
}

fn log(stats: &Stats, out: &mut String) {
    let since_checkpoint = unix_ms().saturating_sub(stats.checkpoint_at) as f64 / 1e3;
    let unsynced = stats.unsynced_ms as f64 / 1e3;
    let [poisoned, displaced, failed] =
        [stats.poisoned, stats.displaced, stats.checkpoint_error.is_some()].map(u8::from);
    let rows: [Row<'_>; 9] = [
        ("log_bytes", "Bytes of log that a start would replay", &stats.log_bytes),
        ("log_unsynced_frames", "Writes not yet on the disk", &stats.unsynced_frames),
        ("log_unsynced_seconds", "Age of the oldest unsynced write", &unsynced),
        ("log_poisoned", "Whether a sync failed; restart the server", &poisoned),
        ("log_displaced", "Whether files of the log were removed or moved", &displaced),
        ("image_bytes", "All images", &stats.image_bytes),
        ("checkpoint_age_seconds", "Time since the last checkpoint", &since_checkpoint),
        ("checkpoint_failed", "Whether the last checkpoint failed", &failed),
        ("log_frames_total", "Writes to the log", &stats.frames),
    ];
    each(out, &rows);
    histogram(out, "log_sync", "A sync of the log", &stats.syncs);
    histogram(out, "checkpoint", "A checkpoint, including failed ones", &stats.checkpoints);
}

/// Bits of filters that a page reads to compute fill ratios: a tenth of a second.
const MEASURED_BYTES: u64 = 1 << 30;

/// A filter on the page.
struct Listed {
    name: String,
    info: Info,
    /// Measurements of its bits, if they were read.
    measured: Option<Measured>,
}

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

/// A metric of each filter: its name after `mayhap_filter_`, its description, and its value for a
/// filter where it has one.
type OfFilter = (&'static str, &'static str, fn(&Listed) -> Option<f64>);

const OF_FILTER: [OfFilter; 11] = [
    ("items", "Keys that were new", |it| Some(it.info.items as f64)),
    ("distinct_items", "Distinct keys, estimated from its count", |it| {
        Some(it.info.distinct_items as f64)
    }),
    ("capacity", "Capacity in keys", |it| Some(it.info.capacity as f64)),
    ("over_capacity", "Whether it has more keys than it was created for", |it| {
        Some(it.info.over_capacity.into())
    }),
    ("forgotten_early", "Keys that a window of time forgot early", |it| {
        Some(it.info.forgotten_early? as f64)
    }),
    ("num_bytes", "Its memory", |it| Some(it.info.num_bytes as f64)),
    ("target_fpp", "The promised rate", |it| Some(it.info.target_fpp)),
    ("expected_fpp", "Expected false-positive rate, from its number of keys", |it| {
        Some(it.info.expected_fpp)
    }),
    ("estimated_fpp", "Estimated false-positive rate, from its bits", |it| {
        Some(it.measured?.estimated_fpp)
    }),
    ("fill_ratio", "Share of bits that are set", |it| Some(it.measured?.fill_ratio)),
    ("fill_alarm", "Whether more bits are set than its keys explain", |it| {
        Some(it.measured?.fill_alarm?.into())
    }),
];

/// The same of a filter in a store.
type OfStored = (&'static str, &'static str, fn(&FilterInfo) -> Option<f64>);

const OF_STORED: [OfStored; 5] = [
    ("items", "Keys, estimated from a sample of its bits", |it| Some(it.estimated_items?.round())),
    ("capacity", "Capacity in keys", |it| Some(it.expected_items? as f64)),
    ("num_bytes", "Its memory at the store", |it| Some(it.num_bytes as f64)),
    ("target_fpp", "The promised rate", |it| it.target_fpp),
    ("estimated_fpp", "Estimated false-positive rate, from a sample of its bits", |it| {
        Some(it.estimated_fpp)
    }),
];

fn of_store(stored: &[(String, FilterInfo)], out: &mut String) {
    one(out, "filters_listed", "Filters listed individually", &stored.len());
    for (name, help, value) in OF_STORED {
        let name = format!("mayhap_filter_{name}");
        head(out, &name, "gauge", help);
        for (filter, info) in stored {
            if let Some(value) = value(info) {
                line(out, &name, &[("filter", &label(filter.as_bytes()))], value);
            }
        }
    }
}

fn filters(shared: &Shared, rights: &Rights, out: &mut String) {
    let listed = list(shared, rights);
    one(out, "filters_listed", "Filters listed individually", &listed.len());
    for (name, help, value) in OF_FILTER {
        let name = format!("mayhap_filter_{name}");
        head(out, &name, "gauge", help);
        for filter in &listed {
            if let Some(value) = value(filter) {
                line(out, &name, &[("filter", &filter.name)], value);
            }
        }
    }
}

/// A name as a label: the text, or percent-encoded if it is not text or has control characters or a
/// `%`, so that no two names share a label.
fn label(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains(|char: char| char == '%' || char.is_control()) => {
            text.to_owned()
        }
        _ => crate::http::encode(name),
    }
}

/// A metric without labels: its name after `mayhap_`, its description and its value.
type Row<'a> = (&'a str, &'a str, &'a dyn Display);

fn each(out: &mut String, rows: &[Row<'_>]) {
    for (name, help, value) in rows {
        one(out, name, help, *value);
    }
}

/// A counter if its name ends with `_total`.
fn one(out: &mut String, name: &str, help: &str, value: &dyn Display) {
    let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
    let name = format!("mayhap_{name}");
    head(out, &name, kind, help);
    line(out, &name, &[], value);
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String does not fail.
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
