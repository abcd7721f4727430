//! The object through `ObjectOutputStream`.

use super::filter::BloomFileterOptions;
use super::scheme::{BloomFileterRate, BloomFileterScheme};
use crate::java::bitset::{self, StickyWords};
use crate::java::{ClassSpec, MAGIC, Object, SERIALIZABLE, Stream, Value, Writer};
use crate::{Bits, Error, Limits, SchemeFilter};

const UID: i64 = -5_221_305_273_707_291_280;

const NUMBER: ClassSpec<'static> = ClassSpec {
    name: "java.lang.Number",
    uid: -8_742_448_824_652_078_965,
    flags: SERIALIZABLE,
    fields: &[],
    parent: None,
};
const DOUBLE: ClassSpec<'static> = ClassSpec {
    name: "java.lang.Double",
    uid: -9_172_774_392_245_257_468,
    flags: SERIALIZABLE,
    fields: &[("D", "value")],
    parent: Some(&NUMBER),
};
const ATOMIC_INTEGER: ClassSpec<'static> = ClassSpec {
    name: "java.util.concurrent.atomic.AtomicInteger",
    uid: 6_214_790_243_416_807_050,
    flags: SERIALIZABLE,
    fields: &[("I", "value")],
    parent: Some(&NUMBER),
};
const INTS: ClassSpec<'static> = ClassSpec {
    name: "[I",
    uid: 5_600_894_804_908_749_477,
    flags: SERIALIZABLE,
    fields: &[],
    parent: None,
};

/// The contents of the stream apart from the bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Serialized {
    /// Up to and including the number of words.
    head: Vec<u8>,
    tail: Vec<u8>,
    pub(super) words: StickyWords,
    /// The offset of the use count in the tail.
    use_count_at: usize,
    pub(super) use_count: i32,
    auto_clear_rate: Option<f64>,
    class_name: String,
}

impl Serialized {
    pub(super) fn of_new(options: &BloomFileterOptions, size: i32) -> Result<Self, Error> {
        let class = &options.class_name;
        if !(1..=255).contains(&class.len()) {
            return Err(Error::bad("class name", "1 to 255 bytes", class));
        }
        if options.auto_clear_rate.is_some_and(f64::is_nan) {
            return Err(Error::bad("autoClearRate", "a number", "NaN"));
        }
        let rate_class = format!("{class}$MisjudgmentRate");
        let mut writer = Writer::new();
        writer.object(&ClassSpec {
            name: class,
            uid: UID,
            flags: SERIALIZABLE,
            fields: &[
                ("I", "size"),
                ("Ljava/lang/Double;", "autoClearRate"),
                ("Ljava/util/BitSet;", "notebook"),
                (&format!("L{};", rate_class.replace('.', "/")), "rate"),
                ("[I", "seeds"),
                ("Ljava/util/concurrent/atomic/AtomicInteger;", "useCount"),
            ],
            parent: None,
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
        let use_count_at = writer.position() - head_bytes;
        writer.raw(&0i32.to_be_bytes());
        let mut head = writer.finish();
        let tail = head.split_off(head_bytes);
        Ok(Self {
            head,
            tail,
            words: StickyWords::of_new(u64::from(size.unsigned_abs())),
            use_count_at,
            use_count: 0,
            auto_clear_rate: options.auto_clear_rate,
            class_name: class.clone(),
        })
    }

    pub(super) fn read(
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(SchemeFilter<BloomFileterScheme>, Self), Error> {
        if !bytes.starts_with(&MAGIC) {
            let reason = "it is no Java object";
            return Err(Error::NotThisFormat { format: "bloomfileter", reason });
        }
        let (stream, root) = Stream::read(bytes, |_| false)?;
        let class = stream.class(root.class)?;
        if class.uid != UID {
            return Err(Error::bad("serialVersionUID", "-5221305273707291280", class.uid));
        }
        let has_clear_rate = root.fields.iter().any(|field| field.1 == "autoClearRate");
        if root.fields.len() != 5 + usize::from(has_clear_rate) {
            return Err(Error::bad("number of fields", "5 or 6", root.fields.len()));
        }
        let (size, _) = stream.int(&root, "size")?;
        let rate = rate_of(&stream, bytes, &root)?;
        // The wrapped product of k and a number of keys; k is a power of two.
        if size.unsigned_abs() % rate.num_hashes() != 0 {
            return Err(Error::bad("size", "a multiple of the number of seeds", size));
        }
        let scheme = BloomFileterScheme::new(rate, size)?;
        let auto_clear_rate = if has_clear_rate { auto_clear_rate(&stream, &root)? } else { None };
        let notebook = Stream::field(&root, b'L', "notebook")?;
        let (bits, words, at) =
            bitset::read(&stream, bytes, notebook, u64::from(size.unsigned_abs()), limits)?;

        let use_count = Stream::field(&root, b'L', "useCount")
            .or_else(|_| Stream::field(&root, b'L', "userCount"))?;
        let counter = object_of(&stream, "useCount", use_count, &ATOMIC_INTEGER)?;
        let (use_count, use_count_at) = stream.int(counter, "value")?;
        let Some(use_count_at) = use_count_at.checked_sub(at.end) else {
            return Err(Error::bad("order of the fields", "by name", "useCount before notebook"));
        };
        let state = Self {
            head: bytes[..at.start].to_vec(),
            tail: bytes[at.end..].to_vec(),
            words,
            use_count_at,
            use_count,
            auto_clear_rate,
            class_name: class.name.to_owned(),
        };
        Ok((SchemeFilter { scheme, bits }, state))
    }

    pub(super) fn encode(&self, bits: &Bits) -> Vec<u8> {
        let mut out = self.head.clone();
        bitset::write_words(&mut out, bits, &self.words);
        let (before, after) = self.tail.split_at(self.use_count_at);
        out.extend_from_slice(before);
        out.extend(self.use_count.to_be_bytes());
        out.extend_from_slice(&after[4..]);
        out
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
    if rate.is_nan() {
        return Err(Error::bad("autoClearRate", "a number", rate));
    }
    Ok(Some(rate))
}

/// The preset, whose primes must be the stored seeds, since positions are computed from those.
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
    if !seeds.eq(rate.seeds().iter().copied()) {
        return Err(Error::bad("seeds", "the first primes, as many as rate says", "others"));
    }
    Ok(rate)
}
