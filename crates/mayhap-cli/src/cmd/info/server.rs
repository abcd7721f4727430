//! `mayhap info` of a filter on a server.

use super::items::{Estimated, made_for, room};
use super::key::Digesting;
use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::{Talk, grouped, print_stdout, rate, row};
use crate::set::remote::{Connection, Place, RemoteFile};
use mayhap::{DigestFunction, SecretKey};
use mayhap_redis::Persistence;
use mayhap_sets::{KeySet, State};
use mayhap_units::number::format_bytes;
use mayhap_units::span::format_millis;
use serde::{Serialize, Serializer};
use std::path::Path;

/// All that is known, as `--json` prints it; what a file has too is named as there.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    kind: &'static str,
    num_bits: u64,
    num_hashes: u32,
    bits_per_item: f64,
    #[serde(flatten)]
    estimated: Estimated,
    headroom_items: u64,
    #[serde(flatten)]
    digesting: Digesting,
    server_values: u64,
    server_bytes: u64,
    ttl_ms: Option<u64>,
    #[serde(serialize_with = "persistence_name")]
    server_keeps: Persistence,
    #[serde(flatten)]
    state: State,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn persistence_name<S: Serializer>(keeps: &Persistence, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match keeps {
        Persistence::Unknown => "unknown",
        Persistence::Nothing => "nothing",
        Persistence::Snapshots => "snapshots",
        Persistence::Log => "log",
    })
}

/// Prints what the server reports.
///
/// # Errors
///
/// Those of [`Connection::open`] and [`RemoteFile::of`].
pub(super) fn print(
    url: &Path,
    key: Option<SecretKey>,
    (args, json): (&ServerArgs, bool),
    talk: Talk,
) -> Result<(), Error> {
    let connection = Connection::open(Place::of(url)?, args, ReplicaArgs::default(), talk)?;
    let filter = connection.attach(key)?;
    let keeps = connection.wait(connection.server.persistence())?;
    let (file, options) = RemoteFile::of(&connection, filter)?;
    let (params, seen, function) = (file.params(), file.seen(), file.digest_function());
    let is_keyed = matches!(function, DigestFunction::Sip13 { .. });
    let info = Info {
        file: file.url().into(),
        kind: "bloom",
        num_bits: params.num_bits(),
        num_hashes: params.num_hashes(),
        bits_per_item: params.num_bits() as f64 / params.expected_items() as f64,
        estimated: Estimated::of(&file.estimate()),
        headroom_items: params.expected_items().saturating_sub(file.items()),
        digesting: Digesting::of(is_keyed, function.parameter(), &options),
        server_values: seen.num_shards,
        server_bytes: seen.num_bytes,
        ttl_ms: seen.ttl_ms,
        server_keeps: keeps,
        state: file.state(),
    };
    if json { Talk::json(&info, true) } else { print_stdout(&info.text()) }
}

impl Info {
    fn text(&self) -> String {
        let state = &self.state;
        let (bytes, bits) = (format_bytes(state.num_bytes), grouped(self.num_bits));
        let values =
            format!("{} ({})", grouped(self.server_values), format_bytes(self.server_bytes));
        let expires =
            self.ttl_ms.map_or("never".into(), |ttl| format!("in {}", format_millis(ttl)));
        let keeps = match self.server_keeps {
            Persistence::Nothing => "nothing when it is killed",
            Persistence::Snapshots => {
                "snapshots: what came since the last is lost when it is killed"
            }
            Persistence::Log => "a log of all writes",
            Persistence::Unknown => "not known: it does not say",
        };
        let made_for = made_for(state.expected_items, Some(self.bits_per_item), state.target_fpp);
        let health = state.health.name().to_owned() + &room(Some(self.headroom_items));
        let mut rows = vec![
            ("server", self.file.clone()),
            ("layout", format!("{}, {} bits per key", state.layout, self.num_hashes)),
            ("size", format!("{bytes} ({bits} bits)")),
            ("made for", made_for),
            ("estimated", self.estimated.text()),
            ("fill", format!("{:.2} %", state.fill_ratio * 100.0)),
            ("rate now", rate(state.estimated_fpp)),
            ("health", health),
        ];
        rows.extend(self.digesting.rows());
        rows.extend([("values", values), ("expires", expires), ("keeps", keeps.into())]);
        rows.iter().map(|(name, value)| row(name, value)).collect()
    }
}
