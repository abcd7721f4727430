//! Filters that shrink without their keys.

use super::Failure;
use super::body::Json;
use super::create::{COUNT, RATE};
use super::describe::describe;
use super::handler::{Answer, json};
use super::option::{Scalar, read};
use super::target::{Target, changing};
use axum::http::StatusCode;
use mayhap::sizing;
use mayhap_engine::unix_ms;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shrink {
    capacity: Option<Scalar>,
    target_fpp: Option<Scalar>,
    factor: Option<Scalar>,
}

impl Shrink {
    /// # Errors
    ///
    /// 400 with the name of an invalid option, or of options that contradict each other.
    fn how(&self) -> Result<sizing::Shrink, Failure> {
        let count = |value: &Scalar| value.count().filter(|&count| count > 0);
        let rate = |value: &Scalar| value.real().filter(|&rate| rate > 0.0 && rate < 1.0);
        let items = read("capacity", self.capacity.as_ref(), COUNT, count)?;
        let target_fpp = read("target_fpp", self.target_fpp.as_ref(), RATE, rate)?;
        match read("factor", self.factor.as_ref(), COUNT, count)? {
            None => Ok(sizing::Shrink::To { items, target_fpp }),
            Some(factor) if items.is_none() && target_fpp.is_none() => {
                Ok(sizing::Shrink::By(factor))
            }
            Some(_) => Err(Failure::bad("give either factor, or capacity and target_fpp")),
        }
    }
}

/// `POST /v1/filters/{name}/shrink`
pub(super) async fn shrink(
    target: Target,
    Json { value: shrink, charge: _ }: Json<Shrink>,
) -> Answer {
    changing(target, move |Target { state, name, .. }| {
        let how = shrink.how()?;
        state.check_writable()?;
        let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
        let shrunk = keyspace.shrink(&name, how, unix_ms(), log)?;
        state.settle()?;
        let described = describe(&name, &shrunk.entry);
        let described = described.shrunk(shrunk.factor, shrunk.num_bytes_before);
        Ok(json(StatusCode::OK, &described))
    })
    .await
}
