//! A filter in memory, as the store keeps it in step with its files.

use crate::error::Error;
use crate::set::{Set, now};
use mayhap::native::{Header, Kind, Native};
use mayhap::{
    AnyFilter, Bitmap, Block, CountingBloomFilter, Digest, DigestFunction, ScalableBloomFilter,
    SecretKey, Window, WindowBloomFilter,
};
use mayhap_store::{Image, Insert, Memory, Record};

/// A filter of a kind that can be a state.
pub(crate) trait Kept: Memory + Send {
    /// The filter.
    fn set(&self) -> &dyn Set;

    /// As [`Kept::set`].
    fn set_mut(&mut self) -> &mut dyn Set;

    /// How keys become digests.
    fn digest_function(&self) -> DigestFunction;

    /// The time of what was done last, for windows of time; 0 for all others.
    fn time(&self) -> u64;

    /// Whether inserting what is there already changes something, so that a log needs every key and
    /// not only those that were new.
    fn repeats_change_it(&self) -> bool;

    /// Removes keys, if the kind does; bit `i` of `removed` is set if `digests[i]` was there.
    fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap);
}

/// A filter, and the key to read it again.
struct Held<F> {
    filter: F,
    secret_key: Option<SecretKey>,
}

/// A filter that becomes a state.
pub(crate) fn keep<F: Insert + Set + 'static>(filter: F) -> Box<dyn Kept> {
    let secret_key = match *Native::digest_function(&filter) {
        DigestFunction::Sip13 { key } => Some(key),
        _ => None,
    };
    Box::new(Held { filter, secret_key })
}

/// Reads the filter of an image.
///
/// # Errors
///
/// Those of [`Image::load`], and for kinds that never change.
pub(super) fn load(image: &Image, key: Option<SecretKey>) -> Result<Box<dyn Kept>, Error> {
    let quietly = |_, _| {};
    Ok(match image.header().kind() {
        Kind::Bloom => keep(image.load::<AnyFilter>(key, quietly)?),
        Kind::Counting => keep(image.load::<CountingBloomFilter>(key, quietly)?),
        Kind::Scalable => keep(image.load::<ScalableBloomFilter>(key, quietly)?),
        Kind::Window => keep(image.load::<WindowBloomFilter>(key, quietly)?),
        kind => return Err(Error::NotOfKind { operation: "state", kind: kind.name() }),
    })
}

impl<F: Insert + Set + 'static> Memory for Held<F> {
    fn load(&mut self, image: &Image) -> Result<(), mayhap_store::Error> {
        self.filter = image.load(self.secret_key, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        if record.time.is_none() && is_of_time(&self.filter) {
            // A log of 0.1, which has no times: what is replayed is as young as this.
            self.filter.advance(now());
        }
        mayhap_store::apply(&mut self.filter, record)
    }

    fn header(&mut self, key_options: &str) -> Header {
        Header::of(&self.filter, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.filter.segments()
    }
}

impl<F: Insert + Set + 'static> Kept for Held<F> {
    fn set(&self) -> &dyn Set {
        &self.filter
    }

    fn set_mut(&mut self) -> &mut dyn Set {
        &mut self.filter
    }

    fn digest_function(&self) -> DigestFunction {
        *Native::digest_function(&self.filter)
    }

    fn time(&self) -> u64 {
        if is_of_time(&self.filter) { Insert::now(&self.filter) } else { 0 }
    }

    fn repeats_change_it(&self) -> bool {
        matches!(self.filter.stats().kind, "counting" | "window")
    }

    fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        Insert::remove_digests_into(&mut self.filter, digests, removed);
    }
}

/// Whether a filter is a window of time.
pub(super) fn is_of_time(set: &dyn Set) -> bool {
    let window = set.as_any().downcast_ref::<WindowBloomFilter>();
    window.is_some_and(|window| matches!(window.window(), Window::Time { .. }))
}
