//! Bytes of a file, taken from the front.

use super::ReplayError;
use mayhap::Digest;

/// Bytes from the front, each length compared with the bytes that are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ReplayError> {
        let Some((bytes, rest)) = self.0.split_at_checked(count) else {
            return Err(ReplayError::Short { announced: count, left: self.0.len() });
        };
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, ReplayError> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, ReplayError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes(std::array::from_fn(|i| bytes[i])))
    }

    pub(super) fn u64(&mut self) -> Result<u64, ReplayError> {
        let bytes = self.bytes(8)?;
        Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[i])))
    }

    pub(super) fn key(&mut self) -> Result<&'a [u8], ReplayError> {
        let bytes = self.u32()? as usize;
        self.bytes(bytes)
    }

    pub(super) fn digests(
        &mut self,
        count: usize,
        out: &mut Vec<Digest>,
    ) -> Result<(), ReplayError> {
        let bytes = self.bytes(count.saturating_mul(8))?;
        out.clear();
        out.extend(
            bytes.as_chunks::<8>().0.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes))),
        );
        Ok(())
    }
}
