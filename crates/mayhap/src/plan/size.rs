//! The numbers that a kind is sized to.

/// The numbers of one set of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    pub(super) items: u64,
    pub(super) target_fpp: f64,
    pub(super) num_bits: u64,
    pub(super) num_hashes: u32,
}
