//! What one turn of a loop thread works with.

use crate::durable::Recorder;
use crate::metrics::Counts;
use crate::resp::Words;
use mayhap::{Bitmap, Digest, DigestFunction};

/// Keys whose places are collected before they are digested side by side.
const KEYS: usize = 64;

/// What one turn of a loop thread works with: memory that is used again, and what is to be written
/// before the answers may go.
#[derive(Debug, Default)]
pub struct Turn {
    /// What this turn changes; none without a data folder.
    pub recorder: Option<Recorder>,
    /// The digests of the request at hand.
    pub digests: Vec<Digest>,
    /// The answers to it.
    pub answers: Bitmap,
    /// Of a removal: the keys that stay, since all their counters are saturated.
    pub staying: Bitmap,
    /// What is counted in this turn; the loop gives it to its lane at the end.
    pub counts: Counts,
    /// Whose lane that is: [`crate::metrics::Metrics::claim`].
    pub lane: usize,
    /// Milliseconds since 1970 at the beginning of the turn.
    pub now: u64,
    /// Set by a command whose answer rests on what this turn records: it may go only once that is
    /// as safe as the policy promises, and becomes an error if it cannot be.
    pub wrote: bool,
    /// Set by a command whose answer says that an operation was carried out, which is in the log:
    /// it may go only once that is as safe as the policy promises.
    pub operated: bool,
    /// Of a transaction that [`Turn::wrote`]: where in the answers the first one begins that does,
    /// and how many there are from there on.
    pub wrote_from: Option<(usize, u32)>,
    /// Nanoseconds of work that were carried out, as the rows of the commands put it.
    pub work: u64,
    /// Bytes of answers of the transaction at hand.
    pub answered: u64,
    /// When a login may be tried that is [`crate::command::After::Later`], in milliseconds since
    /// 1970; 0 for at once.
    pub not_before: u64,
    /// Other connections wait for the end of this turn: what takes long is not done, but
    /// [`crate::command::After::Later`].
    pub hurried: bool,
}

impl Turn {
    /// Makes [`Turn::digests`] those of these keys.
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
    fn the_digests_are_those_of_each_key_in_order() {
        let bytes: Vec<u8> = (0..=255).collect();
        let places: Vec<(u32, u32)> = (0..200).map(|i| (i, i + i * 7 % 50)).collect();
        let function = DigestFunction::sip13(mayhap::SecretKey::new([3; 16]));
        let mut turn = Turn::default();
        for count in [0, 1, 8, 63, 64, 65, 200] {
            let keys = Words::new(&bytes, &places[..count]);
            turn.digest(keys, function);
            assert!(turn.digests.iter().copied().eq(keys.iter().map(|key| function.digest(key))));
        }
    }
}
