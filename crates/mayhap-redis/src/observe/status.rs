//! The numbers of a server by `INFO`.

use std::collections::HashMap;

/// The numbers of a server, or the sums of a cluster's masters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Its kind and version: `redis 7.0.15`, `valkey 8.0.2`.
    pub version: String,
    /// The masters.
    pub nodes: u64,
    /// Seconds since the youngest master was started.
    pub uptime_seconds: u64,
    /// Bytes of memory in use.
    pub used_bytes: u64,
    /// Bytes of memory allowed; `None` if one has no limit.
    pub max_bytes: Option<u64>,
    /// The eviction policy at that limit: anything but `noeviction` loses filters.
    pub eviction: String,
    /// Connected clients.
    pub clients: u64,
    /// Commands since the start.
    pub commands: u64,
    /// Keys of all types and databases.
    pub keys: u64,
    /// Keys that were evicted for lack of memory.
    pub evicted_keys: u64,
    /// Whether all keep an append-only file.
    pub has_log: bool,
    /// Whether the last writes of log and snapshot went well.
    pub is_saved: bool,
    /// When the oldest last snapshot was made, in seconds since 1970; `None` if one has made none
    /// since its start, as servers that count them report.
    pub saved_at: Option<u64>,
    /// Changes that are in no snapshot.
    pub unsaved_changes: u64,
}

impl Status {
    /// Reads one page of `INFO` of each master.
    pub(super) fn of(pages: &[String]) -> Self {
        let fields = |page| str::lines(page).filter_map(|line| line.trim().split_once(':'));
        let pages: Vec<HashMap<_, _>> = pages.iter().map(|page| fields(page).collect()).collect();
        let text =
            |name: &'static str| pages.iter().filter_map(move |page| page.get(name).copied());
        let numbers =
            |name: &'static str| text(name).map(|value| value.parse::<u64>().unwrap_or(0));
        let sum = |name: &'static str| numbers(name).fold(0u64, u64::saturating_add);
        let kind = text("server_name").next().unwrap_or("redis");
        let version = text("valkey_version").next().or_else(|| text("redis_version").next());
        let is_ok = |name: &'static str| text(name).all(|value| value == "ok");
        let is_limited = numbers("maxmemory").all(|bytes| bytes > 0);
        let keys = pages.iter().flat_map(|page| page.iter()).filter(|(name, _)| is_database(name));
        let keys = keys.filter_map(|(_, counts)| {
            let mut counts = counts.split(',').filter_map(|count| count.split_once('='));
            counts.find(|(name, _)| *name == "keys")?.1.parse::<u64>().ok()
        });
        Self {
            version: format!("{kind} {}", version.unwrap_or("of unknown version")),
            nodes: pages.len() as u64,
            uptime_seconds: numbers("uptime_in_seconds").min().unwrap_or(0),
            used_bytes: sum("used_memory"),
            max_bytes: is_limited.then(|| sum("maxmemory")).filter(|&bytes| bytes > 0),
            eviction: text("maxmemory_policy").next().unwrap_or("unknown").to_owned(),
            clients: sum("connected_clients"),
            commands: sum("total_commands_processed"),
            keys: keys.fold(0, u64::saturating_add),
            evicted_keys: sum("evicted_keys"),
            has_log: pages.iter().all(|page| page.get("aof_enabled") == Some(&"1")),
            is_saved: is_ok("rdb_last_bgsave_status")
                && is_ok("aof_last_bgrewrite_status")
                && is_ok("aof_last_write_status"),
            // Until the first one it is the time of the start.
            saved_at: numbers("rdb_last_save_time")
                .min()
                .filter(|_| numbers("rdb_saves").all(|n| n > 0)),
            unsaved_changes: sum("rdb_changes_since_last_save"),
        }
    }
}

/// `db0`, `db1`, …
fn is_database(name: &str) -> bool {
    let number = name.strip_prefix("db").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_are_summed_and_the_worst_counts() {
        let page = |uptime, memory, log, saved| {
            format!(
                "# Server\r\nredis_version:7.0.15\r\nuptime_in_seconds:{uptime}\r\n\
                 used_memory:{memory}\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\n\
                 connected_clients:2\r\ntotal_commands_processed:10\r\nevicted_keys:1\r\n\
                 aof_enabled:{log}\r\naof_last_write_status:ok\r\n\
                 rdb_last_bgsave_status:{saved}\r\n\
                 rdb_last_save_time:{uptime}\r\nrdb_changes_since_last_save:3\r\n\
                 db0:keys=5,expires=1,avg_ttl=0\r\ndb11:keys=2,expires=0\r\ndbsize:9\r\n"
            )
        };
        let status = Status::of(&[page(7, 40, 1, "ok"), page(5, 30, 0, "err")]);
        let wanted = Status {
            version: "redis 7.0.15".into(),
            nodes: 2,
            uptime_seconds: 5,
            used_bytes: 70,
            max_bytes: Some(200),
            eviction: "noeviction".into(),
            clients: 4,
            commands: 20,
            keys: 14,
            evicted_keys: 2,
            has_log: false,
            is_saved: false,
            saved_at: Some(5),
            unsaved_changes: 6,
        };
        assert_eq!(status, wanted);
    }

    #[test]
    fn a_snapshot_that_was_never_made_has_no_time() {
        let saved_at = |saves: &[&str]| {
            let page = |saves: &&str| format!("rdb_last_save_time:7\r\n{saves}");
            Status::of(&saves.iter().map(page).collect::<Vec<_>>()).saved_at
        };
        // Older servers do not count them.
        for (saves, at) in [
            (&["rdb_saves:0"][..], None),
            (&["rdb_saves:3"], Some(7)),
            (&[""], Some(7)),
            (&["rdb_saves:1", "rdb_saves:0"], None),
        ] {
            assert_eq!(saved_at(saves), at, "{saves:?}");
        }
    }

    #[test]
    fn pages_of_anything_are_read() {
        let status = Status::of(&[String::new(), "maxmemory:no\ndb0:keys\n::\ndb:keys=1".into()]);
        assert_eq!((status.keys, status.max_bytes, status.nodes), (0, None, 2));
    }
}
