//! The differences between filters of other schemes.

use crate::measurements::Detail;
use mayhap::{Bitmap, Digest, DigestFunction, SecretKey};
use mayhap_formats::KeyType;
use mayhap_redis::{Error, InsertedBatch, RemoteBf, RemoteFilter, RemoteMagnus, RemoteRedisson};

/// A scheme that is not mayhap's own layout.
pub trait Scheme: RemoteFilter + std::fmt::Debug {
    /// The name.
    const NAME: &'static str;

    /// Its key types, the usual one first.
    const KEY_TYPES: &'static [KeyType] = &[KeyType::Bytes, KeyType::Hex];

    /// Whether it counts its keys, rather than estimating them from the bits.
    fn counts(&self) -> bool {
        false
    }

    /// How keys become digests, where the server takes these.
    fn digest_function(&self, _secret_key: Option<SecretKey>) -> Option<DigestFunction> {
        None
    }

    /// Inserts digests.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] unless [`Scheme::digest_function`] is some; those of a call.
    fn insert_digests(
        &self,
        _digests: &[Digest],
    ) -> impl Future<Output = Result<InsertedBatch, Error>> + Send {
        std::future::ready(Err(unsupported(self, "filled by digests")))
    }

    /// Queries digests.
    ///
    /// # Errors
    ///
    /// As [`Scheme::insert_digests`].
    fn contains_digests(
        &self,
        _digests: &[Digest],
    ) -> impl Future<Output = Result<Bitmap, Error>> + Send {
        std::future::ready(Err(unsupported(self, "queried by digests")))
    }

    /// Removes keys; reports which were there.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where none can be removed; those of a call.
    fn remove_batch(&self, _keys: &[&[u8]]) -> impl Future<Output = Result<Bitmap, Error>> + Send {
        std::future::ready(Err(unsupported(self, "freed of single keys")))
    }

    /// Details that only this scheme reports.
    fn details(&self) -> Vec<Detail> {
        Vec::new()
    }
}

fn unsupported<S: Scheme>(set: &S, what: &'static str) -> Error {
    Error::Unsupported {
        name: set.name().into(),
        scheme: S::NAME,
        what,
        reason: "its bits are shared by many keys; keep a compact filter on mayhap serve or in a \
                 file",
    }
}

impl Scheme for RemoteBf {
    const NAME: &'static str = "bf";

    fn counts(&self) -> bool {
        self.store().is_none()
    }

    /// Digests for a keyed filter would need the right admin, so its keys are sent as they are.
    fn digest_function(&self, _secret_key: Option<SecretKey>) -> Option<DigestFunction> {
        Self::digest_function(self, None)
    }

    fn insert_digests(
        &self,
        digests: &[Digest],
    ) -> impl Future<Output = Result<InsertedBatch, Error>> + Send {
        self.insert_digests(digests)
    }

    fn contains_digests(
        &self,
        digests: &[Digest],
    ) -> impl Future<Output = Result<Bitmap, Error>> + Send {
        self.contains_digests(digests)
    }

    fn remove_batch(&self, keys: &[&[u8]]) -> impl Future<Output = Result<Bitmap, Error>> + Send {
        self.remove_batch(keys)
    }

    fn details(&self) -> Vec<Detail> {
        let growth = match self.kind() {
            Some("window") => "forgets its oldest keys",
            Some("clearing") => "forgets all keys",
            _ if self.grows() => "grows",
            _ if self.store().is_some() => "takes more keys, at a rising rate",
            _ => "accepts no more new keys",
        };
        let mut details = vec![Detail::new("grows", "when full", growth.into(), self.grows())];
        if let Some(kind) = self.kind() {
            details.insert(0, Detail::new("server_kind", "kind", kind.into(), kind));
        }
        let by = match Self::digest_function(self, None) {
            Some(_) => "keys, as digests",
            None => "keys, which are hashed there",
        };
        if let Some(store) = self.store() {
            details.push(Detail::new("store", "store", store.into(), store));
        }
        details.push(Detail::new("keys_sent", "sent", by.into(), by));
        details
    }
}

impl Scheme for RemoteRedisson {
    const NAME: &'static str = "redisson";
    /// As for its files: the usual codec first.
    const KEY_TYPES: &'static [KeyType] = &[
        KeyType::KryoString,
        KeyType::KryoLong,
        KeyType::KryoInt,
        KeyType::Bytes,
        KeyType::MarshallingString,
        KeyType::MarshallingLong,
        KeyType::MarshallingInt,
        KeyType::JacksonString,
        KeyType::JacksonLong,
        KeyType::Hex,
    ];
}

impl Scheme for RemoteMagnus {
    const NAME: &'static str = "magnuss-redis";

    fn details(&self) -> Vec<Detail> {
        let bitmaps = self.options().num_bitmaps;
        vec![Detail::new("num_bitmaps", "bitmaps", bitmaps.to_string(), bitmaps)]
    }
}
