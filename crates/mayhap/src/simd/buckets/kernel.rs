//! What a kernel does to a bucket.

/// The words of a bucket.
pub(crate) type Words = [u64; 16];

/// The words that have its index.
pub(crate) type IndexWords = [u64; 8];

/// Keys that are looked up in one step: as many lines as a core can have in flight.
pub(crate) const GROUP: usize = 32;

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

    /// Calls `each` with the number of each key of a group, by its front bucket and its run, and
    /// what [`BucketKernel::find_run`] returns for it: of at most [`GROUP`] keys.
    #[inline(always)]
    fn find_runs(
        fronts: &[Words],
        front: &[usize],
        index_bits: u32,
        run: &[u32],
        mut each: impl FnMut(usize, u32, u32),
    ) {
        for (i, (&front, &run)) in front.iter().zip(run).enumerate() {
            let (bit, zeros) = Self::find_run(index_of(fronts, front), index_bits, run);
            each(i, bit, zeros);
        }
    }

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

/// The words with the index of a front bucket.
#[inline(always)]
pub(super) fn index_of(fronts: &[Words], front: usize) -> &IndexWords {
    fronts[front].first_chunk().expect("half of a bucket")
}
