//! How a file is compressed, by its first bytes.

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
#[cfg(feature = "files")]
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
    #[cfg(feature = "files")]
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
}

/// Whether the shorter of the two is a prefix of the longer one.
fn fits(start: &[u8], magic: &[u8]) -> bool {
    start.iter().zip(magic).all(|(byte, &wanted)| match wanted {
        b'?' => matches!(byte, b'1'..=b'9'),
        wanted => *byte == wanted,
    })
}
