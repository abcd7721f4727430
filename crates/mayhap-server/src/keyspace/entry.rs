//! A filter with what belongs to it.
//!
//! `insert.rs` is the way in, `info.rs` what it knows of itself, `contents.rs` its bytes.

use super::filter::Filter;
use super::growth::Growth;
use super::load::Outgoing;
use super::lock::read;
use super::{Shape, Spec};
use crate::Turn;
use crate::durable::Tally;
use crate::resp::Words;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_formats::ForeignFilter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A filter with what belongs to it. Asking and inserting take no lock in the kinds that
/// `BF.RESERVE` makes by default.
#[derive(Debug)]
pub struct Entry {
    /// What the log calls it: a number that is never used again.
    pub id: u64,
    /// What it was asked to be.
    pub spec: Spec,
    /// Milliseconds since 1970; 0 for never.
    expires_at: AtomicU64,
    pub(super) filter: Filter,
    digest_function: Option<DigestFunction>,
    /// What the log knows of its keys: see `insert.rs`.
    pub(super) tally: Arc<Tally>,
    pub(super) outgoing: Mutex<Option<Outgoing>>,
    /// The limit of one filter, where the filter does not have it.
    pub(super) max_bytes: u64,
    pub(super) growth: Arc<Growth>,
}

impl Entry {
    pub(super) fn new(
        id: u64,
        spec: Spec,
        expires_at: u64,
        filter: Filter,
        max_bytes: u64,
        growth: Arc<Growth>,
    ) -> Self {
        let digest_function = filter.digest_function();
        let tally = Arc::new(Tally::new(filter.items()));
        let expires_at = AtomicU64::new(expires_at);
        Self {
            id,
            spec,
            expires_at,
            filter,
            digest_function,
            tally,
            outgoing: Mutex::default(),
            max_bytes,
            growth,
        }
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now: u64) -> bool {
        let expires_at = self.expires_at();
        expires_at != 0 && expires_at <= now
    }

    /// When its time is over, in milliseconds since 1970; 0 for never.
    pub fn expires_at(&self) -> u64 {
        self.expires_at.load(Ordering::Relaxed)
    }

    /// Bytes of its memory.
    pub fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    pub(super) fn set_expires_at(&self, expires_at: u64) {
        self.expires_at.store(expires_at, Ordering::Relaxed);
    }

    /// Whether it is a file, which nothing can be inserted into.
    pub fn is_read_only(&self) -> bool {
        self.spec.shape == Shape::File
    }

    /// How keys become digests; `None` where keys are asked as they are, in the scheme of another
    /// system.
    pub const fn digest_function(&self) -> Option<&DigestFunction> {
        self.digest_function.as_ref()
    }

    /// Whether the key may be in it. A window is asked for the time `now`. Of a file the answer
    /// holds if [`Entry::check_file`] says so afterwards.
    #[inline]
    pub fn contains(&self, key: &[u8], now: u64) -> bool {
        match &self.digest_function {
            Some(function) => self.filter.contains(function.digest(key), now),
            None => self.contains_key(key),
        }
    }

    fn contains_key(&self, key: &[u8]) -> bool {
        match &self.filter {
            Filter::RedisBloom(filter, _) => read(filter).contains(key),
            Filter::Foreign(filter, _) => filter.contains(key),
            _ => false,
        }
    }

    /// [`Entry::contains`] for a key that is already a digest; `false` for schemes of others.
    #[inline]
    pub fn contains_digest(&self, digest: Digest, now: u64) -> bool {
        self.filter.contains(digest, now)
    }

    /// Asks for many keys; the answers are in [`Turn::answers`], and hold as that of
    /// [`Entry::contains`] does.
    pub fn contains_many(&self, keys: Words<'_>, turn: &mut Turn) {
        let Turn { digests, answers, now, .. } = turn;
        if let Some(function) = &self.digest_function {
            digests.clear();
            digests.extend(keys.iter().map(|key| function.digest(key)));
            return self.filter.contains_many(digests, *now, answers);
        }
        answers.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            if self.contains_key(key) {
                answers.set(i);
            }
        }
    }

    /// [`Entry::contains_many`] for digests.
    pub fn contains_digests(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.filter.contains_many(digests, now, found);
    }
}
