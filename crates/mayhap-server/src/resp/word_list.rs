//! Words that are kept longer than the bytes that they arrived in.

use mayhap_engine::Words;
use std::ops::Range;

/// Words that are kept longer than the bytes that they arrived in.
#[derive(Debug, Default)]
pub(crate) struct WordList {
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
}

impl WordList {
    pub(crate) fn push(&mut self, word: &[u8]) {
        // All of them are of one request or body, which is far below 4 GiB.
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(word);
        self.places.push((start, self.bytes.len() as u32));
    }

    /// All of them.
    pub(crate) const fn words(&self) -> Words<'_> {
        Words::new(self.bytes.as_slice(), self.places.as_slice())
    }

    /// The words at these places.
    pub(crate) fn part(&self, places: Range<usize>) -> Words<'_> {
        Words::new(&self.bytes, self.places.get(places).unwrap_or_default())
    }

    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of all words.
    pub(crate) const fn num_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of its memory.
    pub(crate) const fn footprint(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<(u32, u32)>()
    }
}

impl<'a> Extend<&'a [u8]> for WordList {
    fn extend<I: IntoIterator<Item = &'a [u8]>>(&mut self, words: I) {
        words.into_iter().for_each(|word| self.push(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_in_their_order_and_as_parts() {
        let mut list = WordList::default();
        list.extend([&b"a"[..], b"", b"bc"]);
        assert_eq!(list.words().iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
        assert_eq!(list.part(1..3).iter().collect::<Vec<_>>(), [&b""[..], b"bc"]);
        assert!(list.part(1..4).is_empty());
        assert_eq!((list.len(), list.num_bytes()), (3, 3));
        assert!(list.footprint() >= 3 + 3 * 8);
    }
}
