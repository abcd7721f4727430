//! Keys → digests, in chunks.

use super::{CHUNK, Sink};
use crate::cut::Cutting;
use crate::error::Error;
use mayhap::{Digest, DigestFunction};

/// Collects the digests of keys and hands them to `consume`, [`CHUNK`] at a time.
pub(crate) struct DigestSink<F> {
    function: DigestFunction,
    /// Gives texts the form of the filter's keys, where it differs.
    cutting: Option<Cutting>,
    /// Whether the input already consists of digests.
    are_digests: bool,
    digests: Vec<Digest>,
    consume: F,
}

impl<F: FnMut(&[Digest]) -> Result<(), Error> + Send> DigestSink<F> {
    /// Every chunk but the last has [`CHUNK`] digests.
    pub(crate) fn new(function: DigestFunction, cutting: Option<Cutting>, consume: F) -> Self {
        let digests = Vec::with_capacity(CHUNK);
        Self { function, cutting, are_digests: false, digests, consume }
    }

    /// Same as [`DigestSink::new`], for digests in place of keys.
    pub(crate) fn of_digests(consume: F) -> Self {
        Self { are_digests: true, ..Self::new(DigestFunction::default(), None, consume) }
    }

    /// Hands over the last chunk.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let consumed = if self.digests.is_empty() { Ok(()) } else { (self.consume)(&self.digests) };
        self.digests.clear();
        consumed
    }

    fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.digests.len() == CHUNK { self.finish() } else { Ok(()) }
    }
}

impl<F: FnMut(&[Digest]) -> Result<(), Error> + Send> Sink for DigestSink<F> {
    #[inline(always)]
    fn bytes(&mut self, key: &[u8]) -> Result<(), Error> {
        self.digests.push(self.function.digest(key));
        self.flush_if_full()
    }

    #[inline(always)]
    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        let Some(cutting) = &mut self.cutting else { return self.bytes(text) };
        self.digests.push(self.function.digest(cutting.cut(text)?));
        self.flush_if_full()
    }

    fn integers(&mut self, mut keys: &[u64]) -> Result<(), Error> {
        while !keys.is_empty() {
            let begun = self.digests.len();
            let (now, rest) = keys.split_at(keys.len().min(CHUNK - begun));
            self.digests.resize(begun + now.len(), Digest::default());
            if self.are_digests {
                self.digests[begun..].copy_from_slice(bytemuck::cast_slice(now));
            } else {
                self.function.digest_batch(now, &mut self.digests[begun..]);
            }
            self.flush_if_full()?;
            keys = rest;
        }
        Ok(())
    }

    fn takes_digests(&self) -> bool {
        self.are_digests
    }
}
