//! The numbers of a store and of filters in it, for the stream of the dashboard.

use super::super::State;
use super::super::in_store::{described, run};
use super::events::of_clients;
use crate::config::Rights;
use crate::front::{Error, Front, Look};
use mayhap_dashboard::store;
use mayhap_engine::unix_ms;
use mayhap_redis::Status;
use serde_json::{Value, json};
use std::sync::Arc;

/// One event: the server, and the named filters that the user may read. `None` ends the stream.
pub(super) async fn numbers(
    state: &State,
    front: &Arc<Front>,
    rights: &Rights,
    names: &[Vec<u8>],
) -> Option<Value> {
    let covered = names.iter().filter(|name| rights.covers(name));
    let names = covered.filter_map(|name| String::from_utf8(name.clone()).ok()).collect();
    let ours = Arc::clone(front);
    let found = run(front, async move { Ok(tokio::join!(ours.status(), ours.looks(names))) });
    let (status, looks) = found.await.ok()?;
    let (config, now) = (state.shared.config(), unix_ms());
    let row = |(name, look): (String, Result<Look, Error>)| match look {
        Ok(look) => {
            note(state, &name, now, &look);
            Some(described(&config, &name, &look, false))
        }
        Err(Error::Store(mayhap_redis::Error::NotFound { .. })) => None,
        Err(error) => Some(store::unknown(&name, &error.to_string())),
    };
    let filters: Vec<Value> = looks.into_iter().filter_map(row).collect();
    Some(json!({ "server": server(state, front, &status), "filters": filters }))
}

/// Notes the numbers of a filter for its last hour, since only pages ask for them.
fn note(state: &State, name: &str, now: u64, look: &Look) {
    let items = look.info.estimated_items.unwrap_or(f64::NAN).round();
    state.history.put(name.as_bytes(), now, look.info.estimated_fpp, items);
}

/// The store, and the clients of this server.
fn server(state: &State, front: &Front, status: &Result<Status, Error>) -> Value {
    let mut numbers = match status {
        Ok(status) => store::server(status),
        // It answers, but its user may not ask for this; the filters are known.
        Err(Error::Store(mayhap_redis::Error::Refused { .. })) => json!({}),
        Err(error) => {
            let is_lost = error.is_unanswered() || matches!(error, Error::NotSent { .. });
            json!({ "problem": error.to_string(), "is_lost": is_lost })
        }
    };
    if let (Value::Object(numbers), Value::Object(own)) = (&mut numbers, of_clients(state)) {
        numbers.extend(own);
    }
    numbers["filters"] = front.num_listed().into();
    numbers["store"] = front.name().into();
    numbers
}
