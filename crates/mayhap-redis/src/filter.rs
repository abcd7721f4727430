//! The interface of all filters on a server, whatever their layout.

use crate::Error;
use mayhap::Bitmap;
use std::future::Future;
use std::time::Duration;

/// Whether an inserted key was already present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It was not present: this call set the last of its bits.
    New,
    /// It may have been present.
    Present,
    /// It is present now; whether it was before is unknown, as a reply was lost and the write was
    /// repeated. Callers that must not lose a key treat it as new.
    Unsure,
}

/// The outcome of a batch of insertions: bit `i` is for key `i`.
#[derive(Debug, Clone, Default)]
pub struct InsertedBatch {
    /// [`Inserted::New`].
    pub new: Bitmap,
    /// [`Inserted::Unsure`].
    pub unsure: Bitmap,
}

impl InsertedBatch {
    /// The outcomes of this number of keys, all of them present.
    pub(crate) fn present(len: usize) -> Self {
        let mut batch = Self::default();
        batch.new.clear_to(len);
        batch.unsure.clear_to(len);
        batch
    }

    /// Notes the server's answer for key `i`; `repeated` if it may have been given before, unseen.
    pub(crate) fn note(&mut self, i: usize, is_new: bool, repeated: bool) {
        match (is_new, repeated) {
            (true, _) => self.new.set(i),
            (false, true) => self.unsure.set(i),
            (false, false) => {}
        }
    }

    /// The outcome for key `i`.
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

/// Information about a filter: its parameters, and statistics of its current bits.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterInfo {
    /// The name of the layout.
    pub layout: &'static str,
    /// m.
    pub num_bits: u64,
    /// k; 0 if the server does not report it.
    pub num_hashes: u32,
    /// n that it was sized for, if it is recorded; of one that grows, n until the next layer.
    pub expected_items: Option<u64>,
    /// Whether it grows beyond its expected items.
    pub grows: bool,
    /// p that it was sized for, if it is recorded.
    pub target_fpp: Option<f64>,
    /// The number of set bits; 0 if the server does not report it.
    pub count_ones: u64,
    /// The number of keys estimated from these bits; `None` if all are set.
    pub estimated_items: Option<f64>,
    /// The current rate; NaN if too little is known.
    pub estimated_fpp: f64,
    /// The number of values that hold the bits.
    pub num_shards: u64,
    /// The bytes of these values.
    pub num_bytes: u64,
    /// Milliseconds until it expires; `None` if it never does.
    pub ttl_ms: Option<u64>,
}

/// A filter on a server: cheap to clone, shared by many tasks and processes.
///
/// Keys are the bytes that the system hashes. A batch costs one round trip to each node.
pub trait RemoteFilter: Clone + Send + Sync + 'static {
    /// The name.
    fn name(&self) -> &str;

    /// Inserts a key, in one round trip.
    fn insert(&self, key: &[u8]) -> impl Future<Output = Result<Inserted, Error>> + Send {
        async { self.insert_batch(&[key]).await.map(|batch| batch.get(0)) }
    }

    /// Inserts keys. After an error any of them may be in it: insert them again.
    fn insert_batch(
        &self,
        keys: &[&[u8]],
    ) -> impl Future<Output = Result<InsertedBatch, Error>> + Send;

    /// Whether the key may be in it, in one round trip.
    fn contains(&self, key: &[u8]) -> impl Future<Output = Result<bool, Error>> + Send {
        async { self.contains_batch(&[key]).await.map(|found| found.get(0)) }
    }

    /// Queries keys: bit `i` is the answer for `keys[i]`.
    fn contains_batch(&self, keys: &[&[u8]]) -> impl Future<Output = Result<Bitmap, Error>> + Send;

    /// Reads the parameters and counts the bits on the server.
    fn info(&self) -> impl Future<Output = Result<FilterInfo, Error>> + Send;

    /// Like [`RemoteFilter::info`], but from a sample of 16 KiB of the bits, where these would have
    /// to be counted: microseconds of the server's time whatever the size, an error of about 1 % in
    /// the estimates.
    fn glance(&self) -> impl Future<Output = Result<FilterInfo, Error>> + Send {
        self.info()
    }

    /// Sets the expiry of all its keys, counted from now; `None`: never.
    fn expire(&self, after: Option<Duration>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Empties it; parameters and expiry stay.
    fn clear(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes all its keys; returns whether there were any.
    fn delete(&self) -> impl Future<Output = Result<bool, Error>> + Send;
}
