//! Gzip members one after another, and the zero bytes that tapes and disks leave after them.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Decodes all members of a file. Zero bytes after the last one are counted and left out, as by
/// gzip(1); anything else there is an error.
pub(super) struct Gzips<R: BufRead> {
    /// `None` at the end, and after an error.
    member: Option<GzDecoder<R>>,
    padding: Arc<AtomicU64>,
}

impl<R: BufRead> Gzips<R> {
    pub(super) fn new(file: R, padding: Arc<AtomicU64>) -> Self {
        Self { member: Some(GzDecoder::new(file)), padding }
    }

    /// The member that begins here; `None` at the end of the file.
    fn next_member(&self, mut file: R) -> io::Result<Option<GzDecoder<R>>> {
        let mut zeros = 0;
        loop {
            let bytes = match file.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let (is_end, some) = (bytes.is_empty(), bytes.iter().take_while(|b| **b == 0).count());
            if is_end || some == 0 {
                if is_end {
                    // ORDERING: Relaxed. Only the reading thread reads it.
                    self.padding.fetch_add(zeros, Ordering::Relaxed);
                    return Ok(None);
                }
                if zeros == 0 && bytes[0] == 0x1F {
                    return Ok(Some(GzDecoder::new(file)));
                }
                let what = "what follows the compressed data is not gzip";
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            zeros += some as u64;
            file.consume(some);
        }
    }
}

impl<R: BufRead> Read for Gzips<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            if let Some(member) = self.member.take() {
                self.member = self.next_member(member.into_inner())?;
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(bytes: &[u8]) -> io::Result<(Vec<u8>, u64)> {
        let (mut decoded, padding) = (Vec::new(), Arc::default());
        Gzips::new(bytes, Arc::clone(&padding)).read_to_end(&mut decoded)?;
        Ok((decoded, padding.load(Ordering::Relaxed)))
    }

    #[test]
    fn zeros_behind_the_last_member_are_counted_and_anything_else_is_an_error() {
        let both = [member(b"one\n"), member(b""), member(b"two\n")].concat();
        assert_eq!(decode(&both).unwrap(), (b"one\ntwo\n".to_vec(), 0));
        for zeros in [1, 512, 10_240] {
            let padded = [both.clone(), vec![0; zeros]].concat();
            assert_eq!(decode(&padded).unwrap(), (b"one\ntwo\n".to_vec(), zeros as u64));
            // A member after zeros, or other bytes, may be a part of the list.
            for more in [member(b"three\n"), b"x".to_vec()] {
                assert!(decode(&[padded.clone(), more].concat()).is_err(), "{zeros}");
            }
        }
        assert!(decode(&[both.clone(), b"garbage".to_vec()].concat()).is_err());
        for end in 1..both.len() {
            let cut = decode(&both[..end]);
            let is_boundary = [member(b"one\n").len(), both.len() - member(b"two\n").len()];
            assert_eq!(cut.is_ok(), is_boundary.contains(&end), "{end}");
        }
    }
}
