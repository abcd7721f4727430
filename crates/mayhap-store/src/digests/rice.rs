//! Sorted digests as bits: the difference of each to the one before, less one, in Rice codes.
//!
//! Rice, Plaunt 1971, "Adaptive Variable-Length Coding". Differences of n random digests are
//! geometric with the mean 2^64 / n. With r = 63 − floor(log2 n) low bits a code is within 0.04
//! bits of the shortest Rice code, and within 0.14 bits of the entropy, log2(2^64 / n) + 1.44.

/// The number of low bits of a code, for `count` digests.
pub(super) const fn low_bits(count: u64) -> u32 {
    // For 0 digests there are no codes.
    if count == 0 { 63 } else { count.leading_zeros() }
}

/// Strictly ascending digests to bytes.
#[derive(Debug)]
pub(super) struct Encoder {
    low_bits: u32,
    /// The smallest digest that can follow.
    next: u64,
    bits: u128,
    num_bits: u32,
    bytes: Vec<u8>,
}

impl Encoder {
    /// For exactly `count` digests.
    pub(super) fn new(count: u64) -> Self {
        Self { low_bits: low_bits(count), next: 0, bits: 0, num_bits: 0, bytes: Vec::new() }
    }

    /// Appends a digest, larger than all before.
    pub(super) fn push(&mut self, digest: u64) {
        debug_assert!(digest >= self.next);
        let gap = digest.wrapping_sub(self.next);
        self.next = digest.wrapping_add(1);
        let mut zeros = gap >> self.low_bits;
        while zeros >= 32 {
            self.put(0, 32);
            zeros -= 32;
        }
        self.put(1 << zeros, zeros as u32 + 1);
        self.put(gap & ((1 << self.low_bits) - 1), self.low_bits);
    }

    fn put(&mut self, value: u64, num_bits: u32) {
        self.bits |= u128::from(value) << self.num_bits;
        self.num_bits += num_bits;
        if self.num_bits >= 64 {
            self.bytes.extend_from_slice(&(self.bits as u64).to_le_bytes());
            self.bits >>= 64;
            self.num_bits -= 64;
        }
    }

    /// The bytes that are complete; they are to be cleared by the caller.
    pub(super) const fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(&mut self) {
        let rest = self.num_bits.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.bits.to_le_bytes()[..rest]);
        (self.bits, self.num_bits) = (0, 0);
    }
}

/// The bits do not encode ascending digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// Decodes bytes to digests as they arrive.
#[derive(Debug)]
pub(super) struct Decoder {
    low_bits: u32,
    /// The smallest digest that can follow: 2^64 after the largest possible one.
    next: u128,
    /// The zeros of a code so far.
    zeros: u64,
    /// The zeros were followed by a one.
    has_zeros: bool,
    bits: u128,
    num_bits: u32,
    bytes: Vec<u8>,
    at: usize,
}

