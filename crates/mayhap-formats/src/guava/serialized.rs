//! The filter through `ObjectOutputStream`: the only form that Guava 14 had.
//!
//! An object of `BloomFilter$SerialForm` (serialVersionUID 1) with the fields `I numHashFunctions`,
//! `[J data`, `L funnel`, `L strategy`. Funnel and strategy are enum constants; that of a charset
//! is an object with its name.

use super::scheme::{GuavaScheme, GuavaStrategy};
use crate::java::{ClassSpec, LONGS, Object, Stream, Value, Writer};
use crate::{Bits, Error, Limits, Reader, Scheme, SchemeFilter};
use std::fmt;

const PACKAGE: &str = "com.google.common.hash.";
const SERIAL_FORM: &str = "BloomFilter$SerialForm";
const CHARSET_FORM: &str = "Funnels$StringCharsetFunnel$SerializedForm";

/// How the keys of a filter became bytes; only Java streams record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuavaFunnel {
    /// `byteArrayFunnel()`.
    ByteArray,
    /// `integerFunnel()`: four bytes, least significant first.
    Integer,
    /// `longFunnel()`: eight bytes, least significant first.
    Long,
    /// `unencodedCharsFunnel()`, and `stringFunnel()` of Guava 14: UTF-16 code units, least
    /// significant byte first.
    UnencodedChars,
    /// `stringFunnel(charset)`.
    String {
        /// Its canonical name.
        charset: String,
    },
    /// A custom funnel.
    Other {
        /// Its class.
        class: String,
    },
}

impl fmt::Display for GuavaFunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteArray => f.write_str("byteArrayFunnel()"),
            Self::Integer => f.write_str("integerFunnel()"),
            Self::Long => f.write_str("longFunnel()"),
            Self::UnencodedChars => f.write_str("unencodedCharsFunnel()"),
            Self::String { charset } => write!(f, "stringFunnel({charset})"),
            Self::Other { class } => f.write_str(class),
        }
    }
}

/// The stream apart from the bits: the bytes before and after the longs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Serialized {
    head: Vec<u8>,
    tail: Vec<u8>,
    funnel: GuavaFunnel,
}

