//! The kind of filter that these commands are for.

use crate::command::call::{Call, Fault};
use mayhap_engine::keyspace::{Entry, Shape};
use std::sync::Arc;

/// Checks that a filter has the commands of this family.
pub(super) fn check_kind(entry: &Entry) -> Result<(), Fault> {
    if matches!(entry.spec.shape, Shape::Compact { .. }) {
        return Ok(());
    }
    let kind = entry.info().kind;
    let text = "WRONGTYPE Operation against a key holding the wrong kind of value: this filter is";
    Err(format!("{text} {kind}").into())
}

impl Call<'_, '_> {
    /// The compact filter of the request, if there is one.
    pub(super) fn compact(&self) -> Result<Option<Arc<Entry>>, Fault> {
        let entry = self.entry(self.word(1));
        entry.as_deref().map_or(Ok(()), check_kind)?;
        Ok(entry)
    }
}
