//! Selects the kind: by the shape at a creation, by the header of a file.

use super::filter::Contents;
use super::own::{Own, Owned};
use super::{Plan, clearing, compact, counting, fixed, frozen, growing, redisbloom, window};
use crate::durable::{Image, ImageError, read_native};
use crate::keyspace::{BadFilter, Options, RecoveryError, Shape, Spec};
use mayhap::native::{Header, Kind, MAGIC, decode_as};
use mayhap::{
    AnyFilter, BlockedBloomFilter, Build, CompactFilter, CountingBloomFilter, Error,
    ScalableBloomFilter, WindowBloomFilter,
};
use std::io::Read;

/// Sizes a filter; nothing is allocated.
pub(in crate::keyspace) fn plan(&Spec { shape, .. }: &Spec) -> Result<Plan, Error> {
    match shape {
        Shape::Growing { capacity, target_fpp, .. } => growing::plan(shape, capacity, target_fpp),
        Shape::Fixed { capacity, target_fpp, layout } => {
            fixed::plan(shape, capacity, target_fpp, layout)
        }
        Shape::Counting { capacity, target_fpp } => counting::plan(shape, capacity, target_fpp),
        Shape::Compact { capacity, target_fpp, expansion } => {
            compact::plan(shape, capacity, target_fpp, expansion > 0)
        }
        Shape::Window { items, time_ms, target_fpp, .. } => {
            window::plan(shape, items, time_ms, target_fpp)
        }
        Shape::Clearing { capacity, target_fpp, at } => {
            clearing::plan(shape, capacity, target_fpp, at)
        }
        Shape::RedisBloom | Shape::File | Shape::Frozen => {
            Err(Error::Missing { parameter: "a dump or a file" })
        }
    }
}

/// Reads the output of [`Snapshot::write`](crate::durable::Snapshot::write), checks all of it, and
/// returns its spec too. `shape` supplies the parameters that the bytes lack, where known.
pub(in crate::keyspace) fn decode(
    bytes: &[u8],
    shape: Option<Shape>,
    options: &Options,
) -> Result<(Box<dyn Contents>, Spec), BadFilter> {
    let contents: Box<dyn Contents> = if bytes.starts_with(&MAGIC) {
        decode_native(bytes, shape, options)?
    } else {
        Box::new(redisbloom::decode(bytes, options).map_err(BadFilter::Foreign)?)
    };
    let spec = contents.spec();
    spec.check()?;
    Ok((contents, spec))
}

fn decode_native(
    bytes: &[u8],
    known: Option<Shape>,
    options: &Options,
) -> Result<Box<dyn Contents>, BadFilter> {
    let header = Header::decode(bytes)?;
    check_header(&header, options)?;
    let key = options.key_for(&header);
    let (capacity, target_fpp) = (header.fields().expected_items, header.fields().target_fpp);
    Ok(match (header.kind(), known) {
        (Kind::Bloom, Some(shape @ Shape::Clearing { at, .. })) => {
            let filter: BlockedBloomFilter = decode_as(bytes, key)?.0;
            Box::new(Owned::new(filter.clear_at_fill_ratio(at)?, shape))
        }
        (Kind::Bloom, _) => {
            let shape = Shape::Fixed { capacity, target_fpp, layout: None };
            owned::<AnyFilter>(decode_as(bytes, key)?.0, known, shape)
        }
        (Kind::Scalable, _) => {
            let shape = Shape::Growing { capacity, target_fpp, expansion: 2 };
            owned::<ScalableBloomFilter>(decode_as(bytes, key)?.0, known, shape)
        }
        (Kind::Counting, _) => {
            let shape = Shape::Counting { capacity, target_fpp };
            owned::<CountingBloomFilter>(decode_as(bytes, key)?.0, known, shape)
        }
        (Kind::Compact, _) => {
            let filter: CompactFilter = decode_as(bytes, key)?.0;
            let expansion = filter.grows().into();
            owned(filter, known, Shape::Compact { capacity, target_fpp, expansion })
        }
        (Kind::Window, _) => {
            let filter: WindowBloomFilter = decode_as(bytes, key)?.0;
            window::check_times(&filter, header.key_options())?;
            let shape = window::shape_of(&filter);
            owned(filter, known, shape)
        }
        (Kind::Fuse | Kind::Ribbon, _) => frozen::decode(bytes, key)?,
        (kind, _) => return Err(BadFilter::Kind(kind)),
    })
}

