//! What is in a filter, as bytes and back: for images, dumps and unions.

use super::filter::{Filter, Ordered};
use super::fixed::Fixed;
use super::lock::{locked, read};
use super::{Entry, Hash, Options, Shape, Spec};
use crate::durable::{self, write_native};
use mayhap::native::{Header, Kind, MAGIC};
use mayhap::{
    AnyFilter, Charge, CountingBloomFilter, DigestFunction, Error, ScalableBloomFilter,
    WindowBloomFilter, native,
};
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter};
use std::io::{self, Write};

/// A filter for one owner: a copy of one that is in use, or one that is being put together.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and soon taken apart")]
pub(super) enum Contents {
    Growing(ScalableBloomFilter),
    Fixed(AnyFilter),
    Counting(Ordered<CountingBloomFilter>),
    Window(Ordered<WindowBloomFilter>),
    RedisBloom(RedisBloomFilter),
}

impl Entry {
    /// A copy, while insertions go on: it holds at least every key whose insertion happened before.
    /// `None` for files.
    pub(super) fn contents(&self) -> Result<Option<Contents>, Error> {
        Ok(Some(match &self.filter {
            Filter::Growing(filter) => Contents::Growing(filter.snapshot()?),
            Filter::Fixed(fixed, _) => {
                let mut copy = fixed.filter().snapshot()?;
                // After the bits: a key that is in them had reserved its place before it set any.
                copy.set_inserted_items(fixed.items());
                Contents::Fixed(copy)
            }
            Filter::Counting(filter, _) => {
                let Ordered { filter, order } = &*locked(filter);
                Contents::Counting(Ordered { filter: filter.try_clone()?, order: *order })
            }
            Filter::Window(filter, _) => {
                let Ordered { filter, order } = &*locked(filter);
                Contents::Window(Ordered { filter: filter.try_clone()?, order: *order })
            }
            Filter::RedisBloom(filter, _) => Contents::RedisBloom(read(filter).clone()),
            Filter::Mapped(_) | Filter::Foreign(..) => return Ok(None),
        }))
    }
}

impl Contents {
    /// The same for many threads. `charge` has its bytes.
    pub(super) fn into_filter(self, spec: &Spec, options: &Options, charge: Charge) -> Filter {
        match self {
            Self::Growing(filter) => Filter::growing(filter, options, charge),
            Self::Fixed(filter) => {
                let capacity = match spec.shape {
                    Shape::Fixed { capacity, .. } => capacity,
                    _ => filter.params().expected_items(),
                };
                Filter::Fixed(Fixed::new(filter, capacity), charge)
            }
            Self::Counting(Ordered { filter, order }) => {
                Filter::Counting(Ordered::new(filter, order), charge)
            }
            Self::Window(Ordered { filter, order }) => {
                Filter::Window(Ordered::new(filter, order), charge)
            }
            Self::RedisBloom(filter) => Filter::RedisBloom(filter.into(), charge),
        }
    }

    /// Bytes of its bits.
    pub(super) fn num_bytes(&self) -> u64 {
        match self {
            Self::Growing(filter) => filter.num_bytes(),
            Self::Fixed(filter) => filter.params().num_bytes(),
            Self::Counting(ordered) => ordered.filter.num_bytes(),
            Self::Window(ordered) => ordered.filter.num_bytes(),
            Self::RedisBloom(filter) => super::redisbloom::num_bytes(filter),
        }
    }

    /// Counts no more than so many keys, where a copy of a filter that is in use may count others
    /// than it has: those of kinds that are filled without a lock.
    pub(super) fn limit_items(&mut self, most: u64) {
        match self {
            Self::Growing(filter) => filter.limit_inserted_items(most),
            Self::Fixed(filter) => filter.set_inserted_items(filter.inserted_items().min(most)),
            Self::Counting(_) | Self::Window(_) | Self::RedisBloom(_) => {}
        }
    }

