//! A filter in JSON, with the names that the page knows from `mayhap serve`.

use super::attached::{Attached, Bits};
use super::failure::Failure;
use super::options::Options;
use super::state::State;
use crate::store::{self, now};
use mayhap_redis::{Error, FilterInfo, FilterScheme, NamedFilter};
use serde_json::Value;

/// The entry of a filter in a list: the facts known from its key alone, without a request to the
/// server.
pub(super) fn named(filter: &NamedFilter) -> Value {
    let kind = match filter.scheme {
        FilterScheme::Native => "mayhap",
        FilterScheme::Redisson => "redisson",
        _ => "bf",
    };
    store::named(&filter.name, kind)
}

/// A filter's numbers.
///
/// # Errors
///
/// The errors of the server.
pub(super) async fn describe(state: &State, name: &str, bits: Bits) -> Result<Value, Failure> {
    let fail = |error: Error| Failure::of(name, &error);
    let attached = state.attached().get(name).cloned();
    if let Some(attached) = attached {
        if let Ok(info) = attached.info(bits).await {
            note(state, name, &info);
            return Ok(numbers(&state.options, name, &attached, &info, bits));
        }
        // Perhaps another one has this name by now.
        state.attached().remove(name);
    }
    let known = &state.options.known;
    let attached = Attached::find(&state.server, name, known).await.map_err(fail)?;
    let info = attached.info(bits).await.map_err(fail)?;
    note(state, name, &info);
    let numbers = numbers(&state.options, name, &attached, &info, bits);
    state.attached().insert(name.into(), attached);
    Ok(numbers)
}

/// Notes the numbers for the history, where nothing but this page asks for them.
fn note(state: &State, name: &str, info: &FilterInfo) {
    let items = info.estimated_items.unwrap_or(f64::NAN).round();
    state.history.put(name.as_bytes(), now(), info.estimated_fpp, items);
}

/// The same, or only its name and its problem; `None` for one that is gone.
pub(super) async fn describe_or_problem(state: &State, name: &str) -> Option<Value> {
    match describe(state, name, Bits::Sample).await {
        Ok(numbers) => Some(numbers),
        Err(failure) if failure.is_not_found() => None,
        Err(failure) => Some(store::unknown(name, failure.problem())),
    }
}

fn numbers(
    options: &Options,
    name: &str,
    attached: &Attached,
    info: &FilterInfo,
    bits: Bits,
) -> Value {
    let (kind, is_measured) = (attached.kind(info), bits == Bits::All);
    let mut row = store::filter(name, &kind, info, is_measured);
    row["pull"] = store::pull(options.words.copy, &options.url, name).into();
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_of_the_list_leads_to_its_filter() {
        for (scheme, kind) in [
            (FilterScheme::Native, "mayhap"),
            (FilterScheme::Redisson, "redisson"),
            (FilterScheme::Bf, "bf"),
        ] {
            let row = named(&NamedFilter { name: "a/b c".into(), scheme });
            assert_eq!(row["kind"], kind);
            assert_eq!(
                (&row["name"], &row["path"]),
                (&json!("a/b c"), &json!("/v1/filters/a%2Fb%20c"))
            );
        }
    }
}
