//! The kinds of filters behind a name.

use super::contents::Contents;
use super::fixed::Fixed;
use super::lock::locked;
use super::{Hash, InsertError, Options, Shape, Spec};
use crate::fail_point::fail_point;
use mayhap::sizing::scalable::LayerParams;
use mayhap::{
    AnyFilter, Bitmap, Budget, Build, Charge, ConcurrentScalableBloomFilter, CountingBloomFilter,
    Digest, DigestFunction, Error, FilterParams, ScalableBloomFilter, WindowBloomFilter,
    WindowBuilder, sizing,
};
use mayhap_formats::{ForeignFilter, RedisBloomFilter};
use std::sync::{Arc, Mutex, RwLock};

/// Below this number of keys a filter's rate depends on the luck of its few keys, and it costs 4
/// KiB at most, so smaller ones are made for this many.
pub const FEWEST_ITEMS: u64 = 2_048;

/// A filter of whichever kind.
#[derive(Debug)]
pub(super) enum Filter {
    Growing(ConcurrentScalableBloomFilter),
    Fixed(Fixed, Charge),
    Counting(Mutex<Ordered<CountingBloomFilter>>, Charge),
    Window(Mutex<Ordered<WindowBloomFilter>>, Charge),
    RedisBloom(RwLock<RedisBloomFilter>, Charge),
    Mapped(mayhap_store::MappedFilter),
    Foreign(Box<dyn ForeignFilter>, Charge),
}

/// A filter to which everything has to be done once and in an order.
#[derive(Debug)]
pub(super) struct Ordered<T> {
    pub(super) filter: T,
    /// How many digests were put in or taken out: what the next one is numbered with.
    pub(super) order: u64,
}

impl<T> Ordered<T> {
    pub(super) const fn new(filter: T, order: u64) -> Mutex<Self> {
        Mutex::new(Self { filter, order })
    }
}

/// The digest function of a filter of this spec.
pub(super) const fn digest_function(hash: Hash, options: &Options) -> DigestFunction {
    match hash {
        Hash::Keyed => DigestFunction::sip13(options.secret_key),
        Hash::Plain { seed } => DigestFunction::xxh3(seed),
    }
}

/// A filter that was sized and not made.
#[derive(Debug, Clone)]
pub(super) enum Sized {
    Growing(LayerParams, u64, f64),
    Fixed(FilterParams),
    Counting(FilterParams),
    Window(WindowBuilder, u64),
}

/// The field of errors about one filter's limit; the chain of the core has the same.
const FILTER_BYTES: &str = "filter bytes";

/// Sizes a filter; nothing is allocated.
pub(super) fn sized(spec: &Spec) -> Result<Sized, Error> {
    Ok(match spec.shape {
        Shape::Growing { capacity, error, .. } => {
            let first = capacity.max(FEWEST_ITEMS);
            Sized::Growing(sizing::scalable::chain_layer(first, error, 0, 0.0)?, first, error)
        }
        Shape::Fixed { capacity, error, layout } => {
            let items = capacity.max(FEWEST_ITEMS);
            let builder = AnyFilter::builder().expected_items(items).target_fpp(error);
            let builder = match layout {
                Some(layout) => builder.layout(layout),
                None => builder,
            };
            Sized::Fixed(builder.params()?)
        }
        Shape::Counting { capacity, error } => {
            let items = capacity.max(FEWEST_ITEMS);
            let builder = CountingBloomFilter::builder().expected_items(items);
            Sized::Counting(builder.target_fpp(error).params()?)
        }
        Shape::Window { items, time_ms, error } => {
            let builder = match time_ms {
                0 => WindowBloomFilter::builder().window_items(items),
                span => WindowBloomFilter::builder().window_time(span, items),
            };
            let builder = builder.target_fpp(error);
            let bytes = builder.num_bytes()?;
            Sized::Window(builder, bytes)
        }
        Shape::RedisBloom | Shape::File => {
            return Err(Error::Missing { parameter: "a dump or a file" });
        }
    })
}

/// Why a filter that has no size is refused: by the limit if that is in the way too, since it says
/// more than the end of the arithmetic does; and in terms of the rate that was asked for, of which
/// a layer has a part.
pub(super) fn explained(spec: &Spec, options: &Options, error: Error) -> Error {
    let (Shape::Growing { capacity, error: fpp, .. }
    | Shape::Fixed { capacity, error: fpp, .. }
    | Shape::Counting { capacity, error: fpp }
    | Shape::Window { items: capacity, error: fpp, .. }) = spec.shape
    else {
        return error;
    };
    // n ln(1/p) / (ln 2)^2 bits: none of these kinds takes less.
    let bytes = capacity as f64 * -fpp.ln() / std::f64::consts::LN_2.powi(2) / 8.0;
    let (limit, found) = (options.max_filter_bytes, bytes as u64);
    match error {
        _ if found > limit => Error::TooLarge { field: FILTER_BYTES, limit, found },
        Error::FppUnreachable { target_fpp, lowest_fpp } => {
            Error::FppUnreachable { target_fpp: fpp, lowest_fpp: lowest_fpp * (fpp / target_fpp) }
        }
        error => error,
    }
}