/// An empty filter with this header, of a plain filter of one size.
pub(in crate::keyspace) fn empty(
    header: &Header,
    options: &Options,
) -> Result<(Box<dyn Contents>, Spec), BadFilter> {
    let (params, function) = (header.params()?, header.digest_function(options.key_for(header))?);
    let (capacity, target_fpp) = (params.expected_items(), params.target_fpp());
    let shape = Shape::Fixed { capacity, target_fpp, layout: None };
    let contents = Box::new(Owned::new(<AnyFilter as Build>::empty(params, function)?, shape));
    let spec = contents.spec();
    spec.check()?;
    Ok((contents, spec))
}

/// A filter that was read: of the known shape if it has that kind, else of the one that it records.
fn owned<F: Own>(set: F, known: Option<Shape>, recorded: Shape) -> Box<dyn Contents> {
    let kind = std::mem::discriminant(&recorded);
    let known = known.filter(|shape| std::mem::discriminant(shape) == kind);
    Box::new(Owned::new(set, known.unwrap_or(recorded)))
}

/// The filter of an image. `order` is how much of its ordered history it includes.
pub(in crate::keyspace) fn read_image(
    &Spec { shape, .. }: &Spec,
    order: u64,
    image: &mut Image,
    options: &Options,
) -> Result<Box<dyn Contents>, RecoveryError> {
    let key = Some(options.secret_key);
    let at = (shape, order);
    Ok(match shape {
        Shape::Growing { .. } => stored::<ScalableBloomFilter>(read_native(image, key)?, at),
        Shape::Fixed { .. } => stored::<AnyFilter>(read_native(image, key)?, at),
        Shape::Counting { .. } => stored::<CountingBloomFilter>(read_native(image, key)?, at),
        Shape::Compact { .. } => stored::<CompactFilter>(read_native(image, key)?, at),
        Shape::Window { .. } => stored::<WindowBloomFilter>(read_native(image, key)?, at),
        Shape::Clearing { at: share, .. } => {
            let filter: BlockedBloomFilter = read_native(image, key)?;
            stored(filter.clear_at_fill_ratio(share)?, at)
        }
        Shape::RedisBloom => {
            let mut bytes = Vec::new();
            image.read_to_end(&mut bytes).map_err(ImageError::Io)?;
            Box::new(redisbloom::decode(&bytes, options).map_err(RecoveryError::Foreign)?)
        }
        Shape::Frozen => frozen::read_image(image, key)?,
        Shape::File => return Err(RecoveryError::ImageOfFile),
    })
}

fn stored<F: Own>(set: F, (shape, order): (Shape, u64)) -> Box<dyn Contents> {
    Box::new(Owned { set, shape, order })
}

/// Checks everything that can be checked before allocating.
pub(in crate::keyspace) fn check_header(
    header: &Header,
    options: &Options,
) -> Result<(), BadFilter> {
    header.digest_function(options.key_for(header))?;
    // Keys arrive without line ends, so options about these do not matter here; and the times of
    // the server are those recorded by a window.
    let is_followed = |option: &str| match option {
        "crlf=strip" | "crlf=keep" => true,
        option => option == window::CLOCK && header.kind() == Kind::Window,
    };
    if !header.key_options().lines().all(is_followed) {
        return Err(BadFilter::KeyOptions(header.key_options().to_string()));
    }
    Ok(())
}
