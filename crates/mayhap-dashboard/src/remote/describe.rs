//! A filter in JSON, with the names that the page knows from `mayhap serve`.

use super::failure::Failure;
use super::{Attached, State};
use crate::path::encode;
use mayhap_redis::{
    Error, FilterInfo, FilterScheme, Found, NamedFilter, NativeFilter, RemoteBf, RemoteFilter,
    RemoteRedisson,
};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a list has of a filter: what its key alone tells, without a request to the server.
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

/// Which bits of a filter are counted, where the server does not report its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    Sample,
    All,
}

impl State {
    /// A filter's numbers.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub(super) async fn describe(&self, name: &str, bits: Bits) -> Result<Value, Failure> {
        let fail = |error: Error| Failure::of(name, &error);
        let attached = self.attached().get(name).cloned();
        if let Some(attached) = attached {
            if let Ok(info) = attached.info(bits).await {
                return Ok(self.numbers(name, &attached, &info, bits));
            }
            // Perhaps another one has this name by now.
            self.attached().remove(name);
        }
        let found = mayhap_remote::find_known(&self.0.server, name, &self.0.options.known).await;
        let attached = match found.map_err(fail)? {
            Found::Native(filter) => Attached::Native(filter),
            Found::Bf(filter) => Attached::Bf(filter),
            Found::Redisson(filter) => Attached::Redisson(filter),
            _ => return Err(fail(Error::NotFound { name: name.into() })),
        };
        let info = attached.info(bits).await.map_err(fail)?;
        let numbers = self.numbers(name, &attached, &info, bits);
        self.attached().insert(name.into(), attached);
        Ok(numbers)
    }

    /// The same, or only its name and what is wrong with it; `None` for one that is gone.
    pub(super) async fn describe_or_problem(&self, name: &str) -> Option<Value> {
        match self.describe(name, Bits::Sample).await {
            Ok(numbers) => Some(numbers),
            Err(failure) if failure.is_not_found() => None,
            Err(failure) => {
                let (path, problem) = (path(name), failure.problem());
                Some(json!({ "name": name, "path": path, "kind": "?", "problem": problem }))
            }
        }
    }

    fn numbers(&self, name: &str, attached: &Attached, info: &FilterInfo, bits: Bits) -> Value {
        let is_measured = bits == Bits::All && info.num_hashes > 0;
        let fill = info.count_ones as f64 / info.num_bits as f64;
        let url = format!("{}/{}", self.0.options.url, encode(name.as_bytes()));
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
            // NaN, where the server says too little, becomes null.
            "expected_fpp": info.estimated_fpp,
            "fill_ratio": is_measured.then_some(fill),
            "estimated_fpp": is_measured.then_some(info.estimated_fpp),
            "expires_at": info.ttl_ms.map(|left| now().saturating_add(left)),
            "pull": format!("mayhap pull {}", quoted(&url)),
        })
    }
}

impl Attached {
    async fn info(&self, bits: Bits) -> Result<FilterInfo, Error> {
        match (self, bits) {
            (Self::Native(filter), Bits::Sample) => NativeFilter::glance(filter).await,
            (Self::Native(filter), Bits::All) => NativeFilter::info(filter).await,
            (Self::Bf(filter), _) => RemoteBf::info(filter).await,
            (Self::Redisson(filter), Bits::Sample) => RemoteRedisson::glance(filter).await,
            (Self::Redisson(filter), Bits::All) => RemoteRedisson::info(filter).await,
        }
    }

    fn kind(&self, info: &FilterInfo) -> String {
        match self {
            Self::Native(_) => format!("mayhap {}", info.layout),
            Self::Bf(filter) => {
                filter.kind().map_or_else(|| "bf".into(), |kind| format!("bf {kind}"))
            }
            Self::Redisson(_) => "redisson".into(),
        }
    }
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.,+-_%@[]".contains(&byte);
    if text.bytes().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
