//! The last hour of the filters, recorded once a minute.

use super::super::handler::{Answer, blocking, json as answer, need_on};
use super::super::query::Query;
use super::super::target::decode;
use super::super::{Failure, State};
use crate::config::Rights;
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use mayhap_dashboard::history::{HistoryQuery, MAX_FILTERS, STEP};
use mayhap_engine::unix_ms;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

/// Filters that are looked up at once.
const PART: usize = 1_000;
/// A filter that is there was noted now, or by a page so lately that it is not due again.
const LATELY_MS: u64 = 58_000;

/// `GET /ui/history?filter=a`: `{"samples": [[milliseconds, rate, keys], …]}`.
pub(super) async fn history(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Query(wanted): Query<HistoryQuery>,
) -> Answer {
    let name = decode(&wanted.filter, state.shared.config().max_name_bytes)?;
    need_on(rights.read, "read", &rights, &name)?;
    blocking(move || {
        let now = unix_ms();
        // Those in a store are noted while a page shows them.
        if state.shared.front().is_none() && !note(&state, &name, now) {
            return Err(Failure::not_found());
        }
        Ok(answer(StatusCode::OK, &json!({ "samples": state.history.of(&name) })))
    })
    .await
}

/// Records all filters, once a minute until the server stops.
pub(in crate::http) async fn record(state: State, mut stopped: watch::Receiver<bool>) {
    if state.shared.front().is_some() {
        return;
    }
    let mut timer = tokio::time::interval(STEP);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = timer.tick() => {}
            _ = stopped.changed() => return,
        }
        let state = state.clone();
        // Not on the thread of all connections: a filter may be busy.
        let _ = tokio::task::spawn_blocking(move || record_all(&state, unix_ms())).await;
    }
}

/// Records the filters, as many as have a history.
fn record_all(state: &State, now: u64) {
    let (mut cursor, mut seen) = (0, 0);
    while seen < MAX_FILTERS {
        let Ok(part) = state.shared.keyspace.scan(cursor, PART, None, now) else { return };
        for name in &part.names {
            note(state, name, now);
        }
        seen += part.names.len();
        cursor = part.cursor;
        if cursor == 0 {
            break;
        }
    }
    state.history.keep_since(now.saturating_sub(LATELY_MS));
}

/// Whether the filter is there; its numbers are noted then.
fn note(state: &State, name: &[u8], now: u64) -> bool {
    let Some(entry) = state.shared.keyspace.get(name, now) else { return false };
    let info = entry.info();
    state.history.put(name, now, info.expected_fpp, info.items as f64);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shared;
    use crate::config::Config;
    use mayhap::SecretKey;
    use mayhap_dashboard::history::Past;
    use mayhap_engine::Work;
    use mayhap_engine::keyspace::{Keyspace, Options, Spec};
    use std::sync::Arc;

    #[test]
    fn every_filter_is_recorded_and_one_that_is_deleted_is_forgotten() {
        let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
        let shared = Shared::new(Config::default(), keyspace, None);
        let state = State { shared: shared.clone(), is_tls: false, history: Arc::default() };
        let name = |number: usize| format!("f{number}").into_bytes();
        let (count, start, minute) = (2 * PART + 1, unix_ms() / 1_000 * 1_000, 60_000);
        for number in 0..count {
            let spec = Spec::fixed(100, 0.01);
            shared.keyspace.create(&name(number), spec, start, None).unwrap();
        }
        record_all(&state, start);
        assert!((0..count).all(|number| state.history.of(&name(number)).len() == 1));
        let entry = shared.keyspace.get(&name(1), start).unwrap();
        entry.insert(b"key", &mut Work::new(None)).unwrap();
        shared.keyspace.remove(&name(2), start, None).unwrap();
        // A page asks between two samples, which takes none.
        assert!(note(&state, &name(1), start + minute - 5_000));
        assert!(!note(&state, &name(2), start + minute - 5_000));
        record_all(&state, start + minute);
        let items: Vec<_> = state.history.of(&name(1)).into_iter().map(|Past(_, _, n)| n).collect();
        assert_eq!(items, [Some(0.0), Some(1.0)]);
        assert_eq!(state.history.of(&name(2)), []);
        assert!((3..count).all(|number| state.history.of(&name(number)).len() == 2));
    }
}
