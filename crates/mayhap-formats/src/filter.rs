//! The operations common to all foreign filters.

use crate::{Error, Fact, Format, KeyType};
use mayhap::Bitmap;
use std::any::Any;
use std::fmt;

/// A filter created by another system, in any format.
pub trait ForeignFilter: fmt::Debug + Send + Sync {
    /// The format.
    fn format(&self) -> Format;

    /// The number of bits, m, which is the modulus of positions.
    fn num_bits(&self) -> u64;

    /// Positions per key, k.
    fn num_hashes(&self) -> u32;

    /// The key types that this system hashes, the usual one first.
    fn key_types(&self) -> &'static [KeyType];

    /// The bytes that the system hashes of a key given as text, of one of
    /// [`ForeignFilter::key_types`]; in `scratch` unless they equal the text.
    ///
    /// # Errors
    ///
    /// Same as [`KeyType::encode`], which this is for all but the column of a table.
    fn encode_key<'a>(
        &self,
        key_type: KeyType,
        text: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        key_type.encode(text, scratch)
    }

    /// The text of a random key, where the column of a table defines the form of its values.
    fn random_value(&self, _number: u64) -> Option<String> {
        None
    }

    /// Why any key may be in it, whatever its bits are: a sentence; `None` if its bits decide.
    fn holds_any(&self) -> Option<String> {
        None
    }

    /// Whether the key (the bytes that the system hashes) may be in it.
    fn contains(&self, key: &[u8]) -> bool;

    /// Inserts a key (the bytes that the system hashes); returns the system's own answer to whether
    /// it was new.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the system would refuse.
    fn insert(&mut self, key: &[u8]) -> Result<bool, Error>;

    /// Whether the next insertion first forgets all keys, whether or not its own is present, as the
    /// system does with a filter that clears itself when it is full.
    fn clears_next(&self) -> bool {
        false
    }

    /// The number of keys after which [`ForeignFilter::clears_next`]; `None` if it never does.
    fn clears_after(&self) -> Option<u64> {
        None
    }

    /// Removes all keys, where the system has an operation for that; returns whether it has.
    fn clear(&mut self) -> bool {
        false
    }

    /// Queries many keys: bit `i` of `found` is the answer for `keys[i]`.
    fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap);

    /// Adds the keys of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] naming the difference; nothing is changed then.
    fn union_with(&mut self, other: &dyn ForeignFilter) -> Result<(), Error>;

    /// The number of set bits. Reads all of them.
    fn count_ones(&self) -> u64;

    /// The bits that a position can be: all of them, unless the system computes in 32 bits.
    fn reachable_bits(&self) -> u64 {
        self.num_bits()
    }

    /// The share of these that is set. Reads all bits.
    fn reachable_fill(&self) -> f64 {
        self.count_ones() as f64 / self.reachable_bits() as f64
    }

    /// The current rate, by the system's own formula.
    fn estimated_fpp(&self) -> f64;

    /// A clause about a large deviation from the rate by the formula, where there is one.
    fn fpp_caution(&self) -> Option<&'static str> {
        None
    }

    /// The number of keys, by the system's own formula; `None` if that fails.
    fn estimated_items(&self) -> Option<u64>;

    /// Other facts from the file.
    fn facts(&self) -> Vec<Fact>;

    /// The file: byte for byte as the system would have written it.
    fn encode(&self) -> Vec<u8>;

    /// For [`ForeignFilter::union_with`].
    fn as_any(&self) -> &dyn Any;
}

