//! The requests that took longest, for `SLOWLOG`.
//!
//! Of those that are carried out beside the loops: what stays in a loop takes a millisecond.

use crate::Session;
use crate::resp::Words;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Requests that are kept.
const LENGTH: usize = 128;
/// Shorter ones are not: ten milliseconds.
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
pub struct SlowLog(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    next_id: u64,
    all: VecDeque<Slow>,
}

impl SlowLog {
    /// Notes a request, if it took long enough. Passwords are not kept.
    pub(crate) fn note(&self, words: Words<'_>, session: &Session, now: u64, took: Duration) {
        if took < LEAST {
            return;
        }
        let mut kept = self.lock();
        let id = kept.next_id;
        kept.next_id += 1;
        if kept.all.len() >= LENGTH {
            kept.all.pop_front();
        }
        let (address, client) = (session.address, session.name.clone());
        kept.all.push_back(Slow { id, at: now / 1000, took, words: shown(words), address, client });
    }

    /// The newest, newest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<Slow> {
        self.lock().all.iter().rev().take(count).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    pub(crate) fn clear(&self) {
        self.lock().all.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A list that is whole after every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
