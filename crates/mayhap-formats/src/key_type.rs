//! How the keys of a system become bytes, by name.

use crate::names::named;

named! {
    /// How a system encodes a key before it hashes it: its funnel, codec or charset. Files do not
    /// record it; the only symptom of a wrong one is that no key is found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    #[non_exhaustive]
    pub enum KeyType {
        /// The bytes as they are; text is UTF-8.
        #[default]
        Bytes = "bytes",
        /// Bytes written as hexadecimal digits.
        Hex = "hex",
        /// Text as UTF-16 code units, two bytes each, least significant first: the form of Java's
        /// strings.
        Utf16 = "utf16",
        /// Text as UTF-16 code units, most significant byte first: `UTF_16BE` of Java.
        Utf16Be = "utf16be",
        /// The same after FE FF, and nothing for an empty text: `UTF_16` of Java.
        Utf16Bom = "utf16-bom",
        /// Text as ISO-8859-1; a character beyond it is `?`, as in Java's `getBytes`.
        Latin1 = "latin1",
        /// Text as US-ASCII; a character beyond it is `?`.
        Ascii = "ascii",
        /// A decimal number from −2^31 to 2^31 − 1 as four bytes, least significant first.
        Int = "int",
        /// A decimal number from −2^63 to 2^63 − 1 as eight bytes, least significant first.
        Long = "long",
        /// Text by Redisson's `Kryo5Codec`, its default since 3.19.0.
        KryoString = "kryo-string",
        /// An Integer by `Kryo5Codec`.
        KryoInt = "kryo-int",
        /// A Long by `Kryo5Codec`.
        KryoLong = "kryo-long",
        /// Text by Redisson's `MarshallingCodec`, its default from 3.13.0 to 3.18.1.
        MarshallingString = "marshalling-string",
        /// An Integer by `MarshallingCodec`.
        MarshallingInt = "marshalling-int",
        /// A Long by `MarshallingCodec`.
        MarshallingLong = "marshalling-long",
        /// Text by Redisson's `JsonJacksonCodec`, its default up to 3.9.
        JacksonString = "jackson-string",
        /// A Long by `JsonJacksonCodec`; an Integer is its digits.
        JacksonLong = "jackson-long",
        /// A decimal number as the four bytes of an IEEE float, least significant first.
        Float = "float",
        /// A decimal number as the eight bytes of an IEEE double, least significant first.
        Double = "double",
        /// Text as Python's `pickle.dumps` writes a `str` (protocol 4): the key of `rbloom`'s
        /// recipe.
        PickledStr = "pickled-str",
        /// The text of a value of a table's column, whose type the file records:
        /// [`crate::ForeignFilter::encode_key`] knows it.
        Column = "column",
    }
}

impl KeyType {
    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key_type| key_type.name() == name)
    }
}
