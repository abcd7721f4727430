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

/// An open input, decompressed if need be.
pub struct Input {
    name: String,
    is_stream: bool,
    mark_bytes: usize,
    /// Zero bytes behind what was compressed so far.
    padding: Arc<AtomicU64>,
    /// Bytes taken from the file so far.
    raw_bytes: Arc<AtomicU64>,
    stop: Option<Arc<Stop>>,
    reader: Box<dyn Read + Send>,
}

/// Refuses files that are no lists, before anything is done for them. Pipes are looked at when they
/// are read.
///
/// # Errors
///
/// Those of [`Input::open`].
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
    /// Opens a source, and looks at its first bytes for how it is compressed and at its first
    /// 64 KiB for what it is; of a pipe only at its first line, unless that has a NUL or begins as
    /// UTF-16 or data of a known kind do.
    ///
    /// # Errors
    ///
    /// [`Error::NotAList`]; [`Error::Io`]; [`Error::Stopped`] if a signal came while waiting for
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
        let raw_bytes = Arc::new(AtomicU64::new(0));
        let bytes = Arc::clone(&raw_bytes);
        let raw = Raw { file, is_stream, stop: stop.clone(), bytes };
        let begun = begin(raw, (source, is_stream, total_bytes), separator, reading)?;
        let Begun { mark_bytes, padding, reader } = begun;
        Ok(Self { name: source.name(), is_stream, mark_bytes, padding, raw_bytes, stop, reader })
    }

    /// [`Input::open`] of bytes in memory, as a file or as a pipe whose bytes are all there: for
    /// tests and fuzzers.
    ///
    /// # Errors
    ///
    /// As [`Input::open`].
    pub fn of_bytes(
        bytes: Vec<u8>,
        is_stream: bool,
        separator: u8,
        reading: &Reading,
    ) -> Result<Self, Error> {
        let total_bytes = (!is_stream).then_some(bytes.len() as u64);
        Self::of_reader(Cursor::new(bytes), (is_stream, total_bytes), separator, reading)
    }

    /// [`Input::open`] of what a reader returns, in the pieces in which it does.
    pub(crate) fn of_reader(
        bytes: impl Read + Send + 'static,
        (is_stream, total_bytes): (bool, Option<u64>),
        separator: u8,
        reading: &Reading,
    ) -> Result<Self, Error> {
        let source = Source::Stdin;
        let begun = begin(bytes, (&source, is_stream, total_bytes), separator, reading)?;
        let Begun { mark_bytes, padding, reader } = begun;
        let (name, raw_bytes) = (source.name(), Arc::default());
        Ok(Self { name, is_stream, mark_bytes, padding, raw_bytes, stop: None, reader })
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

    /// Zero bytes behind what was compressed, once that is read to its end.
    pub fn padding_bytes(&self) -> u64 {
        // ORDERING: Relaxed. Read by the thread that adds to it.
        self.padding.load(Ordering::Relaxed)
    }

    /// Bytes taken from the file so far, as they stand there.
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

/// What comes from a source: all of it, decompressed, and what is known of it.
struct Begun {
    mark_bytes: usize,
    padding: Arc<AtomicU64>,
    reader: Box<dyn Read + Send>,
}

/// Looks at the first bytes of what comes from a source.
fn begin(
    raw: impl Read + Send + 'static,
    (source, is_stream, total_bytes): (&Source, bool, Option<u64>),
    separator: u8,
    reading: &Reading,
) -> Result<Begun, Error> {
    let padding = Arc::default();
    if reading.raw {
        return Ok(Begun { mark_bytes: 0, padding, reader: Box::new(raw) });
    }
    let name = source.name();
    let opened = Opened::of(raw, (is_stream, separator), &padding);
    let opened = opened.map_err(Error::io("read", &name))?;
    let Opened { start, is_whole, is_compressed, rest } = opened;
    let total_bytes = total_bytes.filter(|_| !is_compressed);
    // However much there is: what a list is must not depend on when its bytes came.
    let bytes = if is_stream { &start[..judged_bytes(&start, separator)] } else { &start };
    let is_whole = is_whole && bytes.len() == start.len();
    let mark_bytes = sniff(&Sample { bytes, is_whole, total_bytes, separator });
    let is_stdin = *source == Source::Stdin;
    let mark_bytes = mark_bytes.map_err(|what| Error::NotAList { name, is_stdin, what })?;
    Ok(Begun { mark_bytes, padding, reader: Box::new(Cursor::new(start).chain(rest)) })
}

/// The file under the decoder.
struct Raw {
    file: File,
    is_stream: bool,
    stop: Option<Arc<Stop>>,
    bytes: Arc<AtomicU64>,
}

impl Raw {
    /// Waits until a read would not, or a signal comes.
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
        // ORDERING: Relaxed. Only the reading thread looks at it.
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// The first bytes of what a file holds, decompressed, and what comes after them.
struct Opened {
    start: Vec<u8>,
    is_whole: bool,
    is_compressed: bool,
    rest: Box<dyn Read + Send>,
}

impl Opened {
    /// Reads what it takes to know what it is: 64 KiB of a file, of a pipe the first line alone, so
    /// that none waits for one that comes later.
    fn of(
        mut raw: impl Read + Send + 'static,
        (is_stream, separator): (bool, u8),
        padding: &Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let mut start = Vec::new();
        let is_enough = |start: &[u8]| {
            !Compression::is_undecided(start) && (start.len() >= MAGIC_BYTES || is_stream)
        };
        let is_whole = fill(&mut raw, &mut start, is_enough)?;
        let compression = Compression::of(&start);
        let is_enough = |start: &[u8]| is_stream && first_line(start, separator).is_some();
        let (mut rest, is_whole): (Box<dyn Read + Send>, bool) = match compression {
            None => (Box::new(raw), is_whole),
            Some(compression) => {
                let compressed = Cursor::new(std::mem::take(&mut start)).chain(raw);
                (compression.decoder(compressed, padding)?, false)
            }
        };
        let is_whole = is_whole || fill(&mut rest, &mut start, is_enough)?;
        Ok(Self { start, is_whole, is_compressed: compression.is_some(), rest })
    }
}

/// The bytes of the first line of a pipe, if it is complete and decides what the pipe is: where it
/// may begin data, or its line feed be half a character of UTF-16, it does not.
fn first_line(start: &[u8], separator: u8) -> Option<usize> {
    let end = memchr::memchr(separator, start)?;
    let has_mark = start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF");
    let has_nul = separator != 0 && memchr::memchr(0, &start[..end]).is_some();
    let is_undecided = has_mark || has_nul || may_begin_data(&start[..=end], separator);
    (!is_undecided).then_some(end + 1)
}

/// How many of the first bytes of a pipe decide what it is.
fn judged_bytes(start: &[u8], separator: u8) -> usize {
    first_line(start, separator).unwrap_or(start.len()).min(SAMPLE_BYTES)
}

/// Reads on until there is enough, at most [`SAMPLE_BYTES`]; whether that was all.
fn fill(
    reader: &mut impl Read,
    start: &mut Vec<u8>,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    let mut done = start.len();
    start.resize(SAMPLE_BYTES.max(done), 0);
    let mut is_whole = false;
    while done < SAMPLE_BYTES && !(done > 0 && is_enough(&start[..done])) {
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

/// Reads, again after signals that end nothing.
fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
