//! Capabilities of sets.

use crate::error::Refusal;

/// Capabilities of a set, known before it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
pub struct Capabilities {
    /// Whether it takes keys, and why not.
    pub inserts: Result<(), Refusal>,
    /// Removes keys; the server of one may still refuse to.
    pub removes: bool,
    /// Forgets all keys at once; likewise.
    pub clears: bool,
    /// Takes any number of keys within its rate.
    pub grows: bool,
    /// Forgets old keys, and knows the age of the others
    /// ([`OwnSet::ages_into`](crate::OwnSet::ages_into)).
    pub forgets: bool,
    /// Inserting what is there already changes something ([`mayhap::set::Repeats::Renew`]), so that
    /// a log needs every key and not only those that were new.
    pub renews: bool,
}

impl From<mayhap::set::Capabilities> for Capabilities {
    fn from(kind: mayhap::set::Capabilities) -> Self {
        Self {
            inserts: if kind.inserts { Ok(()) } else { Err(Refusal::NeverChanges) },
            removes: kind.removes,
            clears: kind.clears,
            grows: kind.grows,
            forgets: kind.forgets,
            renews: kind.renews,
        }
    }
}
