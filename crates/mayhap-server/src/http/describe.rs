//! A filter in JSON.

use super::handler::{Answer, json};
use super::{State, encode};
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_engine::keyspace::{Entry, Info, Measured, Saving};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The description of a filter, as an object of JSON.
pub(super) struct Described {
    name: Vec<u8>,
    info: Info,
    digest: Option<String>,
    items_checked: u64,
    /// Numbers for which all of its bits are read.
    measured: Option<Measured>,
    /// The factor by which it was just folded, and its bytes before.
    shrunk: Option<(u64, u64)>,
    /// What a fold would save.
    saving: Option<Saving>,
    expires_at: u64,
    problem: Option<String>,
}

impl Described {
    /// With the numbers for which its bits were read.
    pub(super) fn measured(self, measured: Option<Measured>) -> Self {
        Self { measured, ..self }
    }

    /// With what a fold would save.
    pub(super) fn saving(self, saving: Option<Saving>) -> Self {
        Self { saving, ..self }
    }

    /// After a fold by this factor, of this number of bytes before.
    pub(super) fn shrunk(self, factor: u64, num_bytes_before: u64) -> Self {
        Self { shrunk: Some((factor, num_bytes_before)), ..self }
    }
}

/// The description of a filter without reading its bits.
pub(super) fn describe(name: &[u8], entry: &Entry) -> Described {
    Described {
        name: name.to_vec(),
        info: entry.info(),
        digest: entry.digest_name(),
        items_checked: entry.items_checked(),
        measured: None,
        shrunk: None,
        saving: None,
        expires_at: entry.expires_at(),
        problem: entry.file_problem().map(|problem| problem.to_string()),
    }
}

/// The answer to a creation, once it is safe.
pub(super) fn created(state: &State, name: &[u8], entry: &Entry) -> Answer {
    state.settle()?;
    Ok(json(StatusCode::CREATED, &describe(name, entry)))
}

impl Serialize for Described {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { info, measured, .. } = self;
        let mut map = serializer.serialize_map(None)?;
        match std::str::from_utf8(&self.name) {
            Ok(name) => map.serialize_entry("name", name)?,
            Err(_) => map.serialize_entry("name_base64", &STANDARD.encode(&self.name))?,
        }
        map.serialize_entry("path", &format!("/v1/filters/{}", encode(&self.name)))?;
        map.serialize_entry("kind", info.kind)?;
        map.serialize_entry("keyed", &info.keyed)?;
        map.serialize_entry("digest", &self.digest)?;
        map.serialize_entry("capacity", &info.capacity)?;
        map.serialize_entry("items", &info.items)?;
        map.serialize_entry("distinct_items", &info.distinct_items)?;
        map.serialize_entry("items_checked", &self.items_checked)?;
        map.serialize_entry("num_bytes", &info.num_bytes)?;
        map.serialize_entry("layers", &info.layers)?;
        map.serialize_entry("expansion", &info.expansion)?;
        map.serialize_entry("target_fpp", &info.target_fpp)?;
        map.serialize_entry("expected_fpp", &info.expected_fpp)?;
        map.serialize_entry("read_only", &info.read_only)?;
        map.serialize_entry("over_capacity", &info.over_capacity)?;
        add(&mut map, "forgotten_early", info.forgotten_early.as_ref())?;
        add(&mut map, "clears", info.clears.as_ref())?;
        add(&mut map, "clock_jumps", info.clock_jumps.map(|jumps| jumps.count).as_ref())?;
        add(&mut map, "fill_ratio", measured.map(|it| it.fill_ratio).as_ref())?;
        add(&mut map, "estimated_fpp", measured.map(|it| it.estimated_fpp).as_ref())?;
        add(&mut map, "fill_alarm", measured.and_then(|it| it.fill_alarm).as_ref())?;
        add(&mut map, "factor", self.shrunk.map(|(factor, _)| factor).as_ref())?;
        add(&mut map, "num_bytes_before", self.shrunk.map(|(_, bytes)| bytes).as_ref())?;
        if let Some(Saving { factor, num_bytes, expected_fpp }) = self.saving {
            let saving = serde_json::json!({
                "factor": factor, "num_bytes": num_bytes, "expected_fpp": expected_fpp,
            });
            map.serialize_entry("fold", &saving)?;
        }
        map.serialize_entry("expires_at", &Some(self.expires_at).filter(|&at| at != 0))?;
        add(&mut map, "problem", self.problem.as_ref())?;
        map.end()
    }
}

/// Adds a member that only some filters have.
fn add<M: SerializeMap>(
    map: &mut M,
    name: &str,
    value: Option<&impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}
