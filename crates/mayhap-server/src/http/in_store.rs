//! Filters in a store: what the handlers do with them, on the thread of the store.

use super::body::Buffered;
use super::handler::{Answer, blocking, json};
use super::sent::Sent;
use super::target::Target;
use super::{Failure, State};
use crate::config::{Config, Rights};
use crate::front::{
    Bits, Error, Front, Look, MAX_TTL_MS, contains_items, insert_or_create, name_of,
    rename as rename_filter,
};
use crate::metrics::{Counter, Counts};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use mayhap_dashboard::store;
use mayhap_engine::keyspace::{ChangeError, CreateError, DigestError, MAX_PATTERN_BYTES, matches};
use mayhap_redis::{FilterInfo, NativeOptions};
use serde_json::{Value, json as object};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The command that copies a filter, as answers have it.
const COPY: &str = "mayhap pull";

/// Runs a request on the thread of the store, to its end even if the client is gone.
///
/// # Errors
///
/// Those of the request: 503 if the store has not answered.
pub(super) async fn run<T: Send + 'static>(
    front: &Front,
    request: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = oneshot::channel();
    front.spawn(async move {
        // The client may be gone.
        let _ = sender.send(request.await);
    });
    let panicked = |_| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed");
    Ok(receiver.await.map_err(panicked)??)
}

/// The name of a filter.
///
/// # Errors
///
/// 400 if no filter in a store can have it.
fn text(name: &[u8]) -> Result<String, Failure> {
    name_of(name).map(str::to_owned).map_err(Failure::bad)
}

/// A filter in JSON.
pub(super) fn described(config: &Config, name: &str, look: &Look, is_measured: bool) -> Value {
    let Look { info, digest_function } = look;
    let mut row = store::filter(name, &format!("mayhap {}", info.layout), info, is_measured);
    row["keyed"] = digest_function.is_keyed().into();
    let parameter = digest_function.parameter();
    row["digest"] = format!("{}:{parameter:016x}", digest_function.name()).into();
    if let Some(url) = &config.store {
        row["pull"] = store::pull(COPY, &url.to_string(), name).into();
    }
    row
}

/// A filter that was changed, in JSON: that it was does not depend on what is known of it after.
fn changed(config: &Config, name: &str, look: Result<Look, Error>) -> Value {
    match look {
        Ok(look) => described(config, name, &look, false),
        Err(error) => store::unknown(name, &error.to_string()),
    }
}

/// A page of the filters: their names, since numbers would be a request to the store for each.
///
/// # Errors
///
/// 409 for a pattern that is too long; those of [`run`].
pub(super) async fn list(
    front: &Arc<Front>,
    rights: Rights,
    (cursor, limit, pattern): (u64, usize, Option<String>),
) -> Answer {
    if let Some(found) = pattern.as_ref().map(String::len).filter(|&it| it > MAX_PATTERN_BYTES) {
        return Err(ChangeError::LongPattern { found, limit: MAX_PATTERN_BYTES }.into());
    }
    let ours = Arc::clone(front);
    let list = run(front, async move { ours.list().await }).await?;
    // Not on the thread of all connections: a pattern may be slow.
    blocking(move || {
        let (names, next) = list.page(cursor, limit);
        let fits = |name: &&str| {
            let name = name.as_bytes();
            let pattern = pattern.as_ref().map(String::as_bytes);
            rights.covers(name) && pattern.is_none_or(|pattern| matches(pattern, name))
        };
        let filters: Vec<Value> =
            names.filter(fits).map(|name| store::named(name, "mayhap")).collect();
        let (is_cut, unnamed) = (list.is_cut, list.unnamed);
        let page = object!({
            "filters": filters, "next": next, "is_cut": is_cut, "unnamed": unnamed,
        });
        Ok(json(StatusCode::OK, &page))
    })
    .await
}