impl Sized {
    /// Bytes of its bits.
    pub(super) fn num_bytes(&self) -> u64 {
        match self {
            Self::Growing(layer, ..) => layer.num_bytes(),
            Self::Fixed(params) => params.num_bytes(),
            Self::Counting(params) => {
                (params.num_bits() / params.layout().block_bits()).saturating_mul(64)
            }
            Self::Window(_, bytes) => *bytes,
        }
    }

    /// An empty filter.
    pub(super) fn build(self, function: DigestFunction) -> Result<Contents, Error> {
        Ok(match self {
            Self::Growing(layer, first_items, error) => Contents::Growing(
                ScalableBloomFilter::with_first_layer(layer, first_items, error, function)?,
            ),
            Self::Fixed(params) => Contents::Fixed(AnyFilter::empty(params, function)?),
            Self::Counting(params) => {
                let filter = CountingBloomFilter::empty(params, function)?;
                Contents::Counting(Ordered { filter, order: 0 })
            }
            Self::Window(builder, _) => {
                let filter = builder.digest_function(function).build()?;
                Contents::Window(Ordered { filter, order: 0 })
            }
        })
    }
}

/// Charges the bytes of a filter before it is made.
pub(super) fn charge(bytes: u64, options: &Options, budget: &Arc<Budget>) -> Result<Charge, Error> {
    if bytes > options.max_filter_bytes {
        let limit = options.max_filter_bytes;
        return Err(Error::TooLarge { field: FILTER_BYTES, limit, found: bytes });
    }
    budget.charge(bytes)
}

impl Filter {
    pub(super) fn growing(
        mut filter: ScalableBloomFilter,
        options: &Options,
        charge: Charge,
    ) -> Self {
        filter.set_max_bytes(options.max_filter_bytes);
        let mut filter = filter.into_concurrent();
        filter.set_charge(charge);
        Self::Growing(filter)
    }

    pub(super) fn contains(&self, digest: Digest, now: u64) -> bool {
        match self {
            Self::Growing(filter) => filter.contains_digest(digest),
            Self::Fixed(fixed, _) => fixed.filter().contains_digest(digest),
            Self::Counting(filter, _) => locked(filter).filter.contains_digest(digest),
            Self::Window(filter, _) => locked(filter).filter.contains_digest_at(digest, now),
            Self::Mapped(mapped) => mapped.filter().contains_digest(digest),
            Self::RedisBloom(..) | Self::Foreign(..) => false,
        }
    }

    pub(super) fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        match self {
            Self::Growing(filter) => filter.contains_digests_into(digests, found),
            Self::Fixed(fixed, _) => fixed.filter().contains_digests_into(digests, found),
            Self::Counting(filter, _) => {
                locked(filter).filter.contains_digests_into(digests, found);
            }
            Self::Window(filter, _) => {
                locked(filter).filter.contains_digests_at_into(digests, now, found);
            }
            Self::Mapped(mapped) => mapped.filter().contains_digests_into(digests, found),
            Self::RedisBloom(..) | Self::Foreign(..) => found.clear_to(digests.len()),
        }
    }

    /// Of kinds that many threads fill at once and that take digests.
    pub(super) fn insert(&self, digest: Digest) -> Result<bool, InsertError> {
        match self {
            Self::Growing(filter) => Ok(growing(filter, 1, || filter.insert_digest(digest))?),
            Self::Fixed(fixed, _) => fixed.insert(digest),
            _ => Err(InsertError::ReadOnly),
        }
    }

    /// As [`Filter::insert`]; those before the place of an error are inserted.
    pub(super) fn insert_many(
        &self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), (usize, InsertError)> {
        match self {
            Self::Growing(filter) => {
                let done =
                    growing(filter, digests.len(), || filter.insert_digests_into(digests, new));
                done.map_err(|error| {
                    // Those before it are there, and it is not, or it would have needed no room.
                    let absent = digests.iter().position(|&digest| !filter.contains_digest(digest));
                    (absent.unwrap_or(digests.len()), error.into())
                })
            }
            Self::Fixed(fixed, _) => fixed.insert_many(digests, new),
            _ => Err((0, InsertError::ReadOnly)),
        }
    }

    /// How keys become digests; none where keys are asked as they are.
    pub(super) fn digest_function(&self) -> Option<DigestFunction> {
        match self {
            Self::Growing(filter) => Some(*filter.digest_function()),
            Self::Fixed(fixed, _) => Some(*fixed.filter().digest_function()),
            Self::Counting(filter, _) => Some(*locked(filter).filter.digest_function()),
            Self::Window(filter, _) => Some(*locked(filter).filter.digest_function()),
            Self::Mapped(mapped) => Some(*mapped.filter().digest_function()),
            Self::RedisBloom(..) | Self::Foreign(..) => None,
        }
    }
}

/// Calls `insert` between the points before and after a growth.
#[inline(always)]
fn growing<T>(
    filter: &ConcurrentScalableBloomFilter,
    keys: usize,
    insert: impl FnOnce() -> T,
) -> T {
    if !cfg!(feature = "fail-points") {
        return insert();
    }
    let layers = filter.num_layers();
    if filter.inserted_items() + keys as u64 > filter.inserted_when_full() {
        fail_point("growth.before");
    }
    let done = insert();
    if filter.num_layers() > layers {
        fail_point("growth.published");
    }
    done
}
