//! The digests of all keys that a filter is built from, to be kept beside it.

use crate::args::SizeArgs;
use crate::error::Error;
use crate::memory;
use mayhap::Digest;
use mayhap_sets::LayoutName;
use std::path::PathBuf;

/// Initial room, in digests.
const FIRST_DIGESTS: usize = 1 << 16;

/// Digests in memory: 8 to 16 bytes for each distinct one.
#[derive(Debug)]
pub struct Kept {
    digests: Vec<Digest>,
    /// The length at which repeats are removed.
    full_at: usize,
    max_bytes: u64,
}

impl Kept {
    /// Empty; holds at most this many bytes.
    pub fn new(max_bytes: u64) -> Self {
        Self { digests: Vec::new(), full_at: FIRST_DIGESTS, max_bytes }
    }

    /// For a new filter, of ours or of another system.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for kinds that do not have all their keys for good.
    pub fn for_new(size: &SizeArgs, is_foreign: bool) -> Result<Self, Error> {
        let name = match size.layout {
            _ if is_foreign => "the filter of another system",
            None | Some(LayoutName::Blocked | LayoutName::Standard | LayoutName::Scalable) => {
                return Ok(Self::new(size.max_bytes()));
            }
            Some(layout) => layout.name(),
        };
        Err(Error::usage(
            format!(
                "--keep-digests is given, but not for --layout blocked, standard or scalable: \
                 {name} does not keep them"
            ),
            "omit --keep-digests, or choose one of these layouts",
        ))
    }

    /// Adds digests, which may be there already.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuchMemory`], [`Error::Filter`].
    pub fn extend(&mut self, digests: &[Digest]) -> Result<(), Error> {
        if self.digests.len() + digests.len() > self.full_at {
            self.digests.sort_unstable();
            self.digests.dedup();
            if self.digests.len() + digests.len() > self.full_at / 2 {
                self.full_at = self.full_at.max(digests.len()) * 2;
            }
        }
        let bytes = self.full_at as u64 * size_of::<Digest>() as u64;
        memory::check(bytes, self.max_bytes)?;
        let more = self.full_at - self.digests.len();
        let no_memory = |_| mayhap::Error::OutOfMemory { bytes };
        self.digests.try_reserve_exact(more).map_err(no_memory)?;
        self.digests.extend_from_slice(digests);
        Ok(())
    }

    /// All of them.
    pub fn into_digests(self) -> Vec<Digest> {
        self.digests
    }
}

/// The digests beside a filter that is about to be replaced; they go with it.
#[derive(Debug)]
pub struct ReplacedDigests(Option<PathBuf>);

impl ReplacedDigests {
    /// Looks whether there are any.
    pub fn of(path: &std::path::Path) -> Self {
        let kept = mayhap_store::KeptDigests::open(path).ok().flatten();
        Self(kept.map(|kept| kept.path().to_path_buf()))
    }

    /// Says that they are gone, if so.
    pub fn say(self, talk: crate::io::messages::Reporter) {
        if let Some(path) = self.0.filter(|path| !path.exists()) {
            let path = path.display();
            talk.say(&format!("{path}: removed, since its filter was replaced"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_take_no_memory_and_no_digest_is_lost() {
        let digests = |numbers: std::ops::Range<u64>| numbers.map(Digest::new).collect::<Vec<_>>();
        let mut kept = Kept::new(1 << 20);
        for _ in 0..100 {
            kept.extend(&digests(0..10_000)).unwrap();
        }
        for from in (0..60_000).step_by(1000) {
            kept.extend(&digests(from..from + 1000)).unwrap();
        }
        let mut all = kept.into_digests();
        assert!(all.capacity() <= 1 << 17, "{}", all.capacity());
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, digests(0..60_000));
    }

    #[test]
    fn more_digests_than_there_is_memory_for_are_refused() {
        let mut kept = Kept::new(1 << 19);
        let all: Vec<Digest> = (0..1 << 16).map(Digest::new).collect();
        kept.extend(&all[..1 << 15]).unwrap();
        let error = kept.extend(&[&all[..], &all].concat()).unwrap_err();
        assert!(matches!(error, Error::TooMuchMemory { limit: 0x8_0000, .. }), "{error}");
    }
}
