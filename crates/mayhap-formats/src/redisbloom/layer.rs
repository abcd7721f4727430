//! One filter of the chain.

use super::hash::Hashes;
use crate::limits::{check_fpp, not_zero};
use crate::modulo::Modulo;
use crate::{Bits, Error, Limits, Reader};
use mayhap::sizing::estimated_fpp;

/// Bytes of a layer in the header.
pub(super) const LAYER_BYTES: u64 = 53;
/// (ln 2)^2 and ln 2 with the digits in the source.
const LN_2_SQUARED: f64 = 0.480_453_013_918_201;
#[expect(clippy::approx_constant, reason = "the exact one may give another k")]
const LN_2: f64 = 0.693_147_180_559_945;

pub(super) const NO_ROUNDING: u32 = 1;
pub(super) const CAPACITY_IS_BITS: u32 = 2;
pub(super) const FORCE_64: u32 = 4;
pub(super) const NO_SCALING: u32 = 8;

/// A layer's part of the header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LayerHeader {
    pub(super) num_bytes: u64,
    pub(super) num_items: u64,
    pub(super) fpp: f64,
    pub(super) bits_per_item: f64,
    pub(super) num_hashes: u32,
    pub(super) capacity: u64,
    /// log2 of m, or 0.
    pub(super) n2: u8,
}

fn bits_per_item(fpp: f64) -> f64 {
    // The logarithm of the C library, as in the server: its digits are in the header.
    (fpp.ln() / LN_2_SQUARED).abs()
}

fn num_hashes(bits_per_item: f64) -> u64 {
    (LN_2 * bits_per_item).ceil() as u64
}

impl LayerHeader {
    /// `bloom_init`.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for an invalid rate or capacity, [`Error::TooLarge`].
    pub(super) fn new(
        capacity: u64,
        fpp: f64,
        options: u32,
        limits: &Limits,
    ) -> Result<Self, Error> {
        check_fpp("error rate", fpp)?;
        not_zero("capacity", capacity)?;
        let per_item = bits_per_item(fpp);
        let wanted = capacity as f64 * per_item;
        let (mut entries, mut n2) = (capacity, 0);
        let bits = if options & CAPACITY_IS_BITS != 0 {
            n2 = u8::try_from(capacity).ok().filter(|&n2| n2 < 64).ok_or_else(|| {
                Error::bad("capacity", "below 64: it is log2 of the bits", capacity)
            })?;
            entries = ((1u64 << n2) as f64 / per_item) as u64;
            1 << n2
        } else if options & NO_ROUNDING != 0 {
            (wanted as u64).max(1)
        } else {
            let exponent = libm::log2(wanted).floor() + 1.0;
            Error::check(exponent <= 63.0, "capacity", "fewer than 2^63 bits", capacity)?;
            n2 = exponent.max(0.0) as u8;
            let bits = 1u64 << n2;
            entries += ((bits as f64 - wanted) as u64 as f64 / per_item) as u64;
            bits
        };
        let num_bytes = bits.div_ceil(64).saturating_mul(8);
        limits.check_bits("number of bits", num_bytes.saturating_mul(8))?;
        let num_hashes = limits.check_hashes("number of hashes", num_hashes(per_item))?;
        let (num_items, bits_per_item) = (0, per_item);
        Ok(Self { num_bytes, num_items, fpp, bits_per_item, num_hashes, capacity: entries, n2 })
    }

