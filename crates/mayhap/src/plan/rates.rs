//! The rate and size of a candidate with any number of keys, by kind.

use super::{Candidate, bloom, compact, counting, fuse, matrix, ribbon, scalable, window};
use crate::native::Kind;

impl Candidate {
    /// The same, with the rates predicted by its kind.
    pub(super) fn predicted(mut self) -> Self {
        let fpp_after = |times: u64| self.fpp_after(self.items.saturating_mul(times));
        let (fpp, at_2x, at_10x) = (fpp_after(1), fpp_after(2), fpp_after(10));
        self.expected_fpp = fpp.unwrap_or(1.0);
        self.fpp_at_2x = at_2x;
        self.fpp_at_10x = at_10x;
        self
    }

    /// The rate with `items` keys, even more than it is sized for; `None` if it accepts no more.
    ///
    /// This is the overfilling curve of each kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::plan::{Needs, plan};
    /// let needs = Needs { target_fpp: Some(0.01), ..Needs::for_items(1_000_000) };
    /// let best = plan(&needs)?.best.unwrap();
    /// let curve: Vec<f64> =
    ///     (1..=4).filter_map(|times| best.fpp_after(times * 1_000_000)).collect();
    /// assert!(curve[0] <= 0.01 && curve.is_sorted() && curve[3] > 0.5);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fpp_after(&self, items: u64) -> Option<f64> {
        match (self.kind.kind, self.kind.layout) {
            (Kind::Bloom, Some(layout)) => Some(bloom::fpp_after(self, layout, items)),
            (Kind::Fuse, _) => fuse::fpp_after(self, items),
            (Kind::Ribbon, _) => ribbon::fpp_after(self, items),
            (Kind::Matrix, _) => Some(matrix::fpp_after(self, items)),
            (Kind::Window, _) => Some(window::fpp_after(self, items)),
            (Kind::Compact, _) => compact::fpp_after(self, items),
            (Kind::Counting, _) => Some(counting::fpp_after(self, items)),
            (Kind::Scalable, _) => scalable::fpp_after(self, items),
            // No candidate is of another kind.
            _ => None,
        }
    }

    /// Bytes of memory with `items` keys in each set, all sets together: more than
    /// [`Candidate::num_bytes`] only for [`Kind::Scalable`], the only kind that grows. `None` if it
    /// cannot grow that far.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::plan::{Needs, plan};
    /// let needs = Needs { target_fpp: Some(0.01), ..Needs::for_items(1_000_000) };
    /// let best = plan(&Needs { unknown_items: true, ..needs })?.best.unwrap();
    /// let bytes = |times: u64| best.num_bytes_after(times * 1_000_000).unwrap();
    /// assert_eq!(bytes(1), best.num_bytes);
    /// // Layers for 1, 2, 4 and 8 million keys.
    /// assert_eq!(bytes(10) / bytes(1), 16);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn num_bytes_after(&self, items: u64) -> Option<u64> {
        if self.kind.kind != Kind::Scalable {
            return Some(self.num_bytes);
        }
        let num_bits = scalable::num_bits_after(self, items)?;
        Some((num_bits / 8).saturating_mul(self.sets))
    }
}
