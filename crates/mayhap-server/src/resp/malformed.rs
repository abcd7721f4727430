//! Why bytes are not a request.

/// Why bytes are not a request; the connection is closed after that answer.
///
/// Empty for a browser that was tricked into connecting to this port: it gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub String);

#[cold]
pub(super) fn malformed<T>(what: &str) -> Result<T, Malformed> {
    Err(Malformed(format!("ERR Protocol error: {what}")))
}

#[cold]
pub(super) fn not_a_bulk<T>(byte: u8) -> Result<T, Malformed> {
    malformed(&format!("expected '$', got '{}'", byte.escape_ascii()))
}
