//! Answers, and their bytes in RESP2.

/// The answer of a command; an `Err` has the text of its error.
pub(super) type Answer = Result<Reply, String>;

/// An answer, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    Status(&'static str),
    Error(String),
    Int(i64),
    Bulk(Vec<u8>),
    Null,
    Array(Vec<Reply>),
}

impl Reply {
    pub(super) const OK: Self = Self::Status("OK");

    pub(super) fn text(text: &str) -> Self {
        Self::Bulk(text.into())
    }

    pub(super) fn count(count: u64) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn is(yes: bool) -> Self {
        Self::Int(yes.into())
    }

    /// Appends its bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut line = |kind: char, text: &str| out.extend(format!("{kind}{text}\r\n").bytes());
        match self {
            Self::Status(text) => line('+', text),
            Self::Error(words) => line('-', words),
            Self::Int(number) => line(':', &number.to_string()),
            Self::Null => line('$', "-1"),
            Self::Bulk(bytes) => {
                line('$', &bytes.len().to_string());
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Self::Array(parts) => {
                line('*', &parts.len().to_string());
                for part in parts {
                    part.write(out);
                }
            }
        }
    }
}
