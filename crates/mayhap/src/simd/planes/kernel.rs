//! What a kernel computes.

/// Planes that are together: word i of a segment has one bit of the fingerprint for 64 slots.
pub(crate) const PLANES: usize = 8;

/// The words of a group of planes that a key reads: in one segment and in the next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lines {
    /// The first word in each; that of the next is not below the other.
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// How many words from there: up to [`PLANES`].
    pub(crate) planes: usize,
}

/// The hot operation on slots. It is `inline(always)`, and so is all that calls it in a
/// [`PlaneTask`].
pub(crate) trait PlaneKernel {
    /// Whether the slots from `shift` on that have a coefficient add up to the lowest bits of the
    /// fingerprint, one for each plane; `shift` is below 64.
    ///
    /// # Panics
    ///
    /// If there are no such words.
    fn agrees(words: &[u64], lines: Lines, shift: u32, coefficients: u64, fingerprint: u32)
    -> bool;
}

impl Lines {
    /// Checks that the words are there.
    #[inline(always)]
    pub(super) fn check(self, words: &[u64]) {
        let Self { low, high, planes } = self;
        let are_there = low <= high && high < words.len() && planes <= words.len() - high;
        assert!(are_there && (1..=PLANES).contains(&planes), "lines of this filter");
    }
}

/// A computation over slots.
pub(crate) trait PlaneTask {
    type Output;

    fn run<K: PlaneKernel>(self) -> Self::Output;
}
