//! `java.util.BitSet` in object streams.

use super::stream::{Stream, Value};
use super::writer::{ClassSpec, LONGS, WRITE_METHOD, Writer};
use crate::{Bits, Error, Limits};

const BIT_SET: ClassSpec<'static> = ClassSpec {
    flags: WRITE_METHOD,
    fields: &[("[J", "bits")],
    ..ClassSpec::plain("java.util.BitSet", 7_997_698_588_986_878_753)
};

/// The number of words that a `BitSet` keeps, whatever its bits are. It writes all of them until it
/// first grows ("sticky" in its source), and only the words up to the last set bit from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StickyWords(Option<usize>);

impl StickyWords {
    /// The words of a `BitSet` that was read: sticky again if its last word is 0.
    fn of_read(words: &[[u8; 8]]) -> Self {
        Self((words.last() == Some(&[0; 8])).then_some(words.len()))
    }

    /// The number of words that will be written.
    fn to_write(&self, bits: &Bits) -> usize {
        let in_use = bits.words().iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        match self.0 {
            Some(words) if in_use <= words => words,
            _ => in_use,
        }
    }

    fn before_clear(&mut self, bits: &Bits) {
        if self.0.is_some_and(|words| self.to_write(bits) > words) {
            self.0 = None;
        }
    }
}

/// The stream of an object with a `BitSet` and an int that changes: the bytes around the words, and
/// the int.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Up to and including the number of words.
    head: Vec<u8>,
    tail: Vec<u8>,
    words: StickyWords,
    /// The int, and its offset in the stream without the words.
    pub(crate) count: i32,
    count_at: usize,
}

impl Frame {
    /// The stream of a new object, whose `BitSet` has `num_bits` bits and ends at `head_bytes`, and
    /// whose int is 0.
    pub(crate) fn of_new(
        writer: Writer,
        head_bytes: usize,
        count_at: usize,
        num_bits: u64,
    ) -> Self {
        let mut head = writer.finish();
        let tail = head.split_off(head_bytes);
        let words = StickyWords(Some(num_bits.div_ceil(64) as usize));
        Self { head, tail, words, count: 0, count_at }
    }

    /// Reads the bits of a `BitSet` value, which are below `num_bits`; the int and its place were
    /// read before.
    pub(crate) fn read(
        (stream, bytes): (&Stream<'_>, &[u8]),
        value: Value<'_>,
        (count, count_at): (i32, usize),
        num_bits: u64,
        limits: &Limits,
    ) -> Result<(Bits, Self), Error> {
        let set = stream.object("bits", value)?;
        let class = stream.class(set.class)?;
        let is_set = class.name == BIT_SET.name && set.fields.len() == 1 && set.blocks.is_empty();
        Error::check(is_set, "class of the bits", BIT_SET.name, class.name)?;
        let at = stream.array("bits", Stream::field(set, b'[', "bits")?, b'J')?;
        let (words, _) = bytes[at.clone()].as_chunks::<8>();
        let used = words.iter().rposition(|word| *word != [0; 8]).map_or(0, |last| last + 1);
        let bits = Bits::from_be_words(&words[..used], num_bits, limits)?;
        let (head, tail) = (bytes[..at.start].to_vec(), bytes[at.end..].to_vec());
        let count_at = if count_at < at.start { count_at } else { count_at - at.len() };
        Ok((bits, Self { head, tail, words: StickyWords::of_read(words), count, count_at }))
    }

    /// Whether the int is in front of the bits.
    pub(crate) fn counts_first(&self) -> bool {
        self.count_at < self.head.len()
    }

    /// Must be called before all bits are cleared: words that were outgrown are not kept.
    pub(crate) fn before_clear(&mut self, bits: &Bits) {
        self.words.before_clear(bits);
    }

    /// The stream with these bits.
    pub(crate) fn encode(&self, bits: &Bits) -> Vec<u8> {
        let mut out = self.head.clone();
        let num_words = self.words.to_write(bits);
        out.truncate(out.len() - 4);
        out.extend((num_words as u32).to_be_bytes());
        let words = bits.words().iter().copied().chain(std::iter::repeat(0));
        out.extend(words.take(num_words).flat_map(u64::to_be_bytes));
        out.extend_from_slice(&self.tail);
        let before = if self.counts_first() { 0 } else { num_words * 8 };
        out[self.count_at + before..][..4].copy_from_slice(&self.count.to_be_bytes());
        out
    }
}

/// Begins a `BitSet`: everything up to its words, whose number is the last four bytes.
pub(crate) fn begin(writer: &mut Writer) {
    writer.object(&BIT_SET);
    writer.array(&LONGS, 0);
}
