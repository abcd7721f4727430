//! Frozen filters, fuse and ribbon: built elsewhere from all of their keys, and never changed.

use super::filter::{Contents, Dump, Filter, Home, Target};
use super::own::{dump_of, small_dump_of};
use crate::Work;
use crate::durable::{Image, ImageError, Snapshot, read_set, write_segments};
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, Measured, Shape, Spec};
use mayhap::native::Kind;
use mayhap::set::{ByBits, Numbers, Set, decode as decode_set};
use mayhap::{Bitmap, Charge, Digest, DigestFunction, Error, SecretKey};
use std::io::{self, Write};
use std::sync::Arc;

/// A frozen filter in use.
#[derive(Debug)]
pub(in crate::keyspace) struct Frozen {
    pub(in crate::keyspace) set: Arc<dyn Set>,
    pub(in crate::keyspace) charge: Charge,
}

/// The same for one owner. Nothing changes it, so it shares the memory of the one in use.
#[derive(Debug)]
struct Unchanging(Arc<dyn Set>);

/// The filter in these bytes, every one of them checked.
pub(super) fn decode(bytes: &[u8], key: Option<SecretKey>) -> Result<Box<dyn Contents>, Error> {
    Ok(Box::new(Unchanging(decode_set(bytes, key)?.0.into())))
}

/// The filter of an image.
pub(super) fn read_image(
    image: &mut Image,
    key: Option<SecretKey>,
) -> Result<Box<dyn Contents>, ImageError> {
    let set = read_set(image, key, |kind| matches!(kind, Kind::Fuse | Kind::Ribbon))?;
    Ok(Box::new(Unchanging(set.into())))
}

impl Frozen {
    fn refusal(&self) -> InsertError {
        InsertError::Frozen(self.kind())
    }
}

impl Filter for Frozen {
    fn kind(&self) -> &'static str {
        self.set.kind().name()
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.set.digest_function())
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        self.set.contains_digest(digest, now)
    }

    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.set.contains_into(digests, now, found);
    }

    fn insert(&self, _: Digest, _: Target<'_>, _: &mut Work) -> Result<bool, InsertError> {
        Err(self.refusal())
    }

    fn insert_many(&self, _: Target<'_>, work: &mut Work) -> Result<(), (usize, InsertError)> {
        work.answers.clear_to(work.digests.len());
        Err((0, self.refusal()))
    }

    fn insert_absent(
        &self,
        target: Target<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        self.insert_many(target, work)
    }

    fn unites(&self) -> bool {
        false
    }

    fn info(&self) -> Info {
        let Numbers { num_hashes, target_fpp, expected_fpp, .. } = self.set.numbers();
        Info {
            capacity: self.items(),
            num_hashes,
            target_fpp,
            expected_fpp,
            read_only: true,
            ..Info::new(self.kind(), self.items(), self.num_bytes())
        }
    }

    fn items(&self) -> u64 {
        self.set.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn measure(&self) -> Measured {
        let ByBits { fill_ratio, estimated_fpp, .. } = self.set.by_bits();
        Measured::new(fill_ratio, estimated_fpp)
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        Ok(Some(Box::new(Unchanging(self.set.clone()))))
    }
}

impl Snapshot for Unchanging {
    fn mark(&self) -> u64 {
        0
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_segments(&self.0.header(""), &self.0.segments(), out)
    }
}

impl Contents for Unchanging {
    fn num_bytes(&self) -> u64 {
        self.0.numbers().num_bytes
    }

    fn spec(&self) -> Spec {
        Spec { shape: Shape::Frozen, hash: hash_of(self.0.digest_function()) }
    }

    fn set(&self) -> Option<&dyn Set> {
        Some(&*self.0)
    }

    fn into_filter(self: Box<Self>, _home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Frozen { set: self.0, charge })
    }

    fn dump(&self) -> io::Result<Dump> {
        dump_of(self)
    }

    fn small_dump(&self) -> io::Result<Dump> {
        small_dump_of(self)
    }
}
