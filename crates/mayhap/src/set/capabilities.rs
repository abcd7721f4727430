//! Capabilities of a kind of filter.

use crate::native::Kind;

/// The treatment of keys that are inserted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repeats {
    /// It is counted once more by a filter that counts, and is young again in a window.
    Renew,
    /// Nothing, except that a window of keys moves on.
    Ignore,
}

/// Capabilities of a kind of filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
#[non_exhaustive]
pub struct Capabilities {
    /// Takes keys after it was built.
    pub inserts: bool,
    /// Removes keys.
    pub removes: bool,
    /// Forgets all keys at once.
    pub clears: bool,
    /// Takes the keys of another filter of its shape.
    pub unites: bool,
    /// Takes any number of keys within its rate.
    pub grows: bool,
    /// Forgets old keys, and knows the age of the others.
    pub forgets: bool,
    /// Inserting a key that is there changes it ([`Repeats::Renew`]), so that a log needs every key
    /// and not only the new ones, in order and exactly once.
    pub renews: bool,
    /// Holds many sets, so that a query says which of them.
    pub many_sets: bool,
}

impl Kind {
    /// The capabilities of its filters.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::native::Kind;
    ///
    /// let kinds = [Kind::Bloom, Kind::Compact, Kind::Counting, Kind::Scalable, Kind::Fuse];
    /// let removing = kinds.into_iter().filter(|kind| kind.capabilities().removes);
    /// assert!(removing.eq([Kind::Compact, Kind::Counting]));
    /// ```
    pub const fn capabilities(self) -> Capabilities {
        let none = Capabilities {
            inserts: false,
            removes: false,
            clears: false,
            unites: false,
            grows: false,
            forgets: false,
            renews: false,
            many_sets: false,
        };
        let plain = Capabilities { inserts: true, clears: true, unites: true, ..none };
        match self {
            Self::Bloom => plain,
            Self::Compact | Self::Counting => Capabilities { removes: true, renews: true, ..plain },
            Self::Scalable => Capabilities { grows: true, ..plain },
            Self::Window => Capabilities { forgets: true, renews: true, unites: false, ..plain },
            Self::Matrix => Capabilities { many_sets: true, unites: false, ..plain },
            Self::Fuse | Self::Ribbon => none,
            Self::Segment => Capabilities { clears: false, ..plain },
        }
    }
}
