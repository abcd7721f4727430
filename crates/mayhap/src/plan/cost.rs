//! The cost model: the cost of a query with a filter, with a set of all keys, and with neither.

use crate::Error;

/// The costs of answers, in any one unit (seconds, requests, money).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// C1: an answer without the disk or database: only the lookup in the filter or set.
    pub without_disk: f64,
    /// C2: an answer with both.
    pub with_disk: f64,
    /// The share of queries for absent keys, P1 + P2, from 0 to 1.
    pub absent_share: f64,
}

/// The mean costs of one query, in the unit of [`Costs`].
///
/// P1 = absent and answered so, P2 = a false positive, P3 = present; P1 + P2 is the share of absent
/// keys and P2 = p times it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// P1.
    pub true_negatives: f64,
    /// P2.
    pub false_positives: f64,
    /// P3.
    pub hits: f64,
    /// With a Bloom filter: P1 · C1 + (P2 + P3) · C2.
    pub with_filter: f64,
    /// With all keys in memory (a hash map): (P1 + P2) · C1 + P3 · C2.
    pub with_hash_map: f64,
    /// The cost of false positives, the difference between the two: P2 · (C2 − C1).
    pub of_false_positives: f64,
    /// With neither, each query reads the disk: C2 − C1.
    pub without_filter: f64,
}

impl Costs {
    /// [`Error::NumberOutOfRange`] unless both costs are finite and not negative, and the share is
    /// from 0 to 1.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_number("costs.without_disk", f64::MAX, self.without_disk)?;
        check_number("costs.with_disk", f64::MAX, self.with_disk)?;
        check_number("costs.absent_share", 1.0, self.absent_share)
    }

    /// The costs with a filter of rate `fpp`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::plan::Costs;
    /// // Nine of ten questions are about absent keys; memory takes 1 µs, the database 1001.
    /// let costs = Costs { without_disk: 1.0, with_disk: 1001.0, absent_share: 0.9 };
    /// let cost = costs.of(0.01);
    /// assert_eq!(cost.with_filter.round(), 110.0); // instead of
    /// assert_eq!(cost.without_filter, 1000.0);
    /// assert_eq!(cost.of_false_positives.round(), 9.0);
    /// ```
    pub fn of(&self, fpp: f64) -> Cost {
        let (c1, c2) = (self.without_disk, self.with_disk);
        let p2 = self.absent_share * fpp;
        let p1 = self.absent_share - p2;
        let p3 = 1.0 - self.absent_share;
        Cost {
            true_negatives: p1,
            false_positives: p2,
            hits: p3,
            with_filter: p1 * c1 + (p2 + p3) * c2,
            with_hash_map: (p1 + p2) * c1 + p3 * c2,
            of_false_positives: p2 * (c2 - c1),
            without_filter: c2 - c1,
        }
    }
}

/// [`Error::NumberOutOfRange`] unless the number is from 0 to `max`; NaN is not.
pub(super) fn check_number(parameter: &'static str, max: f64, found: f64) -> Result<(), Error> {
    if (0.0..=max).contains(&found) {
        Ok(())
    } else {
        Err(Error::NumberOutOfRange { parameter, min: 0.0, max, found })
    }
}
