//! Sorted digests in a file.

use super::record::Run;
use super::rice::Encoder;
use crate::Error;
use mayhap::Digest;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Writes digests, in order and distinct, from an offset on, by a function of bytes and offset.
pub(crate) fn write_run(
    digests: &[Digest],
    at: u64,
    write: impl Fn(&[u8], u64) -> Result<(), Error>,
) -> Result<Run, Error> {
    let count = digests.len() as u64;
    let (mut encoder, mut hasher, mut end) = (Encoder::new(count), Xxh3::new(), at);
    let mut write = |bytes: &mut Vec<u8>| {
        hasher.update(bytes);
        write(bytes, end)?;
        end += bytes.len() as u64;
        bytes.clear();
        Ok::<(), Error>(())
    };
    for digest in digests {
        encoder.push(digest.get());
        if encoder.bytes().len() >= WRITE_BYTES {
            write(encoder.bytes())?;
        }
    }
    encoder.finish();
    write(encoder.bytes())?;
    Ok(Run { count, at, bytes: end - at, checksum: hasher.digest() })
}