impl Decoder {
    /// For `count` digests.
    pub(super) fn new(count: u64) -> Self {
        Self {
            low_bits: low_bits(count),
            next: 0,
            zeros: 0,
            has_zeros: false,
            bits: 0,
            num_bits: 0,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// The buffer for the next bytes, all of which become part of the input. Only to be called when
    /// [`Decoder::next`] needs more.
    pub(super) fn refill(&mut self) -> &mut Vec<u8> {
        self.bytes.clear();
        self.at = 0;
        &mut self.bytes
    }

    /// The next digest; `None` if more bytes are needed.
    pub(super) fn next(&mut self) -> Result<Option<u64>, Damaged> {
        loop {
            self.take_bytes();
            let is_last = self.at == self.bytes.len();
            if !self.has_zeros {
                let zeros = self.bits.trailing_zeros().min(self.num_bits);
                self.zeros = self.zeros.saturating_add(zeros.into());
                if zeros == self.num_bits {
                    (self.bits, self.num_bits) = (0, 0);
                    if is_last {
                        return Ok(None);
                    }
                    continue;
                }
                self.drop_bits(zeros + 1);
                self.has_zeros = true;
            }
            if self.num_bits < self.low_bits {
                if is_last {
                    return Ok(None);
                }
                continue;
            }
            let low = self.bits as u64 & ((1 << self.low_bits) - 1);
            self.drop_bits(self.low_bits);
            let gap = u128::from(self.zeros) << self.low_bits | u128::from(low);
            (self.zeros, self.has_zeros) = (0, false);
            let digest = u64::try_from(self.next + gap).map_err(|_| Damaged)?;
            self.next = u128::from(digest) + 1;
            return Ok(Some(digest));
        }
    }

    /// Whether nothing is left but the zeros that fill the last byte.
    pub(super) fn is_at_end(&self) -> bool {
        let is_between = self.zeros == 0 && !self.has_zeros;
        is_between && self.at == self.bytes.len() && self.num_bits < 8 && self.bits == 0
    }

    fn drop_bits(&mut self, num_bits: u32) {
        // All 128 only if there is no bit left.
        self.bits = self.bits.checked_shr(num_bits).unwrap_or(0);
        self.num_bits -= num_bits;
    }

    fn take_bytes(&mut self) {
        while self.num_bits <= 64 && self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            if let Some(&word) = rest.first_chunk() {
                self.bits |= u128::from(u64::from_le_bytes(word)) << self.num_bits;
                self.num_bits += 64;
                self.at += 8;
            } else {
                self.bits |= u128::from(rest[0]) << self.num_bits;
                self.num_bits += 8;
                self.at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(digests: &[u64]) -> Vec<u8> {
        let mut encoder = Encoder::new(digests.len() as u64);
        for &digest in digests {
            encoder.push(digest);
        }
        encoder.finish();
        std::mem::take(encoder.bytes())
    }

    /// All digests, from bytes that arrive in parts of this length.
    fn decode(count: u64, bytes: &[u8], part: usize) -> Result<Option<Vec<u64>>, Damaged> {
        let mut decoder = Decoder::new(count);
        let (mut digests, mut parts) = (Vec::new(), bytes.chunks(part));
        while (digests.len() as u64) < count {
            match decoder.next()? {
                Some(digest) => digests.push(digest),
                None => match parts.next() {
                    Some(part) => decoder.refill().extend_from_slice(part),
                    None => return Ok(None),
                },
            }
        }
        assert!(parts.next().is_none() && decoder.is_at_end());
        Ok(Some(digests))
    }

    fn random(count: u64, seed: u64) -> Vec<u64> {
        let digest = |i: u64| xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed);
        let mut digests: Vec<u64> = (0..count).map(digest).collect();
        digests.sort_unstable();
        digests.dedup();
        digests
    }

    #[test]
    fn digests_come_back_whatever_they_are_and_however_the_bytes_come() {
        let cases = [
            vec![0],
            vec![u64::MAX],
            vec![0, u64::MAX],
            vec![0, 1, 2, 3],
            vec![u64::MAX - 2, u64::MAX - 1, u64::MAX],
            (0..5000).collect(),
            (u64::MAX - 5000..=u64::MAX).collect(),
            random(1, 1),
            random(1000, 2),
            random(65_537, 3),
        ];
        for digests in cases {
            let bytes = encode(&digests);
            for part in [1, 7, 8, 64, 1 << 20] {
                let found = decode(digests.len() as u64, &bytes, part);
                assert_eq!(found, Ok(Some(digests.clone())), "in parts of {part}");
            }
            let cut = decode(digests.len() as u64, &bytes[..bytes.len() - 1], 64);
            assert_ne!(cut, Ok(Some(digests)));
        }
    }

    #[test]
    fn a_digest_takes_the_bits_that_its_information_needs() {
        for (count, bits) in [(1_000, 55.6), (100_000, 48.87), (1_000_000, 45.63)] {
            let digests = random(count, 7);
            let found = encode(&digests).len() as f64 * 8.0 / count as f64;
            assert!((found - bits).abs() < 0.15, "{count} digests: {found} bits each, not {bits}");
        }
    }

    #[test]
    fn bits_that_lead_past_the_last_digest_are_damage() {
        // 64 digests: 57 low bits, so 128 zeros are a difference of 2^64.
        assert_eq!(low_bits(64), 57);
        let mut bytes = vec![0; 16];
        bytes.extend([0xFF; 16]);
        assert_eq!(decode(64, &bytes, 8), Err(Damaged));
    }
    #[test]
    fn the_example_of_the_specification_has_the_bytes_that_stand_there() {
        // Computed by another program, from STATES.md alone.
        let digests = [0x0123_4567_89AB_CDEF, 0x8000_0000_0000_0000, 0xFEDC_BA98_7654_3210];
        let bytes = [
            0xDF, 0x9B, 0x57, 0x13, 0xCF, 0x8A, 0x46, 0x02, 0x21, 0x64, 0xA8, 0xEC, 0x30, 0x75,
            0xB9, 0x7D, 0x1F, 0x64, 0xA8, 0xEC, 0x30, 0x75, 0xB9, 0x7D,
        ];
        assert_eq!(encode(&digests), bytes);
        assert_eq!(decode(3, &bytes, 5), Ok(Some(digests.to_vec())));
    }
}
