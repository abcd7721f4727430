//! `INFO`: sections of lines.

use super::bounds::{Answer, FILTER_NS};
use super::call::{Call, Outcome};
use super::keys::work_of_count;
use super::row::Right::Known;
use super::row::{Command, NONE, row};
use super::tools::MODULE_VERSION;
use super::word::is;
use crate::metrics::{Counter, Process};
use mayhap_engine::keyspace::FileState;
use std::fmt::Write as _;

pub(super) const COMMANDS: &[Command] =
    &[row("info", -1, Known, NONE, "Returns the state of the server.", info)
        .answers(Answer::Bytes(MAX_BYTES))
        .works(work)];

/// All sections together, with room for long addresses and errors.
const MAX_BYTES: u64 = 32 << 10;

/// The version of Redis whose generic commands ours follow; clients check it.
const REDIS_VERSION: &str = "7.4.0";

type Section = (&'static str, fn(&Call<'_, '_>, &mut String));

/// The sections, in order. The last one visits all filters, so it has to be requested by name.
const SECTIONS: [Section; 11] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    ("Modules", modules),
    ("Cluster", cluster),
    ("Keyspace", keyspace),
    ("Bloom", bloom),
];

/// Memory and processor time are read from the system for every section.
const INFO_NS: u64 = 100_000;

/// The section `bloom` visits all filters.
fn work(call: &Call<'_, '_>) -> u64 {
    let names_all = |word: &[u8]| is(word, "bloom") || is(word, "everything");
    let filters = call.words.iter().any(names_all).then(|| call.shared.keyspace.len());
    INFO_NS + filters.unwrap_or(0) as u64 * FILTER_NS + work_of_count(call)
}

fn info(call: &mut Call<'_, '_>) -> Outcome {
    let words = call.words.from(1);
    let named = |name: &str| words.iter().any(|word| is(word, name));
    let default = words.is_empty() || named("default") || named("all");
    let mut text = String::new();
    for (name, write) in SECTIONS {
        if named(name) || named("everything") || default && name != "Bloom" {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            text.push_str("# ");
            text.push_str(name);
            text.push_str("\r\n");
            write(call, &mut text);
        }
    }
    call.reply().verbatim(&text);
    Ok(())
}

/// `name:value` lines.
macro_rules! lines {
    ($out:expr, $($name:literal: $value:expr),+ $(,)?) => {
        // Writing to a string does not fail.
        $( _ = write!($out, concat!($name, ":{}\r\n"), $value); )+
    };
}

fn server(call: &Call<'_, '_>, out: &mut String) {
    let config = &call.shared.config();
    lines!(out,
        "redis_version": REDIS_VERSION,
        "mayhap_version": env!("CARGO_PKG_VERSION"),
        "redis_mode": "standalone",
        "os": std::env::consts::OS,
        "arch_bits": usize::BITS,
        "process_id": std::process::id(),
        "run_id": call.shared.run_id,
        "tcp_port": config.port,
        "uptime_in_seconds": call.shared.metrics.uptime().as_secs(),
        "uptime_in_days": call.shared.metrics.uptime().as_secs() / 86_400,
        "server_time_usec": u128::from(call.turn.work.now) * 1000,
    );
    if let Some(front) = call.shared.front() {
        lines!(out,
            "store": front.name(),
            "store_reached": u8::from(front.is_reached()),
        );
    }
}

fn clients(call: &Call<'_, '_>, out: &mut String) {
    let clients = &call.shared.clients;
    lines!(out,
        "connected_clients": clients.connected(),
        "maxclients": call.shared.config().max_clients,
        "client_buffered_bytes": clients.buffered_bytes(),
        "blocked_clients": 0,
    );
}

fn memory(call: &Call<'_, '_>, out: &mut String) {
    let shared = call.shared;
    lines!(out,
        // Of the filters: the amount that maxmemory limits.
        "used_memory": shared.keyspace.used_bytes(),
        "used_memory_dataset": shared.keyspace.used_bytes(),
        "used_memory_human": human(shared.keyspace.used_bytes()),
        "maxmemory": shared.config().max_memory.unwrap_or(0),
        "maxmemory_human": human(shared.config().max_memory.unwrap_or(0)),
        "maxmemory_policy": "noeviction",
    );
    // Of the whole process, from the system.
    if let Some(process) = Process::now() {
        lines!(out,
            "used_memory_rss": process.resident,
            "used_memory_rss_human": human(process.resident),
            "used_memory_peak": process.peak,
            "used_memory_peak_human": human(process.peak),
        );
    }
}

