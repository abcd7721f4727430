//! The size of a filter after a fold, as the log has it.

use mayhap::FilterParams;

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
