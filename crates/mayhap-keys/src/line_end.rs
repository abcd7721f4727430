//! Whether a carriage return at the end of a line is part of its key.

/// What becomes of one carriage return before a line feed, or at the end of a last line that has no
/// line feed. Any other carriage return is a byte like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnd {
    /// A filter does not record it: it was created by mayhap 0.1, by a program or on a server.
    /// Keys are cut without the carriage return. Those of mayhap 0.1 may have it all the same
    /// ([`KeyOptions::with_cr_kept`](super::KeyOptions::with_cr_kept)).
    #[default]
    Unrecorded,
    /// It ends the line, and is no part of the key (`crlf=strip`).
    CrLf,
    /// It is part of the key (`crlf=keep`).
    Lf,
}

impl LineEnd {
    /// What is recorded, or else the other.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Unrecorded { other } else { self }
    }

    /// The flag that chooses it.
    pub(super) fn flag(self) -> &'static str {
        match self {
            Self::Unrecorded | Self::CrLf => "--crlf",
            Self::Lf => "--raw",
        }
    }

    /// Its value in a header, if it stands there.
    pub(super) fn value(self) -> Option<String> {
        match self {
            Self::Unrecorded => None,
            Self::CrLf => Some("strip".into()),
            Self::Lf => Some("keep".into()),
        }
    }
}
