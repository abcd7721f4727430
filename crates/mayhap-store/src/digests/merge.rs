//! The distinct digests of all runs, in order.

use super::contents::{CHUNK_BYTES, damaged};
use super::record::Run;
use super::rice::Decoder;
use crate::Error;
use crate::disk::{DiskFile, read_exact_at};
use mayhap::Digest;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Digests that are handed over together.
const BATCH: usize = 1024;
/// Runs of at most this many bytes are sorted together in memory, so that many small ones do not
/// need a buffer each.
const SMALL_BYTES: u64 = 1 << 20;

/// Passes all distinct digests to `each`, in ascending order, in batches of at most 1024.
///
/// # Errors
///
/// [`Error::DigestsDamaged`], possibly after digests of the damaged run were passed; [`Error::Io`];
/// [`Error::Format`] if memory runs out; the errors of `each`.
pub(crate) fn for_each<E: From<Error>>(
    file: &dyn DiskFile,
    path: &Path,
    runs: &[Run],
    mut each: impl FnMut(&[Digest]) -> Result<(), E>,
) -> Result<(), E> {
    let (small, large): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.bytes <= SMALL_BYTES);
    let mut sources = vec![Source::Sorted(sorted(file, path, &small)?.into_iter())];
    sources.extend(large.iter().map(|run| Source::Run(Box::new(Reader::new(file, path, **run)))));
    let mut heads = BinaryHeap::with_capacity(sources.len());
    for (i, source) in sources.iter_mut().enumerate() {
        heads.extend(source.next()?.map(|digest| Reverse((digest, i))));
    }
    let (mut batch, mut last) = (Vec::with_capacity(BATCH), None);
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((digest, i)) = *head;
        match sources[i].next()? {
            Some(next) => *head = Reverse((next, i)),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
        if last.replace(digest) == Some(digest) {
            continue;
        }
        batch.push(Digest::new(digest));
        if batch.len() == BATCH {
            each(&batch)?;
            batch.clear();
        }
    }
    if batch.is_empty() { Ok(()) } else { each(&batch) }
}

/// The digests of many runs, sorted.
fn sorted(file: &dyn DiskFile, path: &Path, runs: &[&Run]) -> Result<Vec<u64>, Error> {
    // A run of few bytes has few digests, so this is at most three times the bytes of the file.
    let count = runs.iter().map(|run| run.count as usize).sum::<usize>();
    let mut digests = Vec::new();
    if digests.try_reserve_exact(count).is_err() {
        let bytes = count as u64 * 8;
        return Err(Error::format(path)(mayhap::Error::OutOfMemory { bytes }));
    }
    for &&run in runs {
        let mut reader = Reader::new(file, path, run);
        while let Some(digest) = reader.next()? {
            digests.push(digest);
        }
    }
    digests.sort_unstable();
    Ok(digests)
}

/// Ascending digests.
enum Source<'a> {
    Sorted(std::vec::IntoIter<u64>),
    Run(Box<Reader<'a>>),
}

impl Source<'_> {
    fn next(&mut self) -> Result<Option<u64>, Error> {
        match self {
            Self::Sorted(digests) => Ok(digests.next()),
            Self::Run(reader) => reader.next(),
        }
    }
}

/// The digests of a run, which is checked at its end.
struct Reader<'a> {
    file: &'a dyn DiskFile,
    path: &'a Path,
    run: Run,
    /// Bytes read so far.
    read: u64,
    /// The number of digests still to be read.
    left: u64,
    decoder: Decoder,
    hasher: Xxh3,
}

impl<'a> Reader<'a> {
    fn new(file: &'a dyn DiskFile, path: &'a Path, run: Run) -> Self {
        let (decoder, hasher) = (Decoder::new(run.count), Xxh3::new());
        Self { file, path, run, read: 0, left: run.count, decoder, hasher }
    }

    fn next(&mut self) -> Result<Option<u64>, Error> {
        if self.left == 0 {
            let is_whole = self.read == self.run.bytes && self.decoder.is_at_end();
            let is_sound = is_whole && self.hasher.digest() == self.run.checksum;
            return if is_sound { Ok(None) } else { Err(self.damaged()) };
        }
        loop {
            if let Some(digest) = self.decoder.next().map_err(|_| self.damaged())? {
                self.left -= 1;
                return Ok(Some(digest));
            }
            if self.read == self.run.bytes {
                return Err(self.damaged());
            }
            let chunk = self.decoder.refill();
            chunk.resize((self.run.bytes - self.read).min(CHUNK_BYTES) as usize, 0);
            read_exact_at(self.file, chunk, self.run.at + self.read)
                .map_err(Error::io("read", self.path))?;
            self.hasher.update(chunk);
            self.read += chunk.len() as u64;
        }
    }

    fn damaged(&self) -> Error {
        damaged(self.path, self.run.offset())
    }
}
