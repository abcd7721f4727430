//! The size of a filter after a fold: planned, as the log has it, and what it saves.

use mayhap::FilterParams;
use mayhap::sizing::Shrink;

/// Bytes of an encoded [`Size`].
const SIZE_BYTES: usize = 24;

/// The size of a filter after a fold, and what it promises there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    pub(super) num_bits: u64,
    pub(super) expected_items: u64,
    pub(super) target_fpp: f64,
}

impl Size {
    pub(super) const fn of(params: &FilterParams) -> Self {
        Self {
            num_bits: params.num_bits(),
            expected_items: params.expected_items(),
            target_fpp: params.target_fpp(),
        }
    }

    pub(super) fn encode(&self) -> [u8; SIZE_BYTES] {
        let mut bytes = [0; SIZE_BYTES];
        let numbers = [self.num_bits, self.expected_items, self.target_fpp.to_bits()];
        for (to, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
            *to = number.to_le_bytes();
        }
        bytes
    }

    /// The size of these bytes; `None` for bytes that [`Size::encode`] does not make.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE_BYTES] = bytes.try_into().ok()?;
        let number = |i: usize| u64::from_le_bytes(bytes.as_chunks().0[i]);
        let (num_bits, expected_items) = (number(0), number(1));
        Some(Self { num_bits, expected_items, target_fpp: f64::from_bits(number(2)) })
    }
}

/// The savings of a fold of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saving {
    /// The largest factor that keeps the promised rate for the keys in it.
    pub factor: u64,
    /// Bytes of its bits after the fold.
    pub num_bytes: u64,
    /// The predicted rate after the fold.
    pub expected_fpp: f64,
}

impl Saving {
    /// Of a filter with these parameters that has answered "new" to this many keys; `None` if no
    /// smaller size keeps its rate.
    pub(super) fn of(params: &FilterParams, inserted: u64) -> Option<Self> {
        let (factor, folded) = plan(Shrink::default(), params, inserted).ok()?;
        let expected_fpp = folded.expected_fpp(folded.distinct_items(inserted));
        (factor > 1).then(|| Self { factor, num_bytes: folded.num_bytes(), expected_fpp })
    }
}

/// [`Shrink::of`] for a filter that has answered "new" to this many keys, and goes on to count
/// them. In a smaller filter that count stands for more distinct keys, since it is expected to take
/// more of them for repeats.
pub(super) fn plan(
    how: Shrink,
    params: &FilterParams,
    inserted: u64,
) -> Result<(u64, FilterParams), mayhap::Error> {
    let mut items = params.distinct_items(inserted);
    loop {
        let (factor, folded) = how.of(params, items)?;
        let after = folded.distinct_items(inserted);
        if after <= items {
            return Ok((factor, folded));
        }
        // For more keys the factor is smaller, or the same.
        items = after;
    }
}