    /// Writes it as a file of the native format, or one of `mayhap-formats`.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Growing(filter) => write_native(filter, out),
            Self::Fixed(filter) => write_native(filter, out),
            Self::Counting(ordered) => write_native(&ordered.filter, out),
            Self::Window(ordered) => write_native(&ordered.filter, out),
            Self::RedisBloom(filter) => out.write_all(&filter.encode()),
        }
    }

    /// What [`Contents::write`] wrote, all of it checked, and the spec that it is of.
    pub(super) fn decode(bytes: &[u8], options: &Options) -> Result<(Self, Spec), String> {
        let text = |error: Error| error.to_string();
        if !bytes.starts_with(&MAGIC) {
            let filter = RedisBloomFilter::decode(bytes, &limits(options))
                .map_err(|error| error.to_string())?;
            return Ok((Self::RedisBloom(filter), redisbloom_spec()));
        }
        let header = Header::decode(bytes).map_err(text)?;
        check_native(&header, options)?;
        let key = Some(options.secret_key);
        let contents = match header.kind() {
            Kind::Bloom => Self::Fixed(native::decode_as(bytes, key).map_err(text)?.0),
            Kind::Scalable => Self::Growing(native::decode_as(bytes, key).map_err(text)?.0),
            Kind::Counting => {
                let filter = native::decode_as(bytes, key).map_err(text)?.0;
                Self::Counting(Ordered { filter, order: 0 })
            }
            Kind::Window => {
                let filter = native::decode_as(bytes, key).map_err(text)?.0;
                Self::Window(Ordered { filter, order: 0 })
            }
            other => return Err(format!("a {} filter cannot be served", other.name())),
        };
        let spec = contents.spec();
        spec.check()?;
        Ok((contents, spec))
    }

    /// What a filter that is loaded was asked to be, as far as it says.
    fn spec(&self) -> Spec {
        let (shape, function) = match self {
            Self::Growing(filter) => {
                let (capacity, error) = (filter.first_items(), filter.target_fpp());
                (Shape::Growing { capacity, error, expansion: 2 }, *filter.digest_function())
            }
            Self::Fixed(filter) => {
                let (capacity, error) =
                    (filter.params().expected_items(), filter.params().target_fpp());
                (Shape::Fixed { capacity, error, layout: None }, *filter.digest_function())
            }
            Self::Counting(Ordered { filter, .. }) => {
                let (capacity, error) =
                    (filter.params().expected_items(), filter.params().target_fpp());
                (Shape::Counting { capacity, error }, *filter.digest_function())
            }
            Self::Window(Ordered { filter, .. }) => {
                let (items, error) = (filter.expected_items(), filter.target_fpp());
                let time_ms = match filter.window() {
                    mayhap::Window::Time { span, .. } => span,
                    _ => 0,
                };
                (Shape::Window { items, time_ms, error }, *filter.digest_function())
            }
            Self::RedisBloom(_) => return redisbloom_spec(),
        };
        let hash = match function {
            DigestFunction::Xxh3 { seed } => Hash::Plain { seed },
            _ => Hash::Keyed,
        };
        Spec { shape, hash }
    }

    /// Makes it the union of both.
    pub(super) fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        let incompatible =
            Error::Incompatible { parameter: "kind", left: self.kind(), right: other.kind() };
        match (self, other) {
            (Self::Growing(ours), Self::Growing(theirs)) => ours.union_with(theirs),
            (Self::Fixed(ours), Self::Fixed(theirs)) => {
                let items = ours.inserted_items().max(theirs.inserted_items());
                ours.union_with(theirs)?;
                ours.set_inserted_items(ours.inserted_items().max(items));
                Ok(())
            }
            (Self::Counting(ours), Self::Counting(theirs)) => {
                ours.filter.union_with(&theirs.filter)
            }
            _ => Err(incompatible),
        }
    }

    const fn kind(&self) -> u64 {
        match self {
            Self::Fixed(_) => Kind::Bloom.id() as u64,
            Self::Counting(_) => Kind::Counting.id() as u64,
            Self::Growing(_) => Kind::Scalable.id() as u64,
            Self::Window(_) => Kind::Window.id() as u64,
            Self::RedisBloom(_) => 0,
        }
    }
}

/// What a checkpoint writes.
impl durable::Snapshot for Contents {
    fn mark(&self) -> u64 {
        match self {
            Self::Counting(ordered) => ordered.order,
            Self::Window(ordered) => ordered.order,
            _ => 0,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        Contents::write(self, out)
    }
}

pub(super) const fn redisbloom_spec() -> Spec {
    Spec { shape: Shape::RedisBloom, hash: Hash::Plain { seed: 0 } }
}

/// Checks what can be checked before anything is allocated.
pub(super) fn check_native(header: &Header, options: &Options) -> Result<(), String> {
    header.digest_function(Some(options.secret_key)).map_err(|error| error.to_string())?;
    if !header.key_options().is_empty() {
        let found = header.key_options();
        return Err(format!("the filter's keys are cut first ({found}), which is not done here"));
    }
    Ok(())
}

/// The limits of filters of other systems.
pub(super) fn limits(options: &Options) -> Limits {
    let max_bytes = options.max_filter_bytes.min(Limits::default().max_bytes);
    Limits { max_bytes, ..Limits::default() }
}