impl Serialized {
    /// Reads the output of an `ObjectOutputStream`.
    pub(super) fn read(
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(SchemeFilter<GuavaScheme>, Self), Error> {
        let (stream, root) = Stream::read(bytes, |_| false)?;
        let class = stream.class(root.class)?;
        // Other projects bundle Guava under a different package.
        let is_filter = class.name.ends_with(&["hash.", SERIAL_FORM].concat());
        Error::check(is_filter, "Java class", "BloomFilter$SerialForm", class.name)?;
        Error::check(class.uid == 1, "serialVersionUID", "1", class.uid)?;
        Error::check(root.fields.len() == 4, "number of fields", "4", root.fields.len())?;
        let (num_hashes, _) = stream.int(&root, "numHashFunctions")?;
        let num_hashes = u8::try_from(num_hashes)
            .map_err(|_| Error::bad("number of hash functions", "1 to 255", num_hashes))?;
        limits.check_hashes("number of hash functions", u64::from(num_hashes))?;
        let data = stream.array("data", Stream::field(&root, b'[', "data")?, b'J')?;
        let strategy = strategy_of(&stream, &root)?;
        let funnel = funnel_of(&stream, Stream::field(&root, b'L', "funnel")?)?;

        // An array's length is an i32.
        let num_longs = (data.len() / 8) as u32;
        let mut words = Reader::new(&bytes[data.clone()]);
        let bits = Bits::read_be_words(&mut words, u64::from(num_longs) * 64, limits)?;
        let scheme = GuavaScheme::new(strategy, num_hashes, num_longs)?;
        let (head, tail) = (bytes[..data.start].to_vec(), bytes[data.end..].to_vec());
        Ok((SchemeFilter { scheme, bits }, Self { head, tail, funnel }))
    }

    pub(super) fn funnel(&self) -> &GuavaFunnel {
        &self.funnel
    }

    pub(super) fn encode(&self, bits: &Bits) -> Vec<u8> {
        let mut out = self.head.clone();
        bits.write_be_words(&mut out);
        out.extend_from_slice(&self.tail);
        out
    }
}

/// The filter as an `ObjectOutputStream` writes it.
pub(super) fn write(
    filter: &SchemeFilter<GuavaScheme>,
    funnel: &GuavaFunnel,
) -> Result<Vec<u8>, Error> {
    let SchemeFilter { scheme, bits } = filter;
    let named = |name: &str| [PACKAGE, name].concat();
    let mut writer = Writer::new();
    writer.object(&ClassSpec {
        fields: &[
            ("I", "numHashFunctions"),
            ("[J", "data"),
            ("Lcom/google/common/hash/Funnel;", "funnel"),
            ("Lcom/google/common/hash/BloomFilter$Strategy;", "strategy"),
        ],
        ..ClassSpec::plain(&named(SERIAL_FORM), 1)
    });
    writer.raw(&scheme.num_hashes().to_be_bytes());
    writer.array(&LONGS, bits.words().len() as u32);
    let mut words = Vec::new();
    bits.write_be_words(&mut words);
    writer.raw(&words);
    let constant = match funnel {
        GuavaFunnel::ByteArray => "Funnels$ByteArrayFunnel",
        GuavaFunnel::Integer => "Funnels$IntegerFunnel",
        GuavaFunnel::Long => "Funnels$LongFunnel",
        GuavaFunnel::UnencodedChars => "Funnels$UnencodedCharsFunnel",
        GuavaFunnel::String { charset } => {
            writer.object(&ClassSpec {
                fields: &[("Ljava/lang/String;", "charsetCanonicalName")],
                ..ClassSpec::plain(&named(CHARSET_FORM), 0)
            });
            writer.text(charset);
            ""
        }
        GuavaFunnel::Other { .. } => {
            return Err(Error::Unsupported {
                format: "guava",
                operation: "Java serialization",
                reason: "the fields of this funnel are not known; write a stream instead",
            });
        }
    };
    if !constant.is_empty() {
        writer.constant(&named(constant), "INSTANCE");
    }
    writer.constant(&named("BloomFilterStrategies"), scheme.strategy().name());
    Ok(writer.finish())
}

fn strategy_of(stream: &Stream<'_>, root: &Object<'_>) -> Result<GuavaStrategy, Error> {
    let value = Stream::field(root, b'L', "strategy")?;
    let name = match stream.constant(value) {
        Some((class, name)) if class.ends_with("BloomFilterStrategies") => name,
        _ => "no constant of BloomFilterStrategies",
    };
    [GuavaStrategy::Mitz32, GuavaStrategy::Mitz64]
        .into_iter()
        .find(|strategy| strategy.name() == name)
        .ok_or_else(|| Error::bad("strategy", "MURMUR128_MITZ_32 or MURMUR128_MITZ_64", name))
}

fn funnel_of(stream: &Stream<'_>, value: Value<'_>) -> Result<GuavaFunnel, Error> {
    if let Some((class, name)) = stream.constant(value) {
        let funnel = class.rsplit_once("Funnels$").map(|(_, funnel)| funnel);
        return Ok(match (funnel, name) {
            (Some("ByteArrayFunnel"), "INSTANCE") => GuavaFunnel::ByteArray,
            (Some("IntegerFunnel"), "INSTANCE") => GuavaFunnel::Integer,
            (Some("LongFunnel"), "INSTANCE") => GuavaFunnel::Long,
            (Some("UnencodedCharsFunnel" | "StringFunnel"), "INSTANCE") => {
                GuavaFunnel::UnencodedChars
            }
            _ => GuavaFunnel::Other { class: class.to_owned() },
        });
    }
    let object = stream.object("funnel", value)?;
    let class = stream.class(object.class)?.name;
    if class.ends_with(CHARSET_FORM) {
        let charset = Stream::field(object, b'L', "charsetCanonicalName")?;
        let Value::Text(charset) = charset else {
            return Err(Error::bad("charset", "a name", format_args!("{charset:?}")));
        };
        return Ok(GuavaFunnel::String { charset: charset.to_owned() });
    }
    Ok(GuavaFunnel::Other { class: class.to_owned() })
}
