//! The slowest requests, for `SLOWLOG`.
//!
//! Only of those executed outside of the loops: a request in a loop takes at most a millisecond.

use crate::Session;
use crate::lock::lock;
use mayhap_engine::Words;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Requests that are kept.
const LENGTH: usize = 128;
/// Faster ones are not kept: ten milliseconds.
const LEAST: Duration = Duration::from_millis(10);
/// Words of a request that are kept, and bytes of a word.
const MAX_WORDS: usize = 32;
const MAX_WORD_BYTES: usize = 128;

/// A request that took long.
#[derive(Debug, Clone)]
pub(crate) struct Slow {
    pub(crate) id: u64,
    /// Seconds since 1970.
    pub(crate) at: u64,
    pub(crate) took: Duration,
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) client: Vec<u8>,
}

/// The requests that took longest, the newest last.
#[derive(Debug, Default)]
pub struct SlowLog(Mutex<Requests>);

#[derive(Debug, Default)]
struct Requests {
    next_id: u64,
    all: VecDeque<Slow>,
}

impl SlowLog {
    /// Records a request, if it took long enough. Passwords are not kept.
    pub(crate) fn note(&self, words: Words<'_>, session: &Session, now: u64, took: Duration) {
        if took < LEAST {
            return;
        }
        let mut requests = lock(&self.0);
        let id = requests.next_id;
        requests.next_id += 1;
        if requests.all.len() >= LENGTH {
            requests.all.pop_front();
        }
        let (at, words) = (now / 1000, shown(words));
        let (address, client) = (session.address, session.info.name.clone());
        requests.all.push_back(Slow { id, at, took, words, address, client });
    }

    /// The newest, newest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<Slow> {
        lock(&self.0).all.iter().rev().take(count).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).all.len()
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).all.clear();
    }
}

fn shown(words: Words<'_>) -> Vec<Vec<u8>> {
    let name = words.get(0).unwrap_or_default();
    if name.eq_ignore_ascii_case(b"auth") || name.eq_ignore_ascii_case(b"hello") {
        return vec![name.to_vec(), b"(redacted)".to_vec()];
    }
    let cut = |word: &[u8]| word[..word.len().min(MAX_WORD_BYTES)].to_vec();
    let mut shown: Vec<Vec<u8>> = words.iter().take(MAX_WORDS).map(cut).collect();
    if let Some(more) = words.len().checked_sub(MAX_WORDS).filter(|&more| more > 0) {
        shown[MAX_WORDS - 1] = format!("... ({} more arguments)", more + 1).into_bytes();
    }
    shown
}
