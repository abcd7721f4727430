//! n, p, m and k of a plain filter, each from the others.

use crate::table::{COUNTS, RATES};
use crate::text::{rough, what_it_is};
use mayhap::sizing::{self, MAX_NUM_BITS, standard};
use mayhap::{Digest, Error, Layout};
use mayhap_units::number::{format_bytes, format_count, format_fpp, grouped};
use serde::{Serialize, Serializer};
use std::fmt::Write;

/// The known ones of n, p, m and k: to work out the others, or to draw a picture with them.
///
/// # Examples
///
/// ```
/// use mayhap_plan::Known;
/// // 20 bits, 3 of them for each of 3 keys.
/// let known = Known { items: Some(3), num_bits: Some(20), ..Known::default() };
/// let solved = Known { num_hashes: Some(3), ..known }.solve()?.unwrap();
/// assert!((solved.textbook_fpp - 0.0506).abs() < 1e-4); // (1 - (1 - 1/20)^9)^3
/// assert!(solved.expected_fpp > solved.textbook_fpp); // exact, in so small an array
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The mapping from digests to bits.
    pub layout: Layout,
    /// n: distinct keys.
    pub items: Option<u64>,
    /// p: the rate to keep.
    pub target_fpp: Option<f64>,
    /// m: bits, rounded down to whole blocks where the layout has blocks.
    pub num_bits: Option<u64>,
    /// k: the bits that a key sets; the best k if none is known.
    pub num_hashes: Option<u32>,
}

impl Default for Known {
    /// Nothing for a `standard` filter, which is the one of textbooks.
    fn default() -> Self {
        Self {
            layout: Layout::Standard,
            items: None,
            target_fpp: None,
            num_bits: None,
            num_hashes: None,
        }
    }
}

/// All four numbers and their consequences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Solved {
    /// The mapping from digests to bits.
    #[serde(serialize_with = "serialize_layout")]
    pub layout: Layout,
    /// n.
    pub items: u64,
    /// p as it was given.
    pub target_fpp: Option<f64>,
    /// m.
    pub num_bits: u64,
    /// k.
    pub num_hashes: u32,
    /// m / n.
    pub bits_per_item: f64,
    /// The rate with n keys, by the exact model of the layout.
    pub expected_fpp: f64,
    /// The rate with n keys by (1 - (1 - 1/m)^(kn))^k.
    pub textbook_fpp: f64,
    /// The rate with twice the keys.
    pub fpp_at_2x: f64,
    /// The rate with ten times the keys.
    pub fpp_at_10x: f64,
    /// The k with the lowest rate for these n and m.
    pub best_num_hashes: u32,
    /// The rate with that k.
    pub best_expected_fpp: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn serialize_layout<S: Serializer>(layout: &Layout, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(layout.name())
}

impl Known {
    /// The missing numbers; `None` unless two of n, p and m are known. If all three are, m is as
    /// given, and p may not be kept.
    ///
    /// # Errors
    ///
    /// The errors of [`mayhap::sizing`], and [`Error::OutOfRange`] for an m or k that the layout
    /// does not have.
    pub fn solve(&self) -> Result<Option<Solved>, Error> {
        self.check()?;
        let (items, num_bits) = match (self.items, self.target_fpp, self.num_bits) {
            (Some(items), _, Some(num_bits)) => (items, self.whole_blocks(num_bits)),
            (Some(items), Some(target_fpp), None) => (items, self.bits_for(items, target_fpp)?),
            (None, Some(target_fpp), Some(num_bits)) => {
                let num_bits = self.whole_blocks(num_bits);
                (self.items_for(num_bits, target_fpp)?, num_bits)
            }
            _ => return Ok(None),
        };
        let (min, max) = (self.layout.block_bits(), MAX_NUM_BITS);
        if !(min..=max).contains(&num_bits) {
            return Err(Error::OutOfRange { parameter: "num_bits", min, max, found: num_bits });
        }
        let best = best_num_hashes(self.layout, num_bits, items)?;
        let num_hashes = self.num_hashes.unwrap_or(best);
        // Any digest will do: only the shape is checked.
        mayhap::positions(self.layout, num_bits, num_hashes, Digest::new(0)).map(drop)?;
        let fpp = |times: u64, num_hashes| {
            sizing::expected_fpp(self.layout, num_bits, num_hashes, items.saturating_mul(times))
        };
        Ok(Some(Solved {
            layout: self.layout,
            items,
            target_fpp: self.target_fpp,
            num_bits,
            num_hashes,
            bits_per_item: num_bits as f64 / items as f64,
            expected_fpp: fpp(1, num_hashes),
            textbook_fpp: sizing::textbook_fpp(num_bits, num_hashes, items),
            fpp_at_2x: fpp(2, num_hashes),
            fpp_at_10x: fpp(10, num_hashes),
            best_num_hashes: best,
            best_expected_fpp: fpp(1, best),
        }))
    }