/// The description of a filter.
///
/// # Errors
///
/// 403; those of [`run`].
pub(super) async fn info(front: Arc<Front>, target: Target, measures: bool) -> Answer {
    target.need_read()?;
    let Target { state, name, .. } = target;
    let (name, bits) = (text(&name)?, if measures { Bits::All } else { Bits::Few });
    let (ours, of) = (Arc::clone(&front), name.clone());
    let look = run(&front, async move { ours.ask(&of, ours.look(&of, bits)).await }).await?;
    Ok(json(StatusCode::OK, &described(&state.shared.config(), &name, &look, measures)))
}

/// A new filter.
///
/// # Errors
///
/// 403; those of the options and of [`run`]; 409 if there is one of this name.
pub(super) async fn create(
    front: Arc<Front>,
    target: Target,
    options: impl FnOnce(&Config) -> Result<NativeOptions, Failure>,
) -> Answer {
    target.need_write()?;
    let Target { state, name, .. } = target;
    let (name, config) = (text(&name)?, state.shared.config());
    let options = options(&config)?;
    let (ours, of) = (Arc::clone(&front), name.clone());
    let made = run(&front, async move {
        let made = async {
            if !ours.create(&of, options).await? {
                return Ok(None);
            }
            Ok(Some(ours.look(&of, Bits::Sample).await))
        };
        ours.ask(&of, made).await
    });
    let look = made.await?.ok_or(CreateError::Exists)?;
    Ok(json(StatusCode::CREATED, &changed(&config, &name, look)))
}

