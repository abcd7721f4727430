//! An input while it is read.

use super::compression::MAGIC_BYTES;
use super::error::StoppedBySignal;
use super::sniff::{SAMPLE_BYTES, may_begin_data, sniff};
use super::{Compression, Error, NotAList, Reading, Sample, Source, Stop};
use mayhap_keys::KeyOptions;
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An open input, decompressed if necessary.
pub struct Input {
    name: String,
    is_stream: bool,
    mark_bytes: usize,
    /// The number of zero bytes after the compressed data so far.
    padding: Arc<AtomicU64>,
    /// Bytes taken from the file so far.
    raw_bytes: Arc<AtomicU64>,
    stop: Option<Arc<Stop>>,
    reader: Box<dyn Read + Send>,
}

/// Refuses files that are no lists, before any work is done for them. Pipes are checked when they
/// are read.
///
/// # Errors
///
/// The errors of [`Input::open`].
pub fn look(sources: &[Source], options: &KeyOptions, reading: &Reading) -> Result<(), Error> {
    for source in sources {
        if source.is_regular_file() {
            Input::open(source, options.separator(), reading, None)?;
        }
    }
    Ok(())
}

/// Whether a file is a filter, of mayhap or of another system, and so no list of keys.
pub fn is_filter(path: &Path, reading: &Reading) -> bool {
    let source = Source::Path(path.into());
    let opened = source.is_regular_file().then(|| Input::open(&source, b'\n', reading, None));
    matches!(opened, Some(Err(Error::NotAList { what: NotAList::Filter { .. }, .. })))
}

impl Input {
    /// Opens a source, and determines its compression from its first bytes and its contents from
    /// its first 64 KiB; for a pipe only from its first line, unless that has a NUL or begins like
    /// UTF-16 or data of a known kind.
    ///
    /// # Errors
    ///
    /// [`Error::NotAList`]; [`Error::Io`]; [`Error::Stopped`] if a signal arrived while waiting for
    /// those bytes.
    pub fn open(
        source: &Source,
        separator: u8,
        reading: &Reading,
        stop: Option<Arc<Stop>>,
    ) -> Result<Self, Error> {
        let file = source.open()?;
        let metadata = file.metadata().map_err(Error::io("read", &source.name()))?;
        let (is_stream, total_bytes) = (!metadata.is_file(), source.size()?);
        let raw_bytes = Arc::default();
        let raw = Raw { file, is_stream, stop: stop.clone(), bytes: Arc::clone(&raw_bytes) };
        let begun = Self::begin(raw, (source, is_stream, total_bytes), separator, reading)?;
        Ok(Self { raw_bytes, stop, ..begun })
    }

    /// Like [`Input::open`], for bytes in memory, as a file or as a pipe whose bytes are all
    /// available: for tests and fuzzers.
    ///
    /// # Errors
    ///
    /// Same as [`Input::open`].
    pub fn of_bytes(
        bytes: Vec<u8>,
        is_stream: bool,
        separator: u8,
        reading: &Reading,
    ) -> Result<Self, Error> {
        let total_bytes = (!is_stream).then_some(bytes.len() as u64);
        Self::of_reader(Cursor::new(bytes), (is_stream, total_bytes), separator, reading)
    }

    /// Like [`Input::open`], for the bytes of a reader, in the pieces that it returns.
    pub(crate) fn of_reader(
        bytes: impl Read + Send + 'static,
        (is_stream, total_bytes): (bool, Option<u64>),
        separator: u8,
        reading: &Reading,
    ) -> Result<Self, Error> {
        Self::begin(bytes, (&Source::Stdin, is_stream, total_bytes), separator, reading)
    }

    /// Examines the first bytes from a source.
    fn begin(
        raw: impl Read + Send + 'static,
        (source, is_stream, total_bytes): (&Source, bool, Option<u64>),
        separator: u8,
        reading: &Reading,
    ) -> Result<Self, Error> {
        let (name, padding) = (source.name(), Arc::default());
        let (mark_bytes, reader): (_, Box<dyn Read + Send>) = if reading.raw {
            (0, Box::new(raw))
        } else {
            // Of a small file no more room than it needs, and one byte to see its end.
            let room = total_bytes.map_or(SAMPLE_BYTES as u64, |bytes| bytes.saturating_add(1));
            let room = room.min(SAMPLE_BYTES as u64) as usize;
            let opened = Opened::of(raw, (is_stream, separator), room, &padding);
            let Opened { start, is_whole, is_compressed, rest } =
                opened.map_err(Error::io("read", &name))?;
            let total_bytes = total_bytes.filter(|_| !is_compressed);
            // However much is available: the judgement of a list must not depend on the arrival
            // times of its bytes.
            let bytes = if is_stream { &start[..judged_bytes(&start, separator)] } else { &start };
            let is_whole = is_whole && bytes.len() == start.len();
            let judged = sniff(&Sample { bytes, is_whole, total_bytes, separator });
            let (is_stdin, refused) = (*source == Source::Stdin, name.clone());
            let refused = |what| Error::NotAList { name: refused, is_stdin, what };
            (judged.map_err(refused)?, Box::new(Cursor::new(start).chain(rest)))
        };
        let (raw_bytes, stop) = (Arc::default(), None);
        Ok(Self { name, is_stream, mark_bytes, padding, raw_bytes, stop, reader })
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may pause: a pipe or a terminal, and no file.
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// The bytes of a byte-order mark before its first line.
    pub fn mark_bytes(&self) -> usize {
        self.mark_bytes
    }

    /// The number of zero bytes after the compressed data, once that is read to its end.
    pub fn padding_bytes(&self) -> u64 {
        // ORDERING: Relaxed. Read by the thread that adds to it.
        self.padding.load(Ordering::Relaxed)
    }

    /// The number of bytes taken from the file so far, before decompression.
    pub fn raw_bytes(&self) -> u64 {
        // ORDERING: Relaxed. Read by the thread that adds to it.
        self.raw_bytes.load(Ordering::Relaxed)
    }

    /// Reads some bytes; 0 at the end.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also for damaged or truncated compressed data; [`Error::Stopped`].
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        if let Some(signal) = self.stop.as_ref().and_then(|stop| stop.signal()) {
            return Err(Error::Stopped { signal });
        }
        read_some(&mut self.reader, buffer).map_err(Error::io("read", &self.name))
    }
}

