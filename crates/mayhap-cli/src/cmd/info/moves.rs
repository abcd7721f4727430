//! Whether a filter can move to a server, as `mayhap info` says on its first day.

/// The largest value of Redis.
const MAX_VALUE_BYTES: u64 = 512 << 20;

/// Whether `mayhap move` takes a filter of this kind or layout, and in words.
pub(super) fn of(kind: &str, num_bytes: u64) -> (bool, String) {
    match kind {
        "standard" if num_bytes > MAX_VALUE_BYTES => {
            (false, "no: layout standard has to fit into a value of 512 MiB".into())
        }
        "blocked" | "standard" => {
            (true, "to Redis, Valkey, clusters, mayhap serve, files: mayhap move".into())
        }
        "scalable" => {
            (false, "only as a plain one, while it has one layer: mayhap man move".into())
        }
        kind => {
            (false, format!("no {kind} filter does: plain ones do (--layout blocked --seed 0)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_filters_move_unless_one_value_would_be_too_large() {
        assert!(of("blocked", 1 << 40).0 && of("standard", 512 << 20).0);
        for (kind, bytes) in [("standard", (512 << 20) + 64), ("scalable", 64), ("window", 64)] {
            let (moves, words) = of(kind, bytes);
            assert!(!moves && !words.contains("clusters"), "{kind}: {words}");
        }
    }
}