/// Deletes a filter.
///
/// # Errors
///
/// 403; those of [`run`]; 404.
pub(super) async fn delete(front: Arc<Front>, target: Target) -> Answer {
    target.need_write()?;
    let name = text(&target.name)?;
    let ours = Arc::clone(&front);
    if !run(&front, async move { ours.ask(&name, ours.delete(&name)).await }).await? {
        return Err(Failure::not_found());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Adds items, and creates the filter if there is none and it has options: for each item whether it
/// was new.
///
/// # Errors
///
/// 403; those of the options, of their size only if there is no filter; those of the keys and of
/// [`run`], after which any of the items may be in the filter.
pub(super) async fn add(
    front: Arc<Front>,
    target: Target,
    options: impl FnOnce(&Config) -> Result<Option<Result<NativeOptions, Failure>>, Failure>,
    (sent, charge): (impl FnOnce(&State) -> Result<Sent, Failure> + Send + 'static, Buffered),
) -> Result<Vec<bool>, Failure> {
    target.need_write()?;
    let Target { state, name, rights, .. } = target;
    let (name, config) = (text(&name)?, state.shared.config());
    let (options, unfit) = match options(&config)? {
        Some(Err(unfit)) => (None, Some(unfit)),
        options => (options.and_then(Result::ok), None),
    };
    let sent = read(sent, &state).await?;
    if matches!(sent, Sent::Digests(_)) && front.is_keyed() && !rights.admin {
        return Err(DigestError::Keyed.into());
    }
    let ours = Arc::clone(&front);
    let new = run(&front, async move {
        let _charge = charge;
        ours.ask(&name, insert_or_create(&ours, &name, &sent.items(), options)).await
    });
    let mut counts = Counts::default();
    counts.add(Counter::Writes, 1);
    let new = new.await.inspect(|new| counts.add(Counter::ItemsAdded, new.len() as u64));
    state.shared.metrics.http().take(&mut counts);
    match (new, unfit) {
        (Err(failure), Some(unfit)) if failure.is_not_found() => Err(unfit),
        (new, _) => new,
    }
}

/// Looks items up: for each whether it may be in the filter.
///
/// # Errors
///
/// 403; those of the keys and of [`run`].
pub(super) async fn check(
    front: Arc<Front>,
    target: Target,
    (sent, charge): (impl FnOnce(&State) -> Result<Sent, Failure> + Send + 'static, Buffered),
) -> Result<Vec<bool>, Failure> {
    target.need_read()?;
    let Target { state, name, .. } = target;
    let (name, sent) = (text(&name)?, read(sent, &state).await?);
    let ours = Arc::clone(&front);
    let present = run(&front, async move {
        let _charge = charge;
        ours.ask(&name, contains_items(&ours, &name, &sent.items())).await
    });
    let mut counts = Counts::default();
    counts.add(Counter::Reads, 1);
    let present = present.await.inspect(|present| {
        counts.checked(present.len(), present.iter().filter(|&&is| is).count());
    });
    state.shared.metrics.http().take(&mut counts);
    present
}

/// The items of a request, which may be many.
async fn read(
    sent: impl FnOnce(&State) -> Result<Sent, Failure> + Send + 'static,
    state: &State,
) -> Result<Sent, Failure> {
    let state = state.clone();
    blocking(move || sent(&state)).await
}

/// Sets the time to live of a filter, or that it does not expire; it is gone if that is no time.
///
/// # Errors
///
/// 403; those of `after` and of [`run`]; 404.
pub(super) async fn expire(
    front: Arc<Front>,
    target: Target,
    after: impl FnOnce() -> Result<Option<Duration>, Failure>,
) -> Answer {
    target.need_write()?;
    let (after, Target { state, name, .. }) = (after()?, target);
    if after.is_some_and(|after| after > Duration::from_millis(MAX_TTL_MS)) {
        return Err(Failure::bad(format!("a filter expires within {MAX_TTL_MS} ms from now")));
    }
    let name = text(&name)?;
    let (ours, of) = (Arc::clone(&front), name.clone());
    let done = run(&front, async move {
        let expired = async {
            let ends = after.is_some_and(|after| after.is_zero());
            let is_there =
                if ends { ours.delete(&of).await? } else { ours.expire(&of, after).await? };
            if !is_there || ends {
                return Ok((is_there, None));
            }
            Ok((true, Some(ours.look(&of, Bits::Sample).await)))
        };
        ours.ask(&of, expired).await
    });
    match done.await? {
        (false, _) => Err(Failure::not_found()),
        (true, None) => Ok(StatusCode::NO_CONTENT.into_response()),
        (true, Some(look)) => {
            Ok(json(StatusCode::OK, &changed(&state.shared.config(), &name, look)))
        }
    }
}

/// Gives a filter another name.
///
/// # Errors
///
/// 403; those of `wanted`, which has the new name and whether a filter that has it is replaced;
/// those of [`run`]; 404; 409 if the new name is taken.
pub(super) async fn rename(
    front: Arc<Front>,
    target: Target,
    wanted: impl FnOnce(&Rights) -> Result<(Vec<u8>, bool), Failure>,
) -> Answer {
    target.need_write()?;
    let (to, replaces) = wanted(&target.rights)?;
    let Target { state, name, .. } = target;
    let (name, to) = (text(&name)?, text(&to)?);
    let (ours, new) = (Arc::clone(&front), to.clone());
    let renamed = run(&front, async move {
        let renamed = async {
            if !rename_filter(&ours, (&name, &new), replaces).await? {
                return Ok(None);
            }
            Ok(Some(ours.look(&new, Bits::Sample).await))
        };
        ours.ask(&name, renamed).await
    });
    let look = renamed.await?.ok_or(ChangeError::Exists)?;
    Ok(json(StatusCode::OK, &changed(&state.shared.config(), &to, look)))
}

/// Filters that were used lately and that the user may see, for the metrics: at most `most`.
pub(super) async fn looks(
    front: &Arc<Front>,
    rights: &Rights,
    most: usize,
) -> Vec<(String, FilterInfo)> {
    let (ours, rights) = (Arc::clone(front), rights.clone());
    let looks = run(front, async move {
        Ok(ours.look_at_known(most, |name| rights.covers(name.as_bytes())).await)
    });
    looks.await.unwrap_or_default()
}
