//! `mayhap info` of a filter on a server.

use super::items::{Estimated, made_for, room};
use super::key::Digesting;
use super::moves::of as moves_of;
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped, print_findings, rate, row};
use crate::set::notes::say;
use crate::set::remote::Connection;
use mayhap::set::Repeats;
use mayhap_redis::Persistence;
use mayhap_sets::server::ServerSet;
use mayhap_sets::{How, Note, State, server};
use mayhap_units::number::format_bytes;
use mayhap_units::span::format_millis;
use serde::Serialize;
use serde_json::{Map, Value};

/// All known facts, as `--json` prints them; fields that files have too are named alike. `null`
/// where a scheme, or its server, does not report it.
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
    server_keeps: &'static str,
    /// Whether it can move to another place.
    can_move: bool,
    #[serde(flatten)]
    state: State,
    #[serde(flatten)]
    details: Map<String, Value>,
    #[serde(skip)]
    detail_rows: Vec<(&'static str, String)>,
    #[serde(skip)]
    moves: String,
    /// The persistence of the server, in words.
    #[serde(skip)]
    keeps: &'static str,
}

/// Prints the numbers that the server reports.
///
/// # Errors
///
/// Those of [`server::open`].
pub(super) fn print(
    how: &How<'_>,
    (connection, json): (&Connection, bool),
    talk: Reporter,
) -> Result<(), Error> {
    let (server_keeps, keeps) = match connection.wait(connection.origin.server.persistence())? {
        Persistence::Nothing => ("nothing", "nothing: a crash loses everything"),
        Persistence::Snapshots => {
            ("snapshots", "snapshots: a crash loses everything after the last one")
        }
        Persistence::Log => ("log", "a log of all writes"),
        Persistence::Unknown => ("unknown", "unknown: it does not say"),
    };
    let (mut set, options) = server::open(&connection.origin, &how.known)?;
    set.refresh()?;
    say(Note::of_guess(set.url(), &*set), talk);
    let (seen, function) = (set.seen(), set.digest_function().unwrap_or_default());
    let (state, capacity) = (set.state(), set.numbers(Repeats::Renew).capacity);
    let digesting = |options| Digesting::of(function.is_keyed(), function.parameter(), options);
    let (can_move, moves) = moves(&*set, &state);
    let info = Info {
        file: set.url().into(),
        kind: if set.scheme() == "mayhap" { "bloom" } else { set.scheme() },
        scheme: set.scheme(),
        num_bits: seen.num_bits,
        num_hashes: Some(seen.num_hashes).filter(|&hashes| hashes > 0),
        bits_per_item: capacity.map(|items| seen.num_bits as f64 / items as f64),
        estimated: Estimated::of(&state),
        headroom_items: capacity.map(|items| items.saturating_sub(set.items())),
        digesting: options.as_ref().map(digesting),
        server_values: seen.num_shards,
        server_bytes: seen.num_bytes,
        ttl_ms: seen.ttl_ms,
        server_keeps,
        can_move,
        moves,
        keeps,
        state,
        details: set.details().into_iter().map(|it| (it.key.to_owned(), it.value)).collect(),
        detail_rows: set.details().into_iter().map(|it| (it.label, it.text)).collect(),
    };
    print_findings(json, &info, Info::text)
}

impl Info {
    fn text(&self) -> String {
        let state = &self.state;
        let (bytes, bits) = (format_bytes(state.num_bytes), grouped(self.num_bits));
        let values =
            format!("{} ({})", grouped(self.server_values), format_bytes(self.server_bytes));
        let expires =
            self.ttl_ms.map_or("never".into(), |ttl| format!("in {}", format_millis(ttl)));
        let target = state.target_fpp;
        let made_for = match state.expected_items {
            items if !target.is_nan() => made_for(items, self.bits_per_item, target),
            Some(items) => counted(items, "key"),
            None => "unknown: the server does not report it".into(),
        };
        let known = |fpp: f64| if fpp.is_nan() { "not known".into() } else { rate(fpp) };
        let layout = match self.num_hashes {
            Some(hashes) => format!("{}, k = {hashes}", state.layout),
            None => state.layout.to_owned(),
        };
        let is_in_store = self.detail_rows.iter().any(|(name, _)| *name == "store");
        let keys = if self.scheme == "mayhap" {
            ("estimated", self.estimated.text())
        } else if is_in_store {
            ("estimated", grouped(state.items))
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
        rows.push(("moves", self.moves.clone()));
        rows.extend([("values", values), ("expires", expires), ("keeps", self.keeps.into())]);
        rows.iter().map(|(name, value)| row(name, value)).collect()
    }
}

/// Whether it can move to another place, and in words.
fn moves(set: &dyn ServerSet, state: &State) -> (bool, String) {
    match set.scheme() {
        "mayhap" => moves_of(state.layout, state.num_bytes),
        "bf" => {
            let details = set.details();
            let find = |key| details.iter().find(|detail| detail.key == key);
            if let Some(store) = find("store") {
                return (false, format!("in the store, by its URL there: {}", store.text));
            }
            let kind = find("server_kind");
            let kind = kind.map_or("of another system", |detail| &*detail.text);
            moves_of(kind, state.num_bytes)
        }
        scheme => (false, format!("no, it is of {scheme}: its positions differ from mayhap's")),
    }
}
