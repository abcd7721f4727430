//! `mayhap info` of a filter on a server.

use super::items::{Estimated, made_for, room};
use super::key::Digesting;
use crate::error::Error;
use crate::io::messages::{Talk, grouped, print_stdout, rate, row};
use crate::set::remote::{Access, Connection, open_on};
use mayhap::DigestFunction;
use mayhap_redis::Persistence;
use mayhap_sets::State;
use mayhap_units::number::format_bytes;
use mayhap_units::span::format_millis;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// All that is known, as `--json` prints it; what a file has too is named as there. `null` where a
/// scheme, or its server, does not report it.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    kind: &'static str,
    scheme: &'static str,
    num_bits: u64,
    num_hashes: Option<u32>,
    bits_per_item: Option<f64>,
    #[serde(flatten)]
    estimated: Estimated,
    headroom_items: Option<u64>,
    #[serde(flatten)]
    digesting: Option<Digesting>,
    server_values: u64,
    server_bytes: u64,
    ttl_ms: Option<u64>,
    #[serde(serialize_with = "persistence_name")]
    server_keeps: Persistence,
    #[serde(flatten)]
    state: State,
    #[serde(flatten)]
    details: Map<String, Value>,
    #[serde(skip)]
    detail_rows: Vec<(&'static str, String)>,
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
/// Those of [`open_on`].
pub(super) fn print(
    access: Access<'_>,
    (connection, json): (&Connection, bool),
    talk: Talk,
) -> Result<(), Error> {
    let keeps = connection.wait(connection.server.persistence())?;
    let (set, options) = open_on(connection, access, talk)?;
    let (seen, function) = (set.seen(), set.digest_function());
    let is_keyed = matches!(function, DigestFunction::Sip13 { .. });
    let estimate = set.estimated_items();
    let digesting = |options| Digesting::of(is_keyed, function.parameter(), options);
    let info = Info {
        file: set.url().into(),
        kind: if set.scheme() == "mayhap" { "bloom" } else { set.scheme() },
        scheme: set.scheme(),
        num_bits: seen.num_bits,
        num_hashes: Some(seen.num_hashes).filter(|&hashes| hashes > 0),
        bits_per_item: set.capacity().map(|items| seen.num_bits as f64 / items as f64),
        estimated: estimate.map(|(it, _)| Estimated::of(&it)).unwrap_or_default(),
        headroom_items: set.capacity().map(|items| items.saturating_sub(set.items())),
        digesting: options.as_ref().map(digesting),
        server_values: seen.num_shards,
        server_bytes: seen.num_bytes,
        ttl_ms: seen.ttl_ms,
        server_keeps: keeps,
        state: set.state(),
        details: set.details().into_iter().map(|it| (it.key.to_owned(), it.value)).collect(),
        detail_rows: set.details().into_iter().map(|it| (it.label, it.text)).collect(),
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
            Persistence::Nothing => "nothing: a crash loses everything",
            Persistence::Snapshots => "snapshots: a crash loses everything after the last one",
            Persistence::Log => "a log of all writes",
            Persistence::Unknown => "unknown: it does not say",
        };
        let target = state.target_fpp;
        let made_for = match state.expected_items {
            items if !target.is_nan() => made_for(items, self.bits_per_item, target),
            Some(items) => format!("{} keys", grouped(items)),
            None => "unknown: the server does not report it".into(),
        };
        let known = |fpp: f64| if fpp.is_nan() { "not known".into() } else { rate(fpp) };
        let layout = match self.num_hashes {
            Some(hashes) => format!("{}, {hashes} bits per key", state.layout),
            None => state.layout.to_owned(),
        };
        let keys = if self.scheme == "mayhap" {
            ("estimated", self.estimated.text())
        } else {
            ("keys", grouped(state.items))
        };
        let mut rows = vec![
            ("server", self.file.clone()),
            ("layout", layout),
            ("size", format!("{bytes} ({bits} bits)")),
            ("made for", made_for),
            keys,
        ];
        if !state.fill_ratio.is_nan() {
            rows.push(("fill", format!("{:.2} %", state.fill_ratio * 100.0)));
        }
        rows.push(("rate now", known(state.estimated_fpp)));
        rows.push(("health", state.health.name().to_owned() + &room(self.headroom_items)));
        rows.extend(self.detail_rows.iter().cloned());
        rows.extend(self.digesting.iter().flat_map(Digesting::rows));
        rows.extend([("values", values), ("expires", expires), ("keeps", keeps.into())]);
        rows.iter().map(|(name, value)| row(name, value)).collect()
    }
}