/// The methods of [`ForeignFilter`] that are delegated to a [`SchemeFilter`] in a field, plus the
/// named ones, which are not the same in all formats: `answered_by!(inner: insert, union_with);`.
macro_rules! answered_by {
    ($field:ident: $($method:ident),+) => {
        $crate::filter::answered_by!($field);
        $($crate::filter::answered_by!(@$method $field);)+
    };
    // Keys are bytes, whatever their meaning.
    (@key_types $field:ident) => {
        fn key_types(&self) -> &'static [$crate::KeyType] {
            &[$crate::KeyType::Bytes, $crate::KeyType::Hex]
        }
    };
    (@insert $field:ident) => {
        fn insert(&mut self, key: &[u8]) -> Result<bool, $crate::Error> {
            Ok(self.$field.insert(key))
        }
    };
    // The type has a method of this name that takes another value of its own type.
    (@union_with $field:ident) => {
        fn union_with(&mut self, other: &dyn $crate::ForeignFilter) -> Result<(), $crate::Error> {
            let other = $crate::filter::same_format(self, other)?;
            Self::union_with(self, other)
        }
    };
    (@estimated_fpp $field:ident) => {
        fn estimated_fpp(&self) -> f64 {
            self.$field.fill_fpp()
        }
    };
    (@estimated_items $field:ident) => {
        fn estimated_items(&self) -> Option<u64> {
            let items = self.$field.fill_items();
            items.is_finite().then(|| items.round() as u64)
        }
    };
    // As in Guava, of the bits that a position can be.
    (@java_estimates $field:ident) => {
        fn estimated_fpp(&self) -> f64 {
            $crate::java::expected_fpp(self.reachable_fill(), self.num_hashes())
        }

        fn estimated_items(&self) -> Option<u64> {
            let (fill, num_bits) = (self.reachable_fill(), self.reachable_bits());
            $crate::java::approximate_count(fill, num_bits, self.num_hashes())
        }
    };
    ($field:ident) => {
        fn num_bits(&self) -> u64 {
            self.$field.bits.num_bits()
        }

        fn num_hashes(&self) -> u32 {
            $crate::Scheme::num_hashes(&self.$field.scheme)
        }

        fn contains(&self, key: &[u8]) -> bool {
            self.$field.contains(key)
        }

        fn contains_batch(&self, keys: &[&[u8]], found: &mut mayhap::Bitmap) {
            self.$field.contains_batch(keys, found);
        }

        fn count_ones(&self) -> u64 {
            self.$field.bits.count_ones()
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    };
}
pub(crate) use answered_by;

/// The public methods of a filter type for its scheme and its bits, which are in the field `inner`.
macro_rules! parts {
    ($Scheme:ty, $of:literal) => {
        #[doc = concat!("The scheme: ", $of, ".")]
        pub fn scheme(&self) -> &$Scheme {
            &self.inner.scheme
        }

        /// The bits.
        pub fn bits(&self) -> &$crate::Bits {
            &self.inner.bits
        }
    };
}
pub(crate) use parts;

/// The methods that filters of Guava and Spark have in common: both are streams of Java, bare or
/// in an object.
macro_rules! java_streams {
    () => {
        /// Reads the output of `writeTo` or of an `ObjectOutputStream`.
        ///
        /// # Errors
        ///
        /// [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`], [`Error::Truncated`], each
        /// before anything is allocated; [`Error::TrailingBytes`]; [`Error::OutOfMemory`].
        pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
            let (inner, form) = codec::read(bytes, limits)?;
            Ok(Self { inner, form })
        }

        /// Reads the output of `writeTo` and leaves any following bytes unread, as `readFrom` does.
        ///
        /// # Errors
        ///
        /// The errors of [`Self::decode`] without [`Error::TrailingBytes`].
        pub fn read_from(reader: &mut Reader<'_>, limits: &Limits) -> Result<Self, Error> {
            Ok(Self { inner: codec::read_stream(reader, limits)?, form: Form::Stream })
        }

        /// The output of `writeTo`.
        pub fn to_stream(&self) -> Vec<u8> {
            codec::to_stream(&self.inner)
        }

        /// `expectedFpp()`: `(set bits / m)^k`.
        pub fn expected_fpp(&self) -> f64 {
            $crate::java::expected_fpp(self.inner.bits.fill_ratio(), self.num_hashes())
        }
    };
}
pub(crate) use java_streams;

/// A pair of public methods for each type of keys, for a filter type with a [`SchemeFilter`] in the
/// field `inner`.
///
/// [`SchemeFilter`]: crate::SchemeFilter
macro_rules! typed {
    ($($contains:ident, $insert:ident: $type:ty, $bytes:expr, $of:literal;)*) => {$(
        #[doc = concat!("Whether the key may be in it: ", $of, ".")]
        #[inline]
        pub fn $contains(&self, key: $type) -> bool {
            self.inner.contains($bytes(key).as_ref())
        }

        #[doc = concat!("Inserts a key, and returns whether a bit changed: ", $of, ".")]
        #[inline]
        pub fn $insert(&mut self, key: $type) -> bool {
            self.inner.insert($bytes(key).as_ref())
        }
    )*};
}
pub(crate) use typed;

/// The other filter of a union, if it is of the same format.
pub(crate) fn same_format<'a, F: ForeignFilter + 'static>(
    left: &F,
    right: &'a dyn ForeignFilter,
) -> Result<&'a F, Error> {
    right.as_any().downcast_ref().ok_or_else(|| Error::Incompatible {
        parameter: "format",
        left: left.format().name().to_owned(),
        right: right.format().name().to_owned(),
    })
}
