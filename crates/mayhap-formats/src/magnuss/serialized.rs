//! The object through `ObjectOutputStream`.

use super::scheme::{MagnusHash, MagnusScheme};
use super::sizing::Numbers;
use crate::java::bitset::{self, StickyWords};
use crate::java::{ClassSpec, SERIALIZABLE, Stream, Writer};
use crate::{Bits, Error, Limits, SchemeFilter};

const CLASS: &str = "com.skjegstad.utils.BloomFilter";
/// Not declared: computed from the class by the JVM.
const UID: i64 = -3_151_614_879_614_363_047;

/// The contents of the stream apart from the bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Serialized {
    /// Up to and including the number of words.
    head: Vec<u8>,
    tail: Vec<u8>,
    words: StickyWords,
    /// The offset of `numberOfAddedElements` in the head.
    added_at: usize,
    added: i32,
    expected_items: i32,
}

impl Serialized {
    pub(super) fn of_new(numbers: &Numbers) -> Self {
        let mut writer = Writer::new();
        writer.object(&ClassSpec {
            name: CLASS,
            uid: UID,
            flags: SERIALIZABLE,
            fields: &[
                ("I", "bitSetSize"),
                ("D", "bitsPerElement"),
                ("I", "expectedNumberOfFilterElements"),
                ("I", "k"),
                ("I", "numberOfAddedElements"),
                ("Ljava/util/BitSet;", "bitset"),
            ],
            parent: None,
        });
        writer.raw(&numbers.num_bits.to_be_bytes());
        writer.raw(&numbers.bits_per_item.to_be_bytes());
        writer.raw(&numbers.expected_items.to_be_bytes());
        writer.raw(&numbers.num_hashes.to_be_bytes());
        let added_at = writer.position();
        writer.raw(&0i32.to_be_bytes());
        bitset::begin(&mut writer);
        Self {
            head: writer.finish(),
            tail: vec![0x78],
            words: StickyWords::of_new(u64::from(numbers.num_bits.unsigned_abs())),
            added_at,
            added: 0,
            expected_items: numbers.expected_items,
        }
    }

    pub(super) fn read(
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(SchemeFilter<MagnusScheme>, Self), Error> {
        let (stream, root) = Stream::read(bytes, |_| false)?;
        // Copies under other names have the same fields, and the JVM computes a different UID for
        // each.
        if root.fields.len() != 6 {
            return Err(Error::bad("number of fields", "6", root.fields.len()));
        }
        let (num_bits, _) = stream.int(&root, "bitSetSize")?;
        if num_bits < 1 {
            return Err(Error::bad("bitSetSize", "1 and more", num_bits));
        }
        let (num_hashes, _) = stream.int(&root, "k")?;
        let num_hashes =
            u32::try_from(num_hashes).map_err(|_| Error::bad("k", "1 and more", num_hashes))?;
        limits.check_hashes("k", u64::from(num_hashes))?;
        let bits_per_item = stream.double(&root, "bitsPerElement")?;
        let (expected_items, _) = stream.int(&root, "expectedNumberOfFilterElements")?;
        // `(int) Math.ceil(c n)` in all constructors.
        let computed = (bits_per_item * f64::from(expected_items)).ceil() as i32;
        let m = u64::from(num_bits.unsigned_abs());
        Error::check_twice("bitSetSize", m, [u64::from(computed.unsigned_abs())])?;
        let (added, added_at) = stream.int(&root, "numberOfAddedElements")?;
        let bitset = Stream::field(&root, b'L', "bitset")?;
        let (bits, words, at) =
            bitset::read(&stream, bytes, bitset, u64::from(num_bits.unsigned_abs()), limits)?;
        if added_at > at.start {
            return Err(Error::bad("order of the fields", "numbers first", "bitset before them"));
        }
        let scheme = MagnusScheme::new(MagnusHash::Md5, num_hashes, num_bits)?;
        let (head, tail) = (bytes[..at.start].to_vec(), bytes[at.end..].to_vec());
        let serialized = Self { head, tail, words, added_at, added, expected_items };
        Ok((SchemeFilter { scheme, bits }, serialized))
    }

    pub(super) fn encode(&self, bits: &Bits) -> Vec<u8> {
        let mut out = self.head.clone();
        out[self.added_at..self.added_at + 4].copy_from_slice(&self.added.to_be_bytes());
        bitset::write_words(&mut out, bits, &self.words);
        out.extend_from_slice(&self.tail);
        out
    }

    pub(super) fn added(&self) -> i32 {
        self.added
    }

    pub(super) fn expected_items(&self) -> i32 {
        self.expected_items
    }

    pub(super) fn count_add(&mut self) {
        self.count_adds(1);
    }

    /// A Java int, which wraps.
    pub(super) fn count_adds(&mut self, more: i32) {
        self.added = self.added.wrapping_add(more);
    }
}
