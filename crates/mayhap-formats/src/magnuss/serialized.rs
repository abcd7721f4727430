//! The object through `ObjectOutputStream`.

use super::scheme::{MagnusHash, MagnusScheme};
use super::sizing::Numbers;
use crate::java::bitset::{self, Frame};
use crate::java::{ClassSpec, Stream, Writer};
use crate::{Bits, Error, Limits, SchemeFilter};

const CLASS: &str = "com.skjegstad.utils.BloomFilter";
/// Not declared: computed from the class by the JVM.
const UID: i64 = -3_151_614_879_614_363_047;

/// The contents of the stream apart from the bits; the count is `numberOfAddedElements`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Serialized {
    frame: Frame,
    expected_items: i32,
}

impl Serialized {
    pub(super) fn of_new(numbers: &Numbers) -> Self {
        let mut writer = Writer::new();
        writer.object(&ClassSpec {
            fields: &[
                ("I", "bitSetSize"),
                ("D", "bitsPerElement"),
                ("I", "expectedNumberOfFilterElements"),
                ("I", "k"),
                ("I", "numberOfAddedElements"),
                ("Ljava/util/BitSet;", "bitset"),
            ],
            ..ClassSpec::plain(CLASS, UID)
        });
        writer.raw(&numbers.num_bits.to_be_bytes());
        writer.raw(&numbers.bits_per_item.to_be_bytes());
        writer.raw(&numbers.expected_items.to_be_bytes());
        writer.raw(&numbers.num_hashes.to_be_bytes());
        let added_at = writer.position();
        writer.raw(&0i32.to_be_bytes());
        bitset::begin(&mut writer);
        let head_bytes = writer.position();
        writer.end_blocks();
        let num_bits = u64::from(numbers.num_bits.unsigned_abs());
        let frame = Frame::of_new(writer, head_bytes, added_at, num_bits);
        Self { frame, expected_items: numbers.expected_items }
    }

    pub(super) fn read(
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(SchemeFilter<MagnusScheme>, Self), Error> {
        let (stream, root) = Stream::read(bytes, |_| false)?;
        // Copies under other names have the same fields, and the JVM computes a different UID for
        // each.
        Error::check(root.fields.len() == 6, "number of fields", "6", root.fields.len())?;
        let (num_bits, _) = stream.int(&root, "bitSetSize")?;
        Error::check(num_bits >= 1, "bitSetSize", "1 and more", num_bits)?;
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
        let added = stream.int(&root, "numberOfAddedElements")?;
        let bitset = Stream::field(&root, b'L', "bitset")?;
        let (bits, frame) = Frame::read((&stream, bytes), bitset, added, m, limits)?;
        let (allowed, found) = ("numbers first", "bitset before them");
        Error::check(frame.counts_first(), "order of the fields", allowed, found)?;
        let scheme = MagnusScheme::new(MagnusHash::Md5, num_hashes, num_bits)?;
        Ok((SchemeFilter { scheme, bits }, Self { frame, expected_items }))
    }

    pub(super) fn encode(&self, bits: &Bits) -> Vec<u8> {
        self.frame.encode(bits)
    }

    pub(super) fn added(&self) -> i32 {
        self.frame.count
    }

    pub(super) fn expected_items(&self) -> i32 {
        self.expected_items
    }

    /// A Java int, which wraps.
    pub(super) fn count_adds(&mut self, more: i32) {
        self.frame.count = self.frame.count.wrapping_add(more);
    }
}
