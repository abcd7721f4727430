//! The working state of a turn of a thread.

use crate::clock::unix_ms;
use crate::durable::{Log, Recorder, Refused, Unwritten};
use crate::words::Words;
use mayhap::{Bitmap, Digest, DigestFunction};
use std::sync::Arc;

/// Keys that are collected before they are digested side by side.
const KEYS: usize = 64;

/// The working state of a turn of a thread: reused memory, and changes to write before the answers
/// may be sent.
#[derive(Debug, Default)]
pub struct Work {
    /// The changes of this turn; `None` without a data folder.
    pub recorder: Option<Recorder>,
    /// The digests of the current request.
    pub digests: Vec<Digest>,
    /// The answers to it.
    pub answers: Bitmap,
    /// For a removal: the keys that stay, since all their counters are saturated.
    pub staying: Bitmap,
    /// Milliseconds since 1970 at the beginning of the turn.
    pub now: u64,
}

impl Work {
    /// For turns that begin now and record in this log, if there is one.
    pub fn new(log: Option<&Arc<Log>>) -> Self {
        Self { recorder: log.map(Log::recorder), now: unix_ms(), ..Self::default() }
    }

    /// A turn begins that may change filters: to be called before it looks one up. Nothing happens
    /// if it has begun, until it is committed.
    #[inline]
    pub fn begin(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begin();
        }
    }

    /// Ends the turn: writes what it has changed, and waits until that is as safe as the
    /// [`Policy`](crate::durable::Policy) promises. Only then may be said what depends on it.
    ///
    /// # Errors
    ///
    /// [`Refused`]: nothing of it may be said; the filters are as the folder has them.
    pub fn commit(&mut self) -> Result<(), Refused> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        match recorder.commit() {
            Ok(None) => Ok(()),
            Ok(Some(ticket)) => recorder.log().wait(ticket),
            Err(Unwritten { why, until }) => {
                if let Some(number) = until {
                    recorder.log().wait_undone(number);
                }
                Err(why)
            }
        }
    }

    /// Computes [`Work::digests`] of these keys.
    pub fn digest(&mut self, keys: Words<'_>, function: DigestFunction) {
        self.digests.clear();
        self.digests.resize(keys.len(), Digest::default());
        let mut few: [&[u8]; KEYS] = [&[]; KEYS];
        let mut keys = keys.iter();
        for digests in self.digests.chunks_mut(KEYS) {
            let few = &mut few[..digests.len()];
            few.iter_mut().zip(&mut keys).for_each(|(place, key)| *place = key);
            function.digest_batch(few, digests);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_computed_for_each_key_in_order() {
        let bytes: Vec<u8> = (0..=255).collect();
        let places: Vec<(u32, u32)> = (0..200).map(|i| (i, i + i * 7 % 50)).collect();
        let function = DigestFunction::sip13(mayhap::SecretKey::new([3; 16]));
        let mut work = Work::default();
        for count in [0, 1, 8, 63, 64, 65, 200] {
            let keys = Words::new(&bytes, &places[..count]);
            work.digest(keys, function);
            assert!(work.digests.iter().copied().eq(keys.iter().map(|key| function.digest(key))));
        }
    }
}