    /// The filters for several rates, or for several numbers of keys where the rate is known: the
    /// choices that one of n, p and m leaves open, with or without k. Rows that no filter can meet
    /// are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if none of n, p and m is known; the errors of [`Known::solve`] if it
    /// refuses every row.
    pub fn table(&self) -> Result<Vec<Solved>, Error> {
        if self.items.or(self.num_bits).is_none() && self.target_fpp.is_none() {
            return Err(Error::Missing { parameter: "n, p or m" });
        }
        let all: Vec<Self> = if self.target_fpp.is_none() {
            RATES.map(|fpp| Self { target_fpp: Some(fpp), ..*self }).to_vec()
        } else {
            COUNTS.map(|items| Self { items: Some(items), ..*self }).to_vec()
        };
        let (mut rows, mut refusal) = (Vec::new(), None);
        for known in all {
            match known.solve() {
                Ok(solved) => rows.extend(solved),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match refusal {
            Some(error) if rows.is_empty() => Err(error),
            _ => Ok(rows),
        }
    }

    /// Refuses an n or p that no filter has.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.items == Some(0) {
            return Err(Error::ZeroItems);
        }
        match self.target_fpp {
            Some(found) if !(found > 0.0 && found < 1.0) => Err(Error::FppOutOfRange { found }),
            _ => Ok(()),
        }
    }

    fn whole_blocks(&self, num_bits: u64) -> u64 {
        num_bits - num_bits % self.layout.block_bits()
    }

    fn bits_for(&self, items: u64, target_fpp: f64) -> Result<u64, Error> {
        let params = match self.num_hashes {
            Some(k) => sizing::for_items_and_hashes(self.layout, k, items, target_fpp)?,
            None => sizing::for_items(self.layout, items, target_fpp)?,
        };
        Ok(params.num_bits())
    }

    fn items_for(&self, num_bits: u64, target_fpp: f64) -> Result<u64, Error> {
        match self.num_hashes {
            Some(k) => sizing::max_items_and_hashes(self.layout, k, num_bits, target_fpp),
            None => sizing::max_items(self.layout, num_bits, target_fpp),
        }
    }
}

/// The k with the lowest rate.
pub(crate) fn best_num_hashes(layout: Layout, num_bits: u64, items: u64) -> Result<u32, Error> {
    match layout {
        Layout::Standard => Ok(standard::best_num_hashes(num_bits, items)),
        _ => Ok(sizing::for_bits(layout, num_bits, items)?.num_hashes()),
    }
}

