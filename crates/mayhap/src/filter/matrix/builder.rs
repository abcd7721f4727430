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

    setters! {
        /// N: the number of sets; more can be added later.
        num_sets: usize,
        /// n: the number of distinct keys that each set will hold (the largest, if they differ).
        expected_items: u64,
        /// p: the false-positive probability of each set up to `expected_items`. For a key that no
        /// set holds, p × N sets are reported on average.
        target_fpp: f64,
        /// k: the rows of a key, from 1 to 8, or 16, instead of the fastest within 10 % of the
        /// fewest bits.
        num_hashes: u32,
    }

    /// Sets with the shape of a [`crate::BlockedBloomFilter`] with these parameters, with k = 8 or
    /// 16, instead of n, p and k: then such filters can become sets, and sets filters.
    pub fn like(mut self, params: &FilterParams) -> Self {
        self.like = Some(*params);
        self
    }

    digest_setters!();

    /// Sizes the matrix and allocates it, zeroed.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if too few numbers are given; [`Error::OutOfRange`] unless there are from
    /// 1 to [`BloomMatrix::MAX_SETS`] sets, or if [`MatrixBuilder::like`] has k = 4;
    /// [`Error::Incompatible`] if [`MatrixBuilder::like`] has parameters of another layout;
    /// [`Error::TooLarge`] above [`MatrixBuilder::max_bytes`]; [`Error::OutOfMemory`]; and the
    /// errors of [`crate::sizing::matrix::num_groups`].
    pub fn build(self) -> Result<BloomMatrix, Error> {
        let shape = self.shape()?;
        let num_sets = self.num_sets.ok_or(Error::Missing { parameter: "num_sets" })?;
        BloomMatrix::empty(shape, self.digest_function, num_sets, self.max_bytes)
    }

    fn shape(&self) -> Result<Shape, Error> {
        if let Some(like) = &self.like {
            like.check_layout(Layout::Blocked)?;
            Error::check_limit("bits per set", sizing::MAX_NUM_BITS, like.num_bits())?;
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
