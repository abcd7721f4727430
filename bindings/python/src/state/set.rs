//! A state, as an object of the class `Filter` holds it.

use super::turns::Turns;
use std::ops::Deref;
use std::sync::Arc;

/// A filter whose changes are recorded in a log beside its file.
pub(crate) struct StateSet(pub(super) Arc<Turns>);

impl Deref for StateSet {
    type Target = Turns;

    fn deref(&self) -> &Turns {
        &self.0
    }
}

impl Drop for StateSet {
    fn drop(&mut self) {
        self.leave();
    }
}
