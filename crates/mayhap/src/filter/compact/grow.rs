//! The fingerprints of one filter in another: union, and twice the room.

use super::CompactFilter;
use super::CompactParams;
use crate::Error;

impl CompactFilter {
    /// Whether it doubles itself when it is full.
    pub const fn grows(&self) -> bool {
        self.grows
    }

    /// From now on the filter doubles itself when it is full, or does not.
    pub fn set_grows(&mut self, grows: bool) {
        self.grows = grows;
    }

    /// Sets the limit beyond which it does not grow, in bytes.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.max_bytes = max_bytes;
    }

    /// Adds the copies of another filter: this one is then, bit for bit, the filter into which the
    /// keys of both were inserted. What both hold is stored twice. Takes the memory of a copy of
    /// this filter for as long as it runs.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] if the filters differ in size or digest; [`Error::Full`];
    /// [`Error::OutOfMemory`]. They change nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::CompactFilter;
    ///
    /// let builder = CompactFilter::builder().expected_items(100).target_fpp(1e-4);
    /// let (mut ours, mut theirs) = (builder.clone().build()?, builder.build()?);
    /// ours.insert_batch(&["a", "b"])?;
    /// theirs.insert_batch(&["b", "c"])?;
    /// ours.union_with(&theirs)?;
    /// assert_eq!(["a", "b", "c"].map(|key| ours.count(key)), [1, 2, 1]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        self.check_compatible(other)?;
        let before = self.try_clone()?;
        let result = self.insert_all_of(other);
        if result.is_err() {
            *self = before;
        }
        result
    }

    fn insert_all_of(&mut self, other: &Self) -> Result<(), Error> {
        let mut result = Ok(());
        other.for_each_copy(|number| {
            if result.is_ok() {
                result = self.insert_fingerprint(self.table.of_number(number)).map(|_| ());
            }
        });
        result
    }

    /// Checks that `other` has buckets of the same number and shape, and the same digest function.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] with the first parameter that differs.
    pub fn check_compatible(&self, other: &Self) -> Result<(), Error> {
        let (ours, theirs) = (&self.params, &other.params);
        let numbers = [
            ("num_fronts", ours.num_fronts(), theirs.num_fronts()),
            ("runs", ours.runs().into(), theirs.runs().into()),
            ("remainder_bits", ours.remainder_bits().into(), theirs.remainder_bits().into()),
            ("expected_items", ours.expected_items(), theirs.expected_items()),
        ];
        for (parameter, left, right) in numbers {
            if left != right {
                return Err(Error::Incompatible { parameter, left, right });
            }
        }
        super::super::check_same_digest(&self.digest_function, &other.digest_function)
    }

    /// A filter with room for twice as many keys and the same copies, without their keys: each
    /// front bucket becomes two, by a bit of the remainder. The fingerprints are the same, so the
    /// rate with twice the keys is twice as high, unless [`super::CompactBuilder::doublings`]
    /// reserved the bit.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the remainders have no bits left; [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::CompactFilter;
    ///
    /// let builder = CompactFilter::builder().expected_items(1_000).target_fpp(0.01).doublings(1);
    /// let mut small = builder.build()?;
    /// small.insert_batch(&(0..1_000u64).collect::<Vec<_>>())?;
    /// let mut large = small.doubled()?;
    /// large.insert_batch(&(1_000..2_000u64).collect::<Vec<_>>())?;
    /// assert!((0..2_000u64).all(|key| large.contains(&key)) && large.estimated_fpp() <= 0.01);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn doubled(&self) -> Result<Self, Error> {
        let params = &self.params;
        let Some(bits) = params.remainder_bits().checked_sub(1) else {
            let parameter = "remainder_bits";
            return Err(Error::OutOfRange { parameter, min: 1, max: 56, found: 0 });
        };
        let items = params.expected_items().saturating_mul(2);
        let (fronts, runs, fpp) = (params.num_fronts() * 2, params.runs(), params.target_fpp());
        let doubled = CompactParams::new(fronts, runs, bits, items, fpp)?;
        let mut larger = Self::empty(doubled, self.digest_function)?;
        larger.insert_all_of(self)?;
        (larger.grows, larger.max_bytes) = (self.grows, self.max_bytes);
        Ok(larger)
    }
}