impl Solved {
    /// The numbers in words: the names of rows with their texts.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let layout = self.layout.name();
        let (bits, bytes) = (grouped(self.num_bits), format_bytes(self.num_bits.div_ceil(8)));
        let (k, best_k) = (self.num_hashes, self.best_num_hashes);
        let best = if best_k == k {
            "the best for these n and m".into()
        } else {
            format!("k = {best_k} is the best, at a rate of {}", rough(self.best_expected_fpp))
        };
        let (predicted, textbook) = (rough(self.expected_fpp), rough(self.textbook_fpp));
        let (twice, tenfold) = (rough(self.fpp_at_2x), rough(self.fpp_at_10x));
        let mut rows = vec![
            ("layout", format!("{layout}: {}", what_it_is(layout))),
            ("keys", format!("n = {}", grouped(self.items))),
            ("size", format!("m = {bits} bits ({bytes}), {:.2} a key", self.bits_per_item)),
            ("hashes", format!("k = {k}; {best}")),
            ("rate", format!("p = {predicted} predicted; (1 - (1 - 1/m)^(kn))^k is {textbook}")),
            ("overfilled", format!("{twice} with 2x the keys, {tenfold} with 10x")),
        ];
        if let Some(target) = self.target_fpp {
            let verdict = if self.expected_fpp <= target { "is kept" } else { "is not kept" };
            rows.push(("target", format!("{} {verdict}", format_fpp(target))));
        }
        rows
    }

    /// Rows of a table in columns, below their names.
    pub fn columns(rows: &[Self]) -> String {
        let mut text = format!(
            "{:>8}  {:>10}  {:>15}  {:>8}  {:>3}  {:>10}  {:>6}\n",
            "keys", "rate", "bits", "bits/key", "k", "rate at 2x", "best k"
        );
        for row in rows {
            let _ = writeln!(
                text,
                "{:>8}  {:>10}  {:>15}  {:>8.2}  {:>3}  {:>10}  {:>6}",
                format_count(row.items),
                rough(row.expected_fpp),
                grouped(row.num_bits),
                row.bits_per_item,
                row.num_hashes,
                rough(row.fpp_at_2x),
                row.best_num_hashes
            );
        }
        text
    }

    /// The rate with any number of keys.
    pub fn fpp_after(&self, items: u64) -> f64 {
        sizing::expected_fpp(self.layout, self.num_bits, self.num_hashes, items)
    }

    /// Whether the given rate, if any, is kept.
    pub fn keeps_target(&self) -> bool {
        self.target_fpp.is_none_or(|target| self.expected_fpp <= target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(known: Known) -> Solved {
        known.solve().unwrap().unwrap()
    }

    #[test]
    fn each_of_n_p_and_m_follows_from_the_two_others() {
        for layout in [Layout::Standard, Layout::Blocked] {
            for (num_hashes, target) in [(None, 0.01), (None, 1e-5), (Some(4), 0.03)] {
                let known = Known { layout, num_hashes, ..Known::default() };
                let (items, target_fpp) = (Some(100_000), Some(target));
                let of_bits = solved(Known { items, target_fpp, ..known });
                assert!(of_bits.keeps_target() && of_bits.expected_fpp > target * 0.95);
                assert_eq!(num_hashes.unwrap_or(of_bits.num_hashes), of_bits.num_hashes);
                let num_bits = Some(of_bits.num_bits);
                let of_fpp = solved(Known { items, num_bits, ..known });
                assert!((of_fpp.expected_fpp / of_bits.expected_fpp - 1.0).abs() < 1e-9);
                let of_items = solved(Known { target_fpp, num_bits, ..known });
                // A whole k and whole blocks leave room for a few more.
                assert!((100_000..101_500).contains(&of_items.items), "{of_items:?}");
                let one_more = of_items.fpp_after(of_items.items + 1);
                assert!(of_items.keeps_target() && one_more > target, "{one_more}");
            }
        }
    }

    #[test]
    fn a_k_of_ones_own_is_compared_with_the_best() {
        let known = Known { items: Some(100), num_bits: Some(1000), ..Known::default() };
        let best = solved(known);
        assert_eq!((best.num_hashes, best.best_num_hashes), (7, 7));
        let three = solved(Known { num_hashes: Some(3), ..known });
        assert_eq!((three.num_hashes, three.best_num_hashes), (3, 7));
        assert!(three.expected_fpp > best.expected_fpp * 2.0);
        assert_eq!(three.best_expected_fpp, best.expected_fpp);
        let too_low = solved(Known { target_fpp: Some(1e-3), ..known });
        assert!(!too_low.keeps_target());
        assert!(too_low.rows().last().unwrap().1.ends_with("is not kept"));
    }

    #[test]
    fn one_of_three_makes_a_table_and_none_is_refused() {
        let rates = Known { items: Some(1000), num_hashes: Some(3), ..Known::default() };
        let rows = rates.table().unwrap();
        assert_eq!(rows.len(), RATES.len());
        assert!(rows.iter().all(|row| row.num_hashes == 3 && row.keeps_target()));
        assert_eq!(Solved::columns(&rows).lines().count(), RATES.len() + 1);
        let counts = Known { target_fpp: Some(0.01), ..Known::default() };
        assert_eq!(counts.table().unwrap().len(), COUNTS.len());
        // 64 bits keep no rate of 1e-9 for a key, and others do.
        let tiny = Known { num_bits: Some(64), num_hashes: Some(2), ..Known::default() };
        assert!((1..RATES.len()).contains(&tiny.table().unwrap().len()));
        assert_eq!(Known::default().solve(), Ok(None));
        let none = Known { num_hashes: Some(3), ..Known::default() };
        assert!(matches!(none.table(), Err(Error::Missing { .. })));
    }

    #[test]
    fn numbers_that_no_filter_has_are_refused() {
        let known = Known { items: Some(100), num_bits: Some(1000), ..Known::default() };
        let refused = |known: Known| known.solve().unwrap_err();
        assert_eq!(refused(Known { items: Some(0), ..known }), Error::ZeroItems);
        for fpp in [0.0, 1.0, -1.0, f64::NAN] {
            let error = refused(Known { target_fpp: Some(fpp), ..known });
            assert!(matches!(error, Error::FppOutOfRange { .. }));
        }
        let out_of_range = [
            Known { num_bits: Some(0), ..known },
            Known { num_bits: Some(u64::MAX), ..known },
            Known { num_hashes: Some(0), ..known },
            Known { num_hashes: Some(33), ..known },
            Known { layout: Layout::Blocked, num_bits: Some(511), ..known },
            Known { layout: Layout::Blocked, num_hashes: Some(7), ..known },
        ];
        for known in out_of_range {
            assert!(matches!(refused(known), Error::OutOfRange { .. }), "{known:?}");
        }
        let most = Known { items: Some(u64::MAX), num_bits: Some(1 << 56), ..known };
        assert_eq!(solved(most).expected_fpp, 1.0);
    }
}
