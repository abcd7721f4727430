//! The planner, as `mayhap plan` has it.

use crate::Fault;
use mayhap::plan;
use wasm_bindgen::prelude::wasm_bindgen;

/// What is known and needed; NaN for a number that is not.
#[wasm_bindgen]
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no needs, not states")]
pub struct Needs {
    /// n.
    pub items: f64,
    /// p.
    pub target_fpp: f64,
    /// Memory for all sets.
    pub max_bytes: f64,
    /// Keys are removed one by one.
    pub delete: bool,
    /// Old keys are forgotten.
    pub forget: bool,
    /// All keys are there before the first query.
    pub frozen: bool,
    /// n is a first guess.
    pub unknown_items: bool,
    /// Sets of which a query asks which hold the key.
    pub sets: f64,
}

#[wasm_bindgen]
impl Needs {
    /// Nothing known yet.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "the constructor that JavaScript calls")]
    pub fn new() -> Self {
        let items = f64::NAN;
        Self {
            items,
            target_fpp: items,
            max_bytes: items,
            delete: false,
            forget: false,
            frozen: false,
            unknown_items: false,
            sets: 1.0,
        }
    }
}

/// A kind, sized.
#[wasm_bindgen(getter_with_clone)]
#[derive(Debug, Clone)]
pub struct Candidate {
    inner: plan::Candidate,
    /// Whether it is the best one.
    pub is_best: bool,
    /// Why it is not, in the words of `mayhap plan`.
    pub why: String,
    /// The kind's name.
    pub kind: String,
    /// n, per set.
    pub items: f64,
    /// p that it is made for.
    pub target_fpp: f64,
    /// m, per set.
    pub num_bits: f64,
    /// k.
    pub num_hashes: u32,
    /// Bytes of memory, all sets together.
    pub num_bytes: f64,
    /// The predicted rate with n keys.
    pub expected_fpp: f64,
    /// With 2 n; NaN for a kind that takes no more than n.
    pub fpp_at_2x: f64,
    /// With 10 n; likewise.
    pub fpp_at_10x: f64,
    /// Cache lines of a query for a key that is there.
    pub cache_lines_hit: f64,
    /// Cache lines of a query for an absent key.
    pub cache_lines_miss: f64,
    /// Bits per key of one set.
    pub bits_per_item: f64,
}

#[wasm_bindgen]
impl Candidate {
    /// The rate with any number of keys; NaN for a kind that takes no more than n.
    pub fn fpp_after(&self, items: f64) -> f64 {
        self.inner.fpp_after(items as u64).unwrap_or(f64::NAN)
    }
}

impl Candidate {
    fn of(inner: plan::Candidate, is_best: bool, why: String) -> Self {
        Self {
            is_best,
            why,
            kind: inner.name().into(),
            items: inner.items as f64,
            target_fpp: inner.target_fpp,
            num_bits: inner.num_bits as f64,
            num_hashes: inner.num_hashes,
            num_bytes: inner.num_bytes as f64,
            expected_fpp: inner.expected_fpp,
            fpp_at_2x: inner.fpp_at_2x.unwrap_or(f64::NAN),
            fpp_at_10x: inner.fpp_at_10x.unwrap_or(f64::NAN),
            cache_lines_hit: inner.cache_lines.hit,
            cache_lines_miss: inner.cache_lines.miss,
            bits_per_item: inner.bits_per_item(),
            inner,
        }
    }
}

/// The planner's answer.
#[wasm_bindgen(getter_with_clone)]
#[derive(Debug, Clone)]
pub struct Plan {
    /// The kinds that serve, the best one first.
    pub candidates: Vec<Candidate>,
    /// The names of the kinds that do not serve.
    pub unfit: Vec<String>,
    /// Why each of them does not.
    pub unfit_why: Vec<String>,
}

/// Finds the kind, layout and size of filter for these needs.
///
/// # Errors
///
/// A [`Fault`] unless two of n, p and the memory are given, and for numbers out of their range.
#[wasm_bindgen]
pub fn plan(needs: &Needs) -> Result<Plan, Fault> {
    let count = |number: f64| (!number.is_nan()).then_some(number as u64);
    let planned = plan::plan(&plan::Needs {
        items: count(needs.items),
        target_fpp: (!needs.target_fpp.is_nan()).then_some(needs.target_fpp),
        max_bytes: count(needs.max_bytes),
        delete: needs.delete,
        forget: needs.forget,
        frozen: needs.frozen,
        unknown_items: needs.unknown_items,
        sets: needs.sets as u64,
        ..plan::Needs::default()
    })?;
    let best = planned.best.into_iter().map(|best| Candidate::of(best, true, String::new()));
    let others = planned.rejected.into_iter();
    let others = others.map(|(other, why)| Candidate::of(other, false, why.to_string()));
    let (unfit, unfit_why) =
        planned.unfit.iter().map(|(kind, why)| (kind.name().to_owned(), why.to_string())).unzip();
    Ok(Plan { candidates: best.chain(others).collect(), unfit, unfit_why })
}