/// Bytes as Redis writes them: `1.50M`.
fn human(bytes: u64) -> String {
    let units = [(1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
    let unit = units.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes}B"),
        |&(unit, name)| format!("{:.2}{name}", bytes as f64 / unit as f64),
    )
}

fn replication(_call: &Call<'_, '_>, out: &mut String) {
    lines!(out,
        "role": "master",
        "connected_slaves": 0,
        "master_repl_offset": 0,
    );
}

fn cpu(_call: &Call<'_, '_>, out: &mut String) {
    if let Some(process) = Process::now() {
        lines!(out,
            "used_cpu_sys": format_args!("{:.2}", process.system),
            "used_cpu_user": format_args!("{:.2}", process.user),
        );
    }
}

/// The same as `MODULE LIST`, in the format of Redis.
fn modules(_call: &Call<'_, '_>, out: &mut String) {
    _ = write!(
        out,
        "module:name=bf,ver={MODULE_VERSION},api=1,filters=0,usedby=[],using=[],options=[]\r\n"
    );
}

fn cluster(_call: &Call<'_, '_>, out: &mut String) {
    lines!(out, "cluster_enabled": 0);
}

fn stats(call: &Call<'_, '_>, out: &mut String) {
    let clients = &call.shared.clients;
    let metrics = &call.shared.metrics;
    lines!(out,
        "total_connections_received": clients.received(),
        "total_commands_processed": clients.requests(),
        "total_net_input_bytes": clients.bytes_in(),
        "total_net_output_bytes": clients.bytes_out(),
        "rejected_connections": clients.refused(),
        "instantaneous_ops_per_sec": metrics.rate_of(clients.requests()),
        // Items that may be in their filter, and items that surely are not.
        "keyspace_hits": metrics.total(Counter::ItemsFound),
        "keyspace_misses": metrics.total(Counter::ItemsAbsent),
        "expired_keys": call.shared.keyspace.expired(),
        "evicted_keys": 0,
        "unreadable_files": call.shared.keyspace.files().count(FileState::Unusable),
        "stale_files": call.shared.keyspace.files().count(FileState::Stale),
    );
}

fn keyspace(call: &Call<'_, '_>, out: &mut String) {
    let (keys, expires) = call.count_filters();
    if keys != 0 {
        _ = write!(out, "db0:keys={keys},expires={expires},avg_ttl=0\r\n");
    }
}

/// The field names of valkey-bloom.
fn bloom(call: &Call<'_, '_>, out: &mut String) {
    let (mut layers, mut items, mut capacity) = (0u64, 0u64, 0u64);
    let all = call.shared.keyspace.all();
    for (_, entry) in &all {
        let info = entry.info();
        layers = layers.saturating_add(info.layers);
        items = items.saturating_add(info.items);
        capacity = capacity.saturating_add(info.capacity);
    }
    lines!(out,
        "bf_bloom_total_memory_bytes": call.shared.keyspace.used_bytes(),
        "bf_bloom_num_objects": all.len(),
        "bf_bloom_num_filters_across_objects": layers,
        "bf_bloom_num_items_across_objects": items,
        "bf_bloom_capacity_across_objects": capacity,
    );
}

fn persistence(call: &Call<'_, '_>, out: &mut String) {
    let Some(log) = call.log() else {
        lines!(out,
            "loading": 0,
            "aof_enabled": 0,
            "aof_rewrite_in_progress": 0,
            "rdb_bgsave_in_progress": 0,
            "rdb_changes_since_last_save": 0,
        );
        return;
    };
    let stats = log.stats();
    let status = |is_good| if is_good { "ok" } else { "err" };
    lines!(out,
        "loading": 0,
        "aof_enabled": 1,
        "aof_last_write_status": status(stats.writable),
        "aof_displaced": u8::from(stats.displaced),
        "aof_current_size": stats.log_bytes,
        "aof_pending_fsync_ms": stats.unsynced_ms,
        "aof_rewrite_in_progress": 0,
        "rdb_bgsave_in_progress": u8::from(stats.checkpoint_running),
        "rdb_changes_since_last_save": stats.changed_filters,
        "rdb_last_save_time": stats.checkpoint_at / 1000,
        "rdb_last_bgsave_status": status(stats.checkpoint_error.is_none()),
        "changed_filters_since_save": stats.changed_filters,
    );
}