    /// Reads it, with the server's checks and a check that the numbers agree with each other. (A
    /// server accepts a header whose k blocks it for seconds.)
    pub(super) fn decode(reader: &mut Reader<'_>, limits: &Limits) -> Result<Self, Error> {
        let num_bytes = reader.u64_le("bytes of a layer")?;
        limits.check_bits("bits of a layer", num_bytes.saturating_mul(8))?;
        let num_bits = reader.u64_le("bits of a layer")?;
        let is_whole = Some(num_bits) == num_bytes.checked_mul(8) && num_bytes.is_multiple_of(8);
        Error::check(is_whole, "bits of a layer", "8 × its bytes, in words of 64", num_bits)?;
        let num_items = reader.u64_le("items of a layer")?;
        let fpp = check_fpp("error rate of a layer", reader.f64_le("error rate of a layer")?)?;
        let per_item = reader.f64_le("bits for an item")?;
        let expected = bits_per_item(fpp);
        // The logarithms of C libraries differ in the last digit.
        let fits = (per_item - expected).abs() <= expected * 1e-12;
        Error::check(fits, "bits for an item", "-ln(error rate) / (ln 2)^2", per_item)?;
        let hashes = u64::from(reader.u32_le("number of hashes")?);
        let (fits, allowed) = (hashes == num_hashes(per_item), "ceil(ln 2 · bits for an item)");
        Error::check(fits, "number of hashes", allowed, hashes)?;
        let num_hashes = limits.check_hashes("number of hashes", hashes)?;
        let capacity = reader.u64_le("capacity of a layer")?;
        let n2 = reader.u8("log2 of the bits")?;
        let fits = n2 == 0 || n2 <= 63 && num_bits >= 1 << n2;
        Error::check(fits, "log2 of the bits", "at most that of the bits", n2)?;
        Ok(Self { num_bytes, num_items, fpp, bits_per_item: per_item, num_hashes, capacity, n2 })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.num_bytes.to_le_bytes());
        out.extend((self.num_bytes * 8).to_le_bytes());
        out.extend(self.num_items.to_le_bytes());
        out.extend(self.fpp.to_le_bytes());
        out.extend(self.bits_per_item.to_le_bytes());
        out.extend(self.num_hashes.to_le_bytes());
        out.extend(self.capacity.to_le_bytes());
        out.push(self.n2);
    }
}

/// A layer and its bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    pub(super) header: LayerHeader,
    pub(super) bits: Bits,
    modulo: Modulo,
}

impl Layer {
    pub(super) fn new(header: LayerHeader, bits: Bits) -> Self {
        let m = if header.n2 == 0 { bits.num_bits() } else { 1 << header.n2 };
        Self { header, bits, modulo: Modulo::new(m) }
    }

    /// The positions of a key.
    #[inline]
    pub(super) fn positions(&self, hashes: Hashes) -> impl Iterator<Item = u64> + use<> {
        // With 32 bits and m = 2^n2 the server computes modulo 2^32, which gives the same.
        let modulo = self.modulo;
        (0..u64::from(self.header.num_hashes))
            .map(move |i| modulo.of(hashes.a.wrapping_add(i.wrapping_mul(hashes.b))))
    }

    #[inline]
    pub(super) fn contains(&self, hashes: Hashes) -> bool {
        self.positions(hashes).all(|position| self.bits.get(position))
    }

    /// Whether a bit changed, and so the key counts as new.
    pub(super) fn insert(&mut self, hashes: Hashes) -> bool {
        let positions = self.positions(hashes);
        let new = positions.fold(false, |new, position| new | self.bits.set(position));
        self.header.num_items += u64::from(new);
        new
    }

    /// `(set bits / m)^k`.
    pub(super) fn fill_fpp(&self) -> f64 {
        // Bits of m and above are never read; a forged file may have them set.
        estimated_fpp(self.bits.count_ones(), self.modulo.divisor(), self.header.num_hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 9.585 bits for each of 100 keys are 958.5; 65 of 1,024 bits remain, enough for 6
    /// more keys.
    #[test]
    fn a_layer_of_a_power_of_two_is_for_as_many_keys_as_its_bits_hold() {
        let layer = |capacity, options| {
            LayerHeader::new(capacity, 0.01, options, &Limits::default()).unwrap()
        };
        let rounded = layer(100, 4);
        assert_eq!((rounded.num_bytes, rounded.n2, rounded.capacity), (128, 10, 106));
        let exact = layer(100, 4 | NO_ROUNDING);
        assert_eq!((exact.num_bytes, exact.n2, exact.capacity), (120, 0, 100));
        // 95 bits in words of 64.
        let few = layer(10, 4 | NO_ROUNDING);
        assert_eq!((few.num_bytes, few.n2, few.capacity), (16, 0, 10));
        let by_bits = layer(10, 4 | CAPACITY_IS_BITS);
        assert_eq!((by_bits.num_bytes, by_bits.n2, by_bits.capacity), (128, 10, 106));
    }
}