/// The file under the decoder.
struct Raw {
    file: File,
    is_stream: bool,
    stop: Option<Arc<Stop>>,
    bytes: Arc<AtomicU64>,
}

impl Raw {
    /// Waits until a read would not block, or a signal arrives.
    fn wait(&self, stop: &Stop) -> io::Result<()> {
        loop {
            let mut fds = [
                PollFd::new(&self.file, PollFlags::IN),
                PollFd::from_borrowed_fd(stop.wake(), PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let ready = !fds[0].revents().is_empty();
            if let Some(signal) = stop.signal() {
                return Err(io::Error::other(StoppedBySignal(signal)));
            }
            if ready {
                return Ok(());
            }
        }
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let (true, Some(stop)) = (self.is_stream, &self.stop) {
            self.wait(stop)?;
        }
        let length = self.file.read(buffer)?;
        // ORDERING: Relaxed. Only the reading thread reads it.
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// The first decompressed bytes of a file, and the reader of the rest.
struct Opened {
    start: Vec<u8>,
    is_whole: bool,
    is_compressed: bool,
    rest: Box<dyn Read + Send>,
}

impl Opened {
    /// Reads enough to judge it: 64 KiB of a file, only the first line of a pipe, so that no line
    /// waits for a later one.
    fn of(
        mut raw: impl Read + Send + 'static,
        (is_stream, separator): (bool, u8),
        room: usize,
        padding: &Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let mut start = Vec::new();
        let is_enough = |start: &[u8]| {
            !Compression::is_undecided(start) && (start.len() >= MAGIC_BYTES || is_stream)
        };
        let is_whole = fill(&mut raw, &mut start, room, is_enough)?;
        let compression = Compression::of(&start);
        let is_enough = |start: &[u8]| is_stream && first_line(start, separator).is_some();
        let (mut rest, is_whole, room): (Box<dyn Read + Send>, _, _) = match compression {
            None => (Box::new(raw), is_whole, room),
            Some(compression) => {
                let compressed = Cursor::new(std::mem::take(&mut start)).chain(raw);
                (compression.decoder(compressed, padding)?, false, SAMPLE_BYTES)
            }
        };
        let is_whole = is_whole || fill(&mut rest, &mut start, room, is_enough)?;
        Ok(Self { start, is_whole, is_compressed: compression.is_some(), rest })
    }
}

/// The bytes of the first line of a pipe, if it is complete and decides whether the pipe is a list:
/// it does not where it may begin data, or its line feed may be half a character of UTF-16.
fn first_line(start: &[u8], separator: u8) -> Option<usize> {
    let end = memchr::memchr(separator, start)?;
    let has_mark = start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF");
    let has_nul = separator != 0 && memchr::memchr(0, &start[..end]).is_some();
    let is_undecided = has_mark || has_nul || may_begin_data(&start[..=end], separator);
    (!is_undecided).then_some(end + 1)
}

/// The number of first bytes of a pipe that decide whether it is a list.
fn judged_bytes(start: &[u8], separator: u8) -> usize {
    first_line(start, separator).unwrap_or(start.len()).min(SAMPLE_BYTES)
}

/// Reads on until there is enough, at most `room` bytes; returns whether that was all.
fn fill(
    reader: &mut impl Read,
    start: &mut Vec<u8>,
    room: usize,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    let mut done = start.len();
    start.resize(room.max(done), 0);
    let mut is_whole = false;
    while done < room && !(done > 0 && is_enough(&start[..done])) {
        let length = read_some(reader, &mut start[done..])?;
        is_whole = length == 0;
        done += length;
        if is_whole {
            break;
        }
    }
    start.truncate(done);
    Ok(is_whole)
}

/// Reads, and retries after signals that do not end the run.
fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
