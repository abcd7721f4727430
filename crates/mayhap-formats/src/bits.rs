//! The bits of a foreign filter: bit `i` is bit `i % 64` of word `i / 64`.

use crate::error::same;
use crate::limits::try_room;
use crate::{Error, Limits, Reader};

/// An array of bits, with the bit orders used in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    num_bits: u64,
}

impl Bits {
    /// All zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`], [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn new(num_bits: u64, limits: &Limits) -> Result<Self, Error> {
        limits.check_bits("number of bits", num_bits)?;
        let mut words = Self::room_for(num_bits.div_ceil(64))?;
        words.resize(num_bits.div_ceil(64) as usize, 0);
        Ok(Self { words, num_bits })
    }

    fn room_for(num_words: u64) -> Result<Vec<u64>, Error> {
        let mut words = try_room(num_words)?;
        mayhap::advise_huge_pages(words.spare_capacity_mut());
        Ok(words)
    }

    /// Reads `num_bits` bits as whole words, most significant byte first (Java, Go).
    ///
    /// # Errors
    ///
    /// The errors of [`Limits::check_bits`]; [`Error::Truncated`] before anything is allocated;
    /// [`Error::BadField`] if a bit past the end is set.
    pub fn read_be_words(
        reader: &mut Reader<'_>,
        num_bits: u64,
        limits: &Limits,
    ) -> Result<Self, Error> {
        Self::read_words(reader, num_bits, limits, u64::from_be_bytes)
    }

    /// Reads `num_bits` bits as whole words, least significant byte first.
    ///
    /// # Errors
    ///
    /// The errors of [`Bits::read_be_words`].
    pub fn read_le_words(
        reader: &mut Reader<'_>,
        num_bits: u64,
        limits: &Limits,
    ) -> Result<Self, Error> {
        Self::read_words(reader, num_bits, limits, u64::from_le_bytes)
    }

    fn read_words(
        reader: &mut Reader<'_>,
        num_bits: u64,
        limits: &Limits,
        from: fn([u8; 8]) -> u64,
    ) -> Result<Self, Error> {
        limits.check_bits("number of bits", num_bits)?;
        let num_words = num_bits.div_ceil(64);
        let bytes = reader.take("bits", num_words * 8)?;
        let mut words = Self::room_for(num_words)?;
        words.extend(bytes.as_chunks::<8>().0.iter().map(|&word| from(word)));
        Self { words, num_bits }.checked()
    }

    /// Bits from bytes, where bit `i` is bit `i % 8` from the least significant of byte `i / 8`;
    /// missing bytes are zero.
    ///
    /// # Errors
    ///
    /// The errors of [`Bits::new`]; [`Error::BadField`] if a bit past the end is set.
    pub fn from_lsb_bytes(bytes: &[u8], num_bits: u64, limits: &Limits) -> Result<Self, Error> {
        Self::from_bytes(bytes, num_bits, limits, |byte| byte)
    }

    /// Bits from a Redis string, where bit `i` is bit `i % 8` from the most significant of byte `i
    /// / 8`; missing bytes are zero.
    ///
    /// # Errors
    ///
    /// The errors of [`Bits::from_lsb_bytes`].
    pub fn from_msb_bytes(bytes: &[u8], num_bits: u64, limits: &Limits) -> Result<Self, Error> {
        Self::from_bytes(bytes, num_bits, limits, u8::reverse_bits)
    }

    fn from_bytes(
        bytes: &[u8],
        num_bits: u64,
        limits: &Limits,
        order: fn(u8) -> u8,
    ) -> Result<Self, Error> {
        let most = num_bits.div_ceil(8);
        if bytes.len() as u64 > most {
            return Err(Error::TrailingBytes { found: bytes.len() as u64 - most });
        }
        let mut bits = Self::new(num_bits, limits)?;
        for (word, bytes) in bits.words.iter_mut().zip(bytes.chunks(8)) {
            let mut little = [0; 8];
            for (to, &from) in little.iter_mut().zip(bytes) {
                *to = order(from);
            }
            *word = u64::from_le_bytes(little);
        }
        bits.checked()
    }

    /// Bits from whole words, most significant byte first; missing words are zero.
    ///
    /// # Errors
    ///
    /// The errors of [`Bits::new`]; [`Error::BadField`] if a bit past the end is set.
    pub(crate) fn from_be_words(
        words: &[[u8; 8]],
        num_bits: u64,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let fits = words.len() as u64 <= num_bits.div_ceil(64);
        Error::check(fits, "bits past the last one", "0", "set")?;
        let mut bits = Self::new(num_bits, limits)?;
        for (word, &bytes) in bits.words.iter_mut().zip(words) {
            *word = u64::from_be_bytes(bytes);
        }
        bits.checked()
    }

    /// Rejects bits past the end: no writer sets them, and they would be counted.
    fn checked(self) -> Result<Self, Error> {
        let used = self.num_bits % 64;
        let past = self.words.last().filter(|_| used != 0).map_or(0, |last| last >> used);
        Error::check(past == 0, "bits past the last one", "0", format_args!("{past:#x}"))?;
        Ok(self)
    }

    /// The number of bits, m.
    pub fn num_bits(&self) -> u64 {
        self.num_bits
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, given away.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Whole words of bits.
    pub(crate) fn of_words(words: Vec<u64>) -> Self {
        let num_bits = words.len() as u64 * 64;
        Self { words, num_bits }
    }

    /// Whether a bit is set.
    ///
    /// # Panics
    ///
    /// If `position` is not below the number of bits, rounded up to a word.
    #[inline]
    pub fn get(&self, position: u64) -> bool {
        self.words[(position / 64) as usize] >> (position % 64) & 1 != 0
    }

    /// Sets a bit; returns whether it was clear before.
    ///
    /// # Panics
    ///
    /// Same as [`Bits::get`].
    #[inline]
    pub fn set(&mut self, position: u64) -> bool {
        let word = &mut self.words[(position / 64) as usize];
        let mask = 1 << (position % 64);
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    /// The number of set bits. Reads all of them.
    pub fn count_ones(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The share of bits set. Reads all of them.
    pub fn fill_ratio(&self) -> f64 {
        self.count_ones() as f64 / self.num_bits as f64
    }

    /// Adds every bit of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] for a different number of bits; nothing is changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("number of bits", &self.num_bits, &other.num_bits)?;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
        Ok(())
    }

    /// Makes one group of `W` words of `factor` adjacent ones, by OR; both divide their number.
    pub(crate) fn fold_groups<const W: usize>(&mut self, factor: u64) {
        let groups = self.words.len() as u64 / W as u64 / factor;
        for i in 0..groups as usize {
            for word in 0..W {
                let group = |j| self.words[(i * factor as usize + j) * W + word];
                self.words[i * W + word] = (0..factor as usize).fold(0, |all, j| all | group(j));
            }
        }
        self.words.truncate(groups as usize * W);
        self.num_bits = groups * W as u64 * 64;
    }

    /// Keeps only the bits that `other` also has.
    ///
    /// # Errors
    ///
    /// The errors of [`Bits::union_with`].
    pub fn intersect_with(&mut self, other: &Self) -> Result<(), Error> {
        same("number of bits", &self.num_bits, &other.num_bits)?;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
        Ok(())
    }

    /// Clears all bits.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Appends the words, most significant byte first.
    pub fn write_be_words(&self, out: &mut Vec<u8>) {
        out.extend(self.words.iter().flat_map(|word| word.to_be_bytes()));
    }

    /// Appends the words, least significant byte first.
    pub fn write_le_words(&self, out: &mut Vec<u8>) {
        out.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// `ceil(m / 8)` bytes, the first bit being the least significant of the first.
    pub fn to_lsb_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.words.len() * 8);
        self.write_le_words(&mut bytes);
        bytes.truncate(self.num_bits.div_ceil(8) as usize);
        bytes
    }

    /// Like [`Bits::to_lsb_bytes`], but only up to the last byte that is not 0, and at least `kept`
    /// bytes.
    pub(crate) fn to_short_lsb_bytes(&self, kept: usize) -> Vec<u8> {
        let mut bytes = self.to_lsb_bytes();
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(used.max(kept));
        bytes
    }

    /// As a Redis string, the first bit being the most significant of the first byte, up to the
    /// last byte that is not 0, but at least `kept` bytes: what `SETBIT` makes of an empty key, or
    /// of one that was `kept` bytes long.
    pub(crate) fn to_short_msb_bytes(&self, kept: usize) -> Vec<u8> {
        let mut bytes = self.to_short_lsb_bytes(kept);
        for byte in &mut bytes {
            *byte = byte.reverse_bits();
        }
        bytes
    }
}
