//! Which kind is which: by the shape of a creation, by the header of a file.

use super::ordered::Ordered;
use super::{Contents, Plan, clearing, counting, fixed, growing, redisbloom, window};
use crate::durable::{Image, read_native};
use crate::keyspace::{BadFilter, Options, RecoveryError, Shape, Spec};
use mayhap::native::{self, Header, Kind, MAGIC};
use mayhap::{AnyFilter, Error, ScalableBloomFilter};
use std::io::Read;

/// Sizes a filter; nothing is allocated.
pub(in crate::keyspace) fn plan(spec: &Spec) -> Result<Plan, Error> {
    match spec.shape {
        Shape::Growing { capacity, error, .. } => growing::plan(capacity, error),
        Shape::Fixed { capacity, error, layout } => fixed::plan(capacity, error, layout),
        Shape::Counting { capacity, error } => counting::plan(capacity, error),
        Shape::Window { items, time_ms, error, refresh } => {
            window::plan(items, time_ms, error, refresh)
        }
        Shape::Clearing { capacity, error, at } => clearing::plan(capacity, error, at),
        Shape::RedisBloom | Shape::File => Err(Error::Missing { parameter: "a dump or a file" }),
    }
}

/// What [`Snapshot::write`](crate::durable::Snapshot::write) wrote, all of it checked, and the spec
/// that it is of. `shape` is what its bytes do not say, where that is known.
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
    shape: Option<Shape>,
    options: &Options,
) -> Result<Box<dyn Contents>, BadFilter> {
    let header = Header::decode(bytes)?;
    check_header(&header, options)?;
    let key = options.key_for(&header);
    Ok(match (header.kind(), shape) {
        (Kind::Bloom, Some(Shape::Clearing { at, .. })) => {
            Box::new(clearing::Round::new(native::decode_as(bytes, key)?.0, at, 0)?)
        }
        (Kind::Bloom, _) => Box::new(native::decode_as::<AnyFilter>(bytes, key)?.0),
        (Kind::Scalable, _) => Box::new(native::decode_as::<ScalableBloomFilter>(bytes, key)?.0),
        (Kind::Counting, _) => Box::new(Ordered::<mayhap::CountingBloomFilter>::new(
            native::decode_as(bytes, key)?.0,
            0,
        )),
        (Kind::Window, shape) => {
            let refresh = !matches!(shape, Some(Shape::Window { refresh: false, .. }));
            let filter = native::decode_as(bytes, key)?.0;
            window::check_times(&filter, header.key_options())?;
            Box::new(window::Owned::new(filter, refresh, 0))
        }
        (kind, _) => return Err(BadFilter::Kind(kind)),
    })
}

/// The filter of an image. `mark` is what it has of what is to be done in order.
pub(in crate::keyspace) fn read_image(
    spec: &Spec,
    mark: u64,
    image: &mut Image,
    options: &Options,
) -> Result<Box<dyn Contents>, RecoveryError> {
    let key = Some(options.secret_key);
    Ok(match spec.shape {
        Shape::Growing { .. } => Box::new(read_native::<ScalableBloomFilter>(image, key)?),
        Shape::Fixed { .. } => Box::new(read_native::<AnyFilter>(image, key)?),
        Shape::Counting { .. } => {
            Box::new(Ordered::<mayhap::CountingBloomFilter>::new(read_native(image, key)?, mark))
        }
        Shape::Window { refresh, .. } => {
            Box::new(window::Owned::new(read_native(image, key)?, refresh, mark))
        }
        Shape::Clearing { at, .. } => {
            let filter = read_native::<mayhap::BlockedBloomFilter>(image, key)?;
            Box::new(clearing::Round::new(filter, at, mark).map_err(RecoveryError::Filter)?)
        }
        Shape::RedisBloom => {
            let mut bytes = Vec::new();
            image.read_to_end(&mut bytes).map_err(RecoveryError::Io)?;
            Box::new(redisbloom::decode(&bytes, options).map_err(RecoveryError::Foreign)?)
        }
        Shape::File => return Err(RecoveryError::ImageOfFile),
    })
}

/// Checks what can be checked before anything is allocated.
pub(in crate::keyspace) fn check_header(
    header: &Header,
    options: &Options,
) -> Result<(), BadFilter> {
    header.digest_function(options.key_for(header))?;
    // Keys come without the ends of lines, so what became of these does not matter here; and the
    // times of the server are what the record of a window says.
    let is_followed = |option: &str| match option {
        "crlf=strip" | "crlf=keep" => true,
        option => option == window::CLOCK && header.kind() == Kind::Window,
    };
    if !header.key_options().lines().all(is_followed) {
        return Err(BadFilter::KeyOptions(header.key_options().to_string()));
    }
    Ok(())
}
