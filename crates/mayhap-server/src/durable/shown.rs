//! Bytes in messages.

#[cfg(not(any(loom, shuttle)))]
pub(super) use mayhap_units::number::{counted, format_bytes};

/// For the model checkers, which build nothing of other crates here.
#[cfg(any(loom, shuttle))]
pub(super) fn format_bytes(bytes: u64) -> String {
    format!("{bytes} B")
}

#[cfg(any(loom, shuttle))]
pub(super) fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}s")
}
