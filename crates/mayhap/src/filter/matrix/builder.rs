//! Building a matrix: named numbers in, a sized matrix out.

use super::BloomMatrix;
use super::shape::Shape;
use crate::sizing::matrix as sizing;
use crate::{DigestFunction, Error, FilterParams, Layout};

/// Builds a [`BloomMatrix`] from the number of sets and their sizes.
///
/// # Examples
///
/// ```
/// use mayhap::BloomMatrix;
///
/// let builder = BloomMatrix::builder().num_sets(512).expected_items(9000).target_fpp(0.01);
/// let matrix = builder.build()?;
/// assert_eq!((matrix.num_hashes(), matrix.num_bits()), (5, 93_120));
/// assert_eq!(matrix.num_bytes(), 93_120 * 64);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct MatrixBuilder {
    num_sets: Option<usize>,
    expected_items: Option<u64>,
    target_fpp: Option<f64>,
    num_hashes: Option<u32>,
    like: Option<FilterParams>,
    digest_function: DigestFunction,
    max_bytes: u64,
}

impl MatrixBuilder {
    pub(super) fn new() -> Self {
        Self {
            num_sets: None,
            expected_items: None,
            target_fpp: None,
            num_hashes: None,
            like: None,
            digest_function: DigestFunction::default(),
            max_bytes: u64::MAX,
        }
    }

    /// N: the number of sets; more can be added later.
    pub fn num_sets(mut self, num_sets: usize) -> Self {
        self.num_sets = Some(num_sets);
        self
    }

    /// n: the number of distinct keys that each set will hold (the largest, if they differ).
    pub fn expected_items(mut self, expected_items: u64) -> Self {
        self.expected_items = Some(expected_items);
        self
    }

    /// p: the false-positive probability of each set up to `expected_items`. For a key that no set
    /// holds, p × N sets are reported on average.
    pub fn target_fpp(mut self, target_fpp: f64) -> Self {
        self.target_fpp = Some(target_fpp);
        self
    }

    /// k: the rows of a key, from 1 to 8, or 16, instead of the fastest within 10 % of the fewest
    /// bits.
    pub fn num_hashes(mut self, num_hashes: u32) -> Self {
        self.num_hashes = Some(num_hashes);
        self
    }

    /// Sets with the shape of a [`crate::BlockedBloomFilter`] with these parameters, with k = 8 or
    /// 16, instead of n, p and k: then such filters can become sets, and sets filters.
    pub fn like(mut self, params: &FilterParams) -> Self {
        self.like = Some(*params);
        self
    }

    digest_setters!();

    /// Sets a limit on the size, now and in [`BloomMatrix::add_sets`]. No limit by default.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Sizes the matrix and allocates it, zeroed.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if too few numbers are given; [`Error::OutOfRange`] unless there are from
    /// 1 to [`BloomMatrix::MAX_SETS`] sets, or if [`MatrixBuilder::like`] has k = 4;
    /// [`Error::Incompatible`] if the parameters of [`MatrixBuilder::like`] are of another layout;
    /// [`Error::TooLarge`] above [`MatrixBuilder::max_bytes`]; [`Error::OutOfMemory`]; and those of
    /// [`crate::sizing::matrix::num_groups`].
    pub fn build(self) -> Result<BloomMatrix, Error> {
        let shape = self.shape()?;
        let num_sets = self.num_sets.ok_or(Error::Missing { parameter: "num_sets" })?;
        if num_sets == 0 {
            let max = BloomMatrix::MAX_SETS as u64;
            return Err(Error::OutOfRange { parameter: "num_sets", min: 1, max, found: 0 });
        }
        BloomMatrix::empty(shape, self.digest_function, num_sets, self.max_bytes)
    }

    fn shape(&self) -> Result<Shape, Error> {
        if let Some(like) = &self.like {
            if like.layout() != Layout::Blocked {
                let (left, right) = (Layout::Blocked.id().into(), like.layout().id().into());
                return Err(Error::Incompatible { parameter: "layout", left, right });
            }
            if like.num_bits() > sizing::MAX_NUM_BITS {
                let (limit, found) = (sizing::MAX_NUM_BITS, like.num_bits());
                return Err(Error::TooLarge { field: "bits per set", limit, found });
            }
            let shape = Shape {
                num_groups: like.num_blocks(),
                num_hashes: like.num_hashes(),
                expected_items: like.expected_items(),
                target_fpp: like.target_fpp(),
            };
            return shape.check_blocks().map(|()| shape);
        }
        let expected_items =
            self.expected_items.ok_or(Error::Missing { parameter: "expected_items" })?;
        let target_fpp = self.target_fpp.ok_or(Error::Missing { parameter: "target_fpp" })?;
        let (num_groups, num_hashes) = match self.num_hashes {
            Some(k) => (sizing::num_groups(expected_items, target_fpp, k)?, k),
            None => sizing::solve(expected_items, target_fpp)?,
        };
        Ok(Shape { num_groups, num_hashes, expected_items, target_fpp })
    }
}
