//! A batch of keys, in memory that JavaScript writes: keys cross the boundary only in batches.

#[cfg(feature = "native")]
use mayhap::{Bitmap, Digest, DigestFunction};

/// Room for keys and for the answers about them, used again from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Numbers; or the number of bytes of each text, four bytes each, and all texts behind them.
    words: Vec<u64>,
    answers: Answers,
}

/// The answers about a batch, and what they come from: memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// An answer a key: 0 or 1.
    pub(crate) bytes: Vec<u8>,
    #[cfg(feature = "native")]
    pub(crate) digests: Vec<Digest>,
    #[cfg(feature = "native")]
    pub(crate) bits: Bitmap,
}

#[cfg(feature = "native")]
impl Answers {
    /// A byte for each bit.
    pub(crate) fn spread(&mut self) {
        for (word, answers) in self.bits.as_words().iter().zip(self.bytes.chunks_mut(64)) {
            for (i, answer) in answers.iter_mut().enumerate() {
                *answer = (word >> i & 1) as u8;
            }
        }
    }
}

impl Room {
    /// Room for this many words of eight bytes: its address, until more is requested.
    pub(crate) fn make(&mut self, num_words: usize) -> *mut u64 {
        self.words.resize(num_words, 0);
        self.words.as_mut_ptr()
    }

    /// The keys that were written, and where their answers belong.
    ///
    /// # Panics
    ///
    /// If the room has fewer words.
    pub(crate) fn keys(&mut self, num_keys: usize, are_numbers: bool) -> (Keys<'_>, &mut Answers) {
        self.answers.bytes.resize(num_keys, 0);
        let keys = if are_numbers {
            Keys::Numbers(&self.words[..num_keys])
        } else {
            let lengths: &[u32] = bytemuck::cast_slice(&self.words);
            let (lengths, bytes) = lengths.split_at(num_keys);
            Keys::Texts(Texts { bytes: bytemuck::cast_slice(bytes), lengths })
        };
        (keys, &mut self.answers)
    }
}

/// The keys of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys<'a> {
    /// Texts as UTF-8, or any bytes.
    Texts(Texts<'a>),
    /// Integers: eight bytes, least significant first.
    Numbers(&'a [u64]),
}

/// Texts one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts<'a> {
    /// At least as many bytes as the lengths say.
    pub(crate) bytes: &'a [u8],
    pub(crate) lengths: &'a [u32],
}

impl<'a> Texts<'a> {
    /// # Panics
    ///
    /// If there are fewer bytes than the lengths say.
    fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.bytes;
        self.lengths.iter().map(move |&length| {
            let (text, others) = rest.split_at(length as usize);
            rest = others;
            text
        })
    }
}

impl Keys<'_> {
    /// Digests all of them.
    #[cfg(feature = "native")]
    pub(crate) fn digest(&self, function: &DigestFunction, digests: &mut Vec<Digest>) {
        digests.clear();
        match self {
            Self::Texts(texts) => digests.extend(texts.iter().map(|text| function.digest(text))),
            Self::Numbers(numbers) => {
                digests.resize(numbers.len(), Digest::default());
                function.digest_batch(numbers, digests);
            }
        }
    }

    /// Calls `each` with the bytes of every key in order.
    #[cfg(feature = "foreign")]
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize, &[u8])) {
        match self {
            Self::Texts(texts) => texts.iter().enumerate().for_each(|(i, text)| each(i, text)),
            Self::Numbers(numbers) => {
                numbers.iter().enumerate().for_each(|(i, number)| each(i, &number.to_le_bytes()));
            }
        }
    }
}
