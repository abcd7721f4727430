//! How a file is compressed, by its first bytes, and its decoder.

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

/// A way of compressing.
///
/// All decoders stream, so that a bomb takes time and no memory: gzip 32 KiB, bzip2 4 MB, lz4
/// 16 MiB, zstd 128 MiB (its own limit), xz 256 MiB. Files that are several compressed files one
/// after another are read as one; damage and truncation are errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// bzip2.
    Bzip2,
    /// The .xz file format.
    Xz,
    /// The LZ4 frame format.
    Lz4,
}

use Compression::{Bzip2, Gzip, Lz4, Xz, Zstd};

/// First bytes. `?` in a mask stands for a byte that is checked elsewhere.
const MAGICS: &[(&[u8], Compression)] = &[
    (b"\x1F\x8B\x08", Gzip),
    (b"\x28\xB5\x2F\xFD", Zstd),
    (b"\xFD7zXZ\0", Xz),
    (b"\x04\x22\x4D\x18", Lz4),
    // The level is a digit, followed by the first block, or the end of an empty file.
    (b"BZh?\x31\x41\x59\x26\x53\x59", Bzip2),
    (b"BZh?\x17\x72\x45\x38\x50\x90", Bzip2),
];

/// The most bytes that [`Compression::of`] reads.
pub(super) const MAGIC_BYTES: usize = 10;

impl Compression {
    /// How a file that starts with these bytes is compressed, if it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_lists::Compression;
    ///
    /// assert_eq!(Compression::of(b"\x1F\x8B\x08\0..."), Some(Compression::Gzip));
    /// assert_eq!(Compression::of(b"BZh9 is text"), None);
    /// ```
    pub fn of(start: &[u8]) -> Option<Self> {
        MAGICS
            .iter()
            .find(|(magic, _)| start.len() >= magic.len() && fits(start, magic))
            .map(|m| m.1)
    }

    /// Whether more bytes after these could make them the start of a compressed file.
    pub(super) fn is_undecided(start: &[u8]) -> bool {
        MAGICS.iter().any(|(magic, _)| start.len() < magic.len() && fits(start, magic))
    }

    /// Its common name.
    pub fn name(self) -> &'static str {
        match self {
            Gzip => "gzip",
            Zstd => "zstd",
            Bzip2 => "bzip2",
            Xz => "xz",
            Lz4 => "lz4",
        }
    }

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

/// Whether the shorter of the two is a prefix of the longer one.
fn fits(start: &[u8], magic: &[u8]) -> bool {
    start.iter().zip(magic).all(|(byte, &wanted)| match wanted {
        b'?' => matches!(byte, b'1'..=b'9'),
        wanted => *byte == wanted,
    })
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
