//! Decoders of compressed files.

use super::Compression::{self, Bzip2, Gzip, Lz4, Xz, Zstd};
use super::gzip::Gzips;
use super::lz4::Lz4Frames;
use bzip2::bufread::MultiBzDecoder;
use lzma_rust2::XzReader;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Compressed bytes that are read at once.
const BUFFER_BYTES: usize = 128 << 10;

/// Memory for the dictionary of an xz file: `xz -9` makes one of 64 MiB; a file that needs more
/// is refused before it is allocated.
const XZ_MEMORY_KIB: u32 = 256 << 10;

impl Compression {
    /// The bytes that were compressed. Bytes after them that are no data, and no damage either, are
    /// added to `padding`.
    ///
    /// # Errors
    ///
    /// The errors of the system, for lack of memory.
    pub(super) fn decoder(
        self,
        compressed: impl Read + Send + 'static,
        padding: &Arc<AtomicU64>,
    ) -> io::Result<Box<dyn Read + Send>> {
        let buffered = BufReader::with_capacity(BUFFER_BYTES, compressed);
        Ok(match self {
            Gzip => Box::new(Gzips::new(buffered, Arc::clone(padding))),
            Zstd => Box::new(zstd::Decoder::with_buffer(buffered)?),
            Bzip2 => Box::new(MultiBzDecoder::new(buffered)),
            Xz => Box::new(Xzs(XzReader::new_mem_limit(buffered, true, XZ_MEMORY_KIB))),
            Lz4 => Box::new(Lz4Frames::new(buffered)),
        })
    }
}

/// Gives more details about a dictionary that is too large than "out of memory".
struct Xzs<R: Read>(XzReader<R>);

impl<R: Read> Read for Xzs<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => io::Error::other(format!(
                "its dictionary needs more than {} MiB; pipe it in: xz -dc FILE",
                XZ_MEMORY_KIB >> 10
            )),
            _ => error,
        })
    }
}
