//! The object through `ObjectOutputStream`.

use super::options::BloomFileterOptions;
use super::scheme::{BloomFileterRate, BloomFileterScheme};
use crate::java::bitset::{self, Frame};
use crate::java::{ClassSpec, MAGIC, Object, Stream, Value, Writer};
use crate::{Bits, Error, Limits, SchemeFilter};

const UID: i64 = -5_221_305_273_707_291_280;

const NUMBER: ClassSpec<'static> = ClassSpec::plain("java.lang.Number", -8_742_448_824_652_078_965);
const DOUBLE: ClassSpec<'static> = ClassSpec {
    fields: &[("D", "value")],
    parent: Some(&NUMBER),
    ..ClassSpec::plain("java.lang.Double", -9_172_774_392_245_257_468)
};
const ATOMIC_INTEGER: ClassSpec<'static> = ClassSpec {
    fields: &[("I", "value")],
    parent: Some(&NUMBER),
    ..ClassSpec::plain("java.util.concurrent.atomic.AtomicInteger", 6_214_790_243_416_807_050)
};
const INTS: ClassSpec<'static> = ClassSpec::plain("[I", 5_600_894_804_908_749_477);

/// The contents of the stream apart from the bits; the count of the frame is the use count.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Serialized {
    pub(super) frame: Frame,
    auto_clear_rate: Option<f64>,
    class_name: String,
}

impl Serialized {
    pub(super) fn of_new(options: &BloomFileterOptions, size: i32) -> Result<Self, Error> {
        let class = &options.class_name;
        Error::check((1..=255).contains(&class.len()), "class name", "1 to 255 bytes", class)?;
        let is_number = options.auto_clear_rate.is_none_or(|rate| !rate.is_nan());
        Error::check(is_number, "autoClearRate", "a number", "NaN")?;
        let rate_class = format!("{class}$MisjudgmentRate");
        let mut writer = Writer::new();
        writer.object(&ClassSpec {
            fields: &[
                ("I", "size"),
                ("Ljava/lang/Double;", "autoClearRate"),
                ("Ljava/util/BitSet;", "notebook"),
                (&format!("L{};", rate_class.replace('.', "/")), "rate"),
                ("[I", "seeds"),
                ("Ljava/util/concurrent/atomic/AtomicInteger;", "useCount"),
            ],
            ..ClassSpec::plain(class, UID)
        });
        writer.raw(&size.to_be_bytes());
        match options.auto_clear_rate {
            None => writer.null(),
            Some(rate) => {
                writer.object(&DOUBLE);
                writer.raw(&rate.to_be_bytes());
            }
        }
        bitset::begin(&mut writer);
        let head_bytes = writer.position();
        writer.end_blocks();
        writer.constant(&rate_class, options.rate.name());
        let seeds = options.rate.seeds();
        writer.array(&INTS, options.rate.num_hashes());
        for seed in seeds {
            writer.raw(&seed.to_be_bytes());
        }
        writer.object(&ATOMIC_INTEGER);
        let use_count_at = writer.position();
        writer.raw(&0i32.to_be_bytes());
        let num_bits = u64::from(size.unsigned_abs());
        let frame = Frame::of_new(writer, head_bytes, use_count_at, num_bits);
        let auto_clear_rate = options.auto_clear_rate;
        Ok(Self { frame, auto_clear_rate, class_name: class.clone() })
    }

    pub(super) fn read(
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(SchemeFilter<BloomFileterScheme>, Self), Error> {
        let is_object = bytes.starts_with(&MAGIC);
        Error::check_format(is_object, "bloomfileter", "it is no Java object")?;
        let (stream, root) = Stream::read(bytes, |_| false)?;
        let class = stream.class(root.class)?;
        let allowed = "-5221305273707291280";
        Error::check(class.uid == UID, "serialVersionUID", allowed, class.uid)?;
        let has_clear_rate = root.fields.iter().any(|field| field.1 == "autoClearRate");
        let (fields, expected) = (root.fields.len(), 5 + usize::from(has_clear_rate));
        Error::check(fields == expected, "number of fields", "5 or 6", fields)?;
        let (size, _) = stream.int(&root, "size")?;
        let rate = rate_of(&stream, bytes, &root)?;
        // The wrapped product of k and a number of keys; k is a power of two.
        let is_multiple = size.unsigned_abs().is_multiple_of(rate.num_hashes());
        Error::check(is_multiple, "size", "a multiple of the number of seeds", size)?;
        let scheme = BloomFileterScheme::new(rate, size)?;
        let auto_clear_rate = if has_clear_rate { auto_clear_rate(&stream, &root)? } else { None };
        let notebook = Stream::field(&root, b'L', "notebook")?;
        let use_count = Stream::field(&root, b'L', "useCount")
            .or_else(|_| Stream::field(&root, b'L', "userCount"))?;
        let counter = object_of(&stream, "useCount", use_count, &ATOMIC_INTEGER)?;
        let (use_count, num_bits) = (stream.int(counter, "value")?, u64::from(size.unsigned_abs()));
        let (bits, frame) = Frame::read((&stream, bytes), notebook, use_count, num_bits, limits)?;
        let is_ordered = !frame.counts_first();
        let found = "useCount before notebook";
        Error::check(is_ordered, "order of the fields", "by name", found)?;
        let state = Self { frame, auto_clear_rate, class_name: class.name.to_owned() };
        Ok((SchemeFilter { scheme, bits }, state))
    }

    pub(super) fn encode(&self, bits: &Bits) -> Vec<u8> {
        self.frame.encode(bits)
    }

    pub(super) fn class_name(&self) -> &str {
        &self.class_name
    }

    pub(super) fn auto_clear_rate(&self) -> Option<f64> {
        self.auto_clear_rate
    }
}

fn object_of<'s, 'a>(
    stream: &'s Stream<'a>,
    field: &'static str,
    value: Value<'a>,
    class: &ClassSpec<'static>,
) -> Result<&'s Object<'a>, Error> {
    let object = stream.object(field, value)?;
    let found = stream.class(object.class)?.name;
    if found == class.name { Ok(object) } else { Err(Error::bad(field, class.name, found)) }
}

fn auto_clear_rate(stream: &Stream<'_>, root: &Object<'_>) -> Result<Option<f64>, Error> {
    let value = Stream::field(root, b'L', "autoClearRate")?;
    if value == Value::Null {
        return Ok(None);
    }
    let rate = stream.double(object_of(stream, "autoClearRate", value, &DOUBLE)?, "value")?;
    Error::check(!rate.is_nan(), "autoClearRate", "a number", rate)?;
    Ok(Some(rate))
}

/// The preset, whose primes must be the stored seeds, since positions are computed from its primes.
fn rate_of(
    stream: &Stream<'_>,
    bytes: &[u8],
    root: &Object<'_>,
) -> Result<BloomFileterRate, Error> {
    let value = Stream::field(root, b'L', "rate")?;
    let (_, name) = stream.constant(value).unwrap_or_default();
    let rate = BloomFileterRate::ALL
        .into_iter()
        .find(|rate| rate.name() == name)
        .ok_or_else(|| Error::bad("rate", "VERY_SMALL, SMALL, MIDDLE or HIGH", name))?;
    let at = stream.array("seeds", Stream::field(root, b'[', "seeds")?, b'I')?;
    let seeds = bytes[at].as_chunks::<4>().0.iter().map(|&seed| i32::from_be_bytes(seed));
    let are_right = seeds.eq(rate.seeds().iter().copied());
    Error::check(are_right, "seeds", "the first primes, as many as rate says", "others")?;
    Ok(rate)
}
