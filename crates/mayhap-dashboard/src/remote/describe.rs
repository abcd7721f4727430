//! A filter in JSON, with the names that the page knows from `mayhap serve`.

use super::attached::{Attached, Bits};
use super::failure::Failure;
use super::options::Options;
use super::state::State;
use crate::path::encode;
use mayhap_redis::{Error, FilterInfo, FilterScheme, NamedFilter};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The entry of a filter in a list: the facts known from its key alone, without a request to the
/// server.
pub(super) fn named(filter: &NamedFilter) -> Value {
    let kind = match filter.scheme {
        FilterScheme::Native => "mayhap",
        FilterScheme::Redisson => "redisson",
        _ => "bf",
    };
    json!({ "name": filter.name, "path": path(&filter.name), "kind": kind })
}

fn path(name: &str) -> String {
    format!("/v1/filters/{}", encode(name.as_bytes()))
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
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
        Err(failure) => {
            let (path, problem) = (path(name), failure.problem());
            Some(json!({ "name": name, "path": path, "kind": "?", "problem": problem }))
        }
    }
}

fn numbers(
    options: &Options,
    name: &str,
    attached: &Attached,
    info: &FilterInfo,
    bits: Bits,
) -> Value {
    let is_measured = bits == Bits::All && info.num_hashes > 0;
    let fill = info.count_ones as f64 / info.num_bits as f64;
    let url = format!("{}/{}", options.url, encode(name.as_bytes()));
    json!({
        "name": name,
        "path": path(name),
        "kind": attached.kind(info),
        "capacity": info.expected_items.filter(|&items| items > 0),
        // Where all bits are set there may be any number of keys.
        "items": info.estimated_items.map(f64::round),
        "num_bytes": info.num_bytes,
        "shards": info.num_shards,
        "grows": info.grows,
        "target_fpp": info.target_fpp,
        // NaN, where the server reports too little, becomes null.
        "expected_fpp": info.estimated_fpp,
        "fill_ratio": is_measured.then_some(fill),
        "estimated_fpp": is_measured.then_some(info.estimated_fpp),
        "expires_at": info.ttl_ms.map(|left| now().saturating_add(left)),
        "pull": format!("{} {}", options.words.copy, quoted(&url)),
    })
}

/// Quoted for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.,+-_%@[]".contains(&byte);
    if text.bytes().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_as_a_shell_takes_it() {
        for (text, expected) in [
            ("redis://[::1]:6379/0/a.b_c-d", "redis://[::1]:6379/0/a.b_c-d"),
            ("a b", "'a b'"),
            ("a;b", "'a;b'"),
            ("$(x)", "'$(x)'"),
            ("it's", r"'it'\''s'"),
            ("é", "'é'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

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
