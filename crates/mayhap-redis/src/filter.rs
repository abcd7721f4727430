//! What every filter on a server can do, whichever layout its bits have.

use crate::Error;
use mayhap::Bitmap;
use std::future::Future;

/// Whether an inserted key was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It was not: this call set the last of its bits.
    New,
    /// It may have been.
    Present,
    /// It is there now; whether it was before is not known, as a reply was lost on the way and the
    /// write repeated. Who must not lose a key treats it as new.
    Unsure,
}

/// What became of a batch of insertions: bit `i` is for key `i`.
#[derive(Debug, Clone, Default)]
pub struct InsertedBatch {
    /// [`Inserted::New`].
    pub new: Bitmap,
    /// [`Inserted::Unsure`].
    pub unsure: Bitmap,
}

impl InsertedBatch {
    /// What became of key `i`.
    ///
    /// # Panics
    ///
    /// If there is no such key.
    pub fn get(&self, i: usize) -> Inserted {
        match (self.new.get(i), self.unsure.get(i)) {
            (true, _) => Inserted::New,
            (false, true) => Inserted::Unsure,
            (false, false) => Inserted::Present,
        }
    }
}

/// What is known of a filter: its parameters, and what its bits say now.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterInfo {
    /// The layout, as `mayhap info` names it.
    pub layout: &'static str,
    /// m.
    pub num_bits: u64,
    /// k; 0 where the server does not say.
    pub num_hashes: u32,
    /// n that it was made for, where it says so.
    pub expected_items: Option<u64>,
    /// p that it was made for, where it says so.
    pub target_fpp: Option<f64>,
    /// Set bits; 0 where the server does not say.
    pub count_ones: u64,
    /// How many keys these bits speak of; `None` when all are set.
    pub estimated_items: Option<f64>,
    /// p now; NaN where too little is known.
    pub estimated_fpp: f64,
    /// Values that hold the bits.
    pub num_shards: u64,
    /// Bytes of these values.
    pub num_bytes: u64,
    /// Milliseconds until it expires; `None` if it never does.
    pub ttl_ms: Option<u64>,
}

/// A filter on a server: cheap to clone, shared by many tasks and processes.
///
/// Keys are bytes, as the system hashes them. A batch costs one round trip to each node.
pub trait RemoteFilter: Clone + Send + Sync + 'static {
    /// The name.
    fn name(&self) -> &str;

    /// Inserts a key, in one round trip.
    fn insert(&self, key: &[u8]) -> impl Future<Output = Result<Inserted, Error>> + Send;

    /// Inserts keys. After an error any of them may be in it: insert them again.
    fn insert_batch(
        &self,
        keys: &[&[u8]],
    ) -> impl Future<Output = Result<InsertedBatch, Error>> + Send;

    /// Whether the key may be in it, in one round trip.
    fn contains(&self, key: &[u8]) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Asks for keys: bit `i` is the answer for `keys[i]`.
    fn contains_batch(&self, keys: &[&[u8]]) -> impl Future<Output = Result<Bitmap, Error>> + Send;

    /// Reads the parameters and counts the bits on the server.
    fn info(&self) -> impl Future<Output = Result<FilterInfo, Error>> + Send;

    /// Deletes all its keys; whether there were any.
    fn delete(&self) -> impl Future<Output = Result<bool, Error>> + Send;
}
