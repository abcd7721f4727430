//! `java.util.BitSet` in object streams.

use super::stream::{Stream, Value};
use super::writer::{ClassSpec, LONGS, WRITE_METHOD, Writer};
use crate::{Bits, Error, Limits};
use std::ops::Range;

const BIT_SET: ClassSpec<'static> = ClassSpec {
    name: "java.util.BitSet",
    uid: 7_997_698_588_986_878_753,
    flags: WRITE_METHOD,
    fields: &[("[J", "bits")],
    parent: None,
};

/// The number of words that a `BitSet` keeps, whatever its bits are. It writes all of them until it
/// first grows ("sticky" in its source), and only those up to the last set bit from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StickyWords(Option<usize>);

impl StickyWords {
    /// Those of `new BitSet(num_bits)`.
    pub(crate) fn of_new(num_bits: u64) -> Self {
        Self(Some(num_bits.div_ceil(64) as usize))
    }

    /// Those of a `BitSet` that was read: sticky again if its last word is 0.
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

    /// Must be called before all bits are cleared: words that were outgrown are not kept.
    pub(crate) fn before_clear(&mut self, bits: &Bits) {
        if self.0.is_some_and(|words| self.to_write(bits) > words) {
            self.0 = None;
        }
    }
}

/// Reads the bits of a `BitSet` value, which are below `num_bits`. Also returns the position of its
/// words in the stream.
pub(crate) fn read(
    stream: &Stream<'_>,
    bytes: &[u8],
    value: Value<'_>,
    num_bits: u64,
    limits: &Limits,
) -> Result<(Bits, StickyWords, Range<usize>), Error> {
    let set = stream.object("bits", value)?;
    let class = stream.class(set.class)?;
    if class.name != BIT_SET.name || set.fields.len() != 1 || !set.blocks.is_empty() {
        return Err(Error::bad("class of the bits", BIT_SET.name, class.name));
    }
    let at = stream.array("bits", Stream::field(set, b'[', "bits")?, b'J')?;
    let (words, _) = bytes[at.clone()].as_chunks::<8>();
    let used = words.iter().rposition(|word| *word != [0; 8]).map_or(0, |last| last + 1);
    let bits = Bits::from_be_words(&words[..used], num_bits, limits)?;
    Ok((bits, StickyWords::of_read(words), at))
}

/// Begins a `BitSet`: everything up to its words, whose number is the last four bytes.
pub(crate) fn begin(writer: &mut Writer) {
    writer.object(&BIT_SET);
    writer.array(&LONGS, 0);
}

/// Appends the words, whose number replaces the last four bytes of `out`.
pub(crate) fn write_words(out: &mut Vec<u8>, bits: &Bits, sticky: &StickyWords) {
    let count = sticky.to_write(bits);
    out.truncate(out.len() - 4);
    out.extend((count as u32).to_be_bytes());
    let words = bits.words().iter().copied().chain(std::iter::repeat(0));
    out.extend(words.take(count).flat_map(u64::to_be_bytes));
}
