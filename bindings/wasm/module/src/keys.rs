//! A batch of keys, in memory that JavaScript writes: keys cross the boundary only in batches.

use crate::Fault;
#[cfg(feature = "native")]
use mayhap::{Digest, DigestFunction};

/// Room for keys and for the answers about them, used again from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// The bytes of all texts, one behind the other.
    pub(crate) bytes: Vec<u8>,
    /// The number of bytes of each text.
    pub(crate) lengths: Vec<u32>,
    pub(crate) numbers: Vec<u64>,
    /// An answer a key: 0 or 1.
    pub(crate) answers: Vec<u8>,
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
    bytes: &'a [u8],
    lengths: &'a [u32],
}

impl<'a> Texts<'a> {
    /// Checks that the lengths match the bytes, so that later no slice can fail.
    pub(crate) fn new(bytes: &'a [u8], lengths: &'a [u32]) -> Result<Self, Fault> {
        let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        if total == bytes.len() as u64 {
            Ok(Self { bytes, lengths })
        } else {
            Err(Fault::new("BadField", "lengths"))
        }
    }

    fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.bytes;
        self.lengths.iter().map(move |&length| {
            let (text, others) = rest.split_at_checked(length as usize).unwrap_or((rest, &[]));
            rest = others;
            text
        })
    }
}

impl Keys<'_> {
    /// Digests all of them.
    #[cfg(feature = "native")]
    pub(crate) fn digests(&self, function: &DigestFunction) -> Vec<Digest> {
        match self {
            Self::Texts(texts) => texts.iter().map(|text| function.digest(text)).collect(),
            Self::Numbers(numbers) => {
                let mut digests = vec![Digest::default(); numbers.len()];
                function.digest_batch(numbers, &mut digests);
                digests
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
