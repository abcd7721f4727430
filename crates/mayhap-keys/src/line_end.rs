//! Whether a carriage return at the end of a line is part of its key.

/// The treatment of one carriage return before a line feed, or at the end of a last line without a
/// line feed. Any other carriage return is a byte like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnd {
    /// A filter does not record it: it was created by mayhap 0.1, by a program or on a server. Keys
    /// are cut without the carriage return. Keys of mayhap 0.1 may still have it
    /// ([`KeyOptions::with_cr_kept`](super::KeyOptions::with_cr_kept)).
    #[default]
    Unrecorded,
    /// It ends the line, and is no part of the key (`crlf=strip`).
    CrLf,
    /// It is part of the key (`crlf=keep`).
    Lf,
}

impl LineEnd {
    /// The recorded one, or else the other.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Unrecorded { other } else { self }
    }

    /// The option that chooses it.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Unrecorded | Self::CrLf => "crlf",
            Self::Lf => "raw",
        }
    }

    /// Its value in a header, if it is written there.
    pub(super) fn value(self) -> Option<String> {
        match self {
            Self::Unrecorded => None,
            Self::CrLf => Some("strip".into()),
            Self::Lf => Some("keep".into()),
        }
    }
}
