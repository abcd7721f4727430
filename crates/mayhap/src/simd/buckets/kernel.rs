//! What a kernel does to a bucket.

/// The words of a bucket.
pub(crate) type Words = [u64; 16];

/// The words that have its index.
pub(crate) type IndexWords = [u64; 8];

/// The bits of a key in a bucket: one of the index and those of its remainder. Those that follow,
/// of the index and of the remainders, move up by as many when it is inserted, and down when it is
/// removed; then zeros come in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) index_bit: u32,
    /// Bits of the index, up to 512.
    pub(crate) index_bits: u32,
    /// The first bit of the remainder, and how many it has, up to 63.
    pub(crate) remainder_bit: u32,
    pub(crate) remainder_bits: u32,
}

/// The hot operations on a bucket. They are `inline(always)`, and so is all that calls them in a
/// [`BucketTask`].
pub(crate) trait BucketKernel {
    /// The bit behind the zero that `run - 1` others precede, 0 for run 0, and all zeros below
    /// `index_bits`, of which there are at least `run`.
    fn find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32);

    /// Inserts a key: see [`Place`].
    fn insert(words: &mut Words, place: Place, remainder: u64);

    /// Removes a key: see [`Place`].
    fn remove(words: &mut Words, place: Place);
}

/// A computation over buckets.
pub(crate) trait BucketTask {
    type Output;

    fn run<K: BucketKernel>(self) -> Self::Output;
}
