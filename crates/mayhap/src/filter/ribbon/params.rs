//! The parameters of a ribbon filter, checked once.

use super::layer::{Layer, Part};
use crate::sizing::ribbon::{MAX_LAYERS, code_words};
use crate::sizing::{MAX_NUM_BITS, with_digest_collisions};
use crate::{Block, Error, FuseWidth};
use alloc::vec::Vec;

/// The parameters of a [`crate::RibbonFilter`] apart from its contents: width, number of keys, the
/// sizes of its layers.
///
/// Always consistent: it is only created by building a filter and by [`RibbonParams::new`], which
/// rejects values that no filter can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RibbonParams {
    width: FuseWidth,
    items: u64,
    rest: u64,
    segments: [Vec<u64>; 2],
    codes_at: u64,
    rest_at: u64,
}

impl RibbonParams {
    /// Checks the values and stores them unchanged: the segments of 64 slots in each layer for
    /// digests with one bit more, then in each layer for the others, and the number of digests that
    /// no layer took.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for empty layers, more than 29 layers of a kind, layers for digests
    /// that there are not, and unless there are half as many slots as items;
    /// [`Error::TooLarge`] above [`MAX_NUM_BITS`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{FuseWidth, RibbonParams};
    /// let width = FuseWidth::from_bits(10).unwrap();
    /// // 64 · 15 slots of 10 bits, and 64 bits of thresholds.
    /// let params = RibbonParams::new(width, 900, [vec![], vec![15]], 0)?;
    /// assert_eq!((params.num_slots(), params.num_bits()), (960, 9_664));
    /// assert!(RibbonParams::new(width, 900, [vec![], vec![]], 0).is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn new(
        width: FuseWidth,
        items: u64,
        segments: [Vec<u64>; 2],
        rest: u64,
    ) -> Result<Self, Error> {
        let max = MAX_NUM_BITS / 64;
        Error::check_range("rest", 0..=items.min(max), rest)?;
        let (mut words, mut codes, mut slots) = (0, 0, 0);
        for (i, layers) in segments.iter().enumerate() {
            let part = Digests::of(width, i == 0);
            let most = if part.range == 0 { 0 } else { MAX_LAYERS as u64 };
            Error::check_range("layers", 0..=most, layers.len() as u64)?;
            if i == 1 {
                words = u64::next_multiple_of(words, 8);
            }
            for (number, &segments) in layers.iter().enumerate() {
                Error::check_range("segments", 1..=max / 64, segments)?;
                // Fewer places than digests: otherwise the factor of the first layer has no room.
                let fits = number > 0 || u128::from(starts(segments)) <= part.range;
                Error::check_field(fits, "segments", segments)?;
                words += segments * u64::from(part.bits);
                codes += code_words(segments);
                slots += segments * 64;
            }
        }
        let (codes_at, rest_at) = (words, words + codes);
        Error::check_limit("num_bits", MAX_NUM_BITS, (rest_at + rest).saturating_mul(64))?;
        // The first layer alone has 0.955 slots a key, or one for each of a few.
        Error::check_range("items", 0..=2 * slots + rest, items)?;
        Error::check_field(items > 0 || slots == 0, "items", items)?;
        Ok(Self { width, items, rest, segments, codes_at, rest_at })
    }

    /// The width of the fingerprints.
    pub const fn width(&self) -> FuseWidth {
        self.width
    }

    /// The number of distinct keys.
    pub const fn items(&self) -> u64 {
        self.items
    }

    /// The digests that no layer took, which are kept whole: 0 but for digests chosen to cause it.
    pub const fn rest(&self) -> u64 {
        self.rest
    }

    /// The segments of 64 slots of each layer: those of the digests with one bit more, and those of
    /// the others.
    pub const fn segments(&self) -> &[Vec<u64>; 2] {
        &self.segments
    }

    /// The number of slots in all layers.
    pub fn num_slots(&self) -> u64 {
        self.segments.iter().flatten().sum::<u64>() * 64
    }

    /// The bits of all slots, thresholds and digests that no layer took: whole words, at least one.
    pub fn num_bits(&self) -> u64 {
        self.num_words().max(1) * 64
    }

    /// The contents in memory and in files, in 64-byte blocks.
    pub fn num_blocks(&self) -> u64 {
        self.num_bits().div_ceil(Block::BITS)
    }

    /// Bytes of memory: 64 · `num_blocks`.
    pub fn num_bytes(&self) -> u64 {
        self.num_blocks() * 64
    }

    /// The false-positive probability: [`crate::sizing::ribbon::expected_fpp`], less what a part
    /// without keys, whose answer is "surely not", takes from it.
    ///
    /// Less than that for a filter that keeps digests whole.
    pub fn expected_fpp(&self) -> f64 {
        let of_part = |i: usize| {
            let part = Digests::of(self.width, i == 0);
            let share = part.range as f64 / 18_446_744_073_709_551_616.0;
            if self.segments[i].is_empty() { 0.0 } else { share / (1u64 << part.bits) as f64 }
        };
        with_digest_collisions(of_part(0) + of_part(1), self.items)
    }

    /// The words before the end of the last digest that no layer took.
    pub(super) const fn num_words(&self) -> u64 {
        self.rest_at + self.rest
    }

    /// The first word of thresholds: after the slots of all layers.
    pub(super) const fn codes_at(&self) -> u64 {
        self.codes_at
    }

    /// The first word of digests that no layer took: after the thresholds.
    pub(super) const fn rest_at(&self) -> u64 {
        self.rest_at
    }

    /// Both parts, as queries need them.
    pub(super) fn parts(&self) -> [Part; 2] {
        let (mut words_at, mut codes_at) = (0, self.codes_at as usize);
        [0, 1].map(|i| {
            let digests = Digests::of(self.width, i == 0);
            words_at = usize::next_multiple_of(words_at, 8);
            let layers = self.segments[i].iter().enumerate().map(|(number, &segments)| {
                let layer = Layer::new(number, segments, &digests, words_at, codes_at);
                words_at += segments as usize * digests.bits as usize;
                codes_at += code_words(segments) as usize;
                layer
            });
            Part { first: digests.first, bits: digests.bits, layers: layers.collect() }
        })
    }
}

/// The places at which the 64 slots of a key can begin, in a layer of this many segments.
pub(super) const fn starts(segments: u64) -> u64 {
    64 * segments - 63
}

/// The digests of a part: a range, and the bits of their fingerprints.
pub(super) struct Digests {
    pub(super) first: u64,
    pub(super) range: u128,
    pub(super) bits: u32,
}

impl Digests {
    /// Those with one bit more are the lowest.
    pub(super) const fn of(width: FuseWidth, is_wide: bool) -> Self {
        let limit = (width.wider() as u64) << 32;
        if is_wide {
            Self { first: 0, range: limit as u128, bits: width.bits() + 1 }
        } else {
            Self { first: limit, range: (1 << 64) - limit as u128, bits: width.bits() }
        }
    }

    /// The largest of them, if there are any.
    pub(super) const fn last(&self) -> u64 {
        (self.first as u128 + self.range.saturating_sub(1)) as u64
    }
}
