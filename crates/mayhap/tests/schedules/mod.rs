//! Scenarios that run under a checker, loom or shuttle: `checker`, of the file that includes this,
//! has its threads and atomics.
//!
//! `growth.rs` is the chain that grows. The server's log has its own, in `mayhap-engine`.

pub(crate) mod growth;

/// A chain of layers for 1, 2, 4, … keys, at a rate at which a layer is one block.
pub(crate) fn chain() -> mayhap::ConcurrentScalableBloomFilter {
    let function = mayhap::DigestFunction::default();
    mayhap::ConcurrentScalableBloomFilter::new(1, 0.9, function).unwrap()
}

/// Digests without false positives among them.
pub(crate) fn digest(i: usize) -> mayhap::Digest {
    mayhap::Digest::new((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
