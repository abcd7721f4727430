//! Files, pipes, `.gz` and `.zst` as one stream of bytes.

use crate::error::{Error, StoppedBySignal};
use crate::signals::Stop;
use flate2::bufread::MultiGzDecoder;
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const GZIP_MAGIC: &[u8] = b"\x1F\x8B\x08";
const ZSTD_MAGIC: &[u8] = b"\x28\xB5\x2F\xFD";

/// Compressed bytes that are read at once.
const DECODER_BUFFER_BYTES: usize = 128 << 10;

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `-`, or no file named.
    Stdin,
    /// A file.
    Path(PathBuf),
}

impl Source {
    /// The sources that file arguments name; none means stdin.
    pub fn from_paths(paths: &[PathBuf]) -> Vec<Self> {
        if paths.is_empty() {
            return vec![Self::Stdin];
        }
        let source = |path: &PathBuf| match path.as_path() {
            path if path == Path::new("-") => Self::Stdin,
            path => Self::Path(path.into()),
        };
        paths.iter().map(source).collect()
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "standard input".into(),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Opens the file, or a second handle of stdin.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn open(&self) -> Result<File, Error> {
        match self {
            Self::Stdin => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            Self::Path(path) => File::open(path),
        }
        .map_err(Error::io("open", &self.name()))
    }

    /// The bytes still to be read, if it is a regular file. Opens no file: a pipe that is opened and
    /// closed again has lost its writer.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: also the check before any work that every input exists.
    pub fn size(&self) -> Result<Option<u64>, Error> {
        let (metadata, position) = match self {
            Self::Path(path) => (path.metadata().map_err(Error::io("open", &self.name()))?, 0),
            Self::Stdin => {
                let mut file = self.open()?;
                let metadata = file.metadata().map_err(Error::io("read", &self.name()))?;
                (metadata, file.stream_position().unwrap_or(0))
            }
        };
        if metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(Error::io("read", &self.name())(source));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        Ok(Some(metadata.len().saturating_sub(position)))
    }

    /// Where the next read begins; the same for all handles of a redirected standard input.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], for pipes.
    pub fn position(&self) -> Result<u64, Error> {
        self.open()?.stream_position().map_err(Error::io("read", &self.name()))
    }

    /// Makes standard input go on from there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], for pipes.
    pub fn seek(&self, position: u64) -> Result<(), Error> {
        let seeked = self.open()?.seek(SeekFrom::Start(position));
        seeked.map(|_| ()).map_err(Error::io("read", &self.name()))
    }

    /// How many lines it has, if it is a regular file of plain text; its position stays.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Stopped`].
    pub fn count_lines(&self, separator: u8, stop: Option<&Stop>) -> Result<Option<u64>, Error> {
        if self.size()?.is_none() {
            return Ok(None);
        }
        let mut file = self.open()?;
        let mut position = file.stream_position().map_err(Error::io("read", &self.name()))?;
        let mut buffer = vec![0; 128 << 10];
        let (mut lines, mut last, mut first) = (0, separator, true);
        loop {
            stop.map_or(Ok(()), Stop::check)?;
            let length =
                file.read_at(&mut buffer, position).map_err(Error::io("read", &self.name()))?;
            let bytes = &buffer[..length];
            if std::mem::take(&mut first) && is_compressed(bytes) {
                return Ok(None);
            }
            let Some(&end) = bytes.last() else {
                return Ok(Some(lines + u64::from(last != separator)));
            };
            last = end;
            lines += memchr::memchr_iter(separator, bytes).count() as u64;
            position += length as u64;
        }
    }
}

/// Whether a file that starts with these bytes is compressed, in a way that is known here.
pub fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(GZIP_MAGIC) || start.starts_with(ZSTD_MAGIC)
}

/// An open input, decompressed if need be.
pub struct Input {
    name: String,
    raw: Arc<Raw>,
    reader: Box<dyn Read + Send>,
}

impl Input {
    /// Opens a source and looks at its first bytes for the magic of gzip or zstd.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Stopped`] if a signal came while waiting for those bytes.
    pub fn open(source: &Source, stop: Option<Arc<Stop>>) -> Result<Self, Error> {
        let name = source.name();
        let file = source.open()?;
        let regular = file.metadata().map_err(Error::io("read", &name))?.is_file();
        let raw = Arc::new(Raw { file, regular, stop, bytes: AtomicU64::new(0) });
        let reader = decoder(RawReader(Arc::clone(&raw))).map_err(Error::io("read", &name))?;
        Ok(Self { name, raw, reader })
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes taken from the file so far, as they stand there.
    pub fn raw_bytes(&self) -> u64 {
        // ORDERING: Relaxed. Read by the thread that adds to it.
        self.raw.bytes.load(Ordering::Relaxed)
    }

    /// Reads some bytes; 0 at the end.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also for damaged or truncated compressed data; [`Error::Stopped`].
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        if let Some(signal) = self.raw.stop.as_ref().and_then(|stop| stop.signal()) {
            return Err(Error::Stopped { signal });
        }
        loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(Error::io("read", &self.name)),
            }
        }
    }
}

/// The file under the decoder.
struct Raw {
    file: File,
    regular: bool,
    stop: Option<Arc<Stop>>,
    bytes: AtomicU64,
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

struct RawReader(Arc<Raw>);

impl Read for RawReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let raw = &*self.0;
        if let (false, Some(stop)) = (raw.regular, &raw.stop) {
            raw.wait(stop)?;
        }
        let length = (&raw.file).read(buffer)?;
        raw.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// Chooses the decoder by the first bytes, reading no more of a live pipe than it takes to tell.
fn decoder(mut raw: RawReader) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
    let undecided = |head: &[u8]| {
        [GZIP_MAGIC, ZSTD_MAGIC]
            .iter()
            .any(|magic| magic.len() > head.len() && magic.starts_with(head))
    };
    while undecided(&head) {
        let mut byte = [0];
        match raw.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => head.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let (gzip, zstd) = (head == GZIP_MAGIC, head == ZSTD_MAGIC);
    let whole = Cursor::new(head).chain(raw);
    Ok(if gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(DECODER_BUFFER_BYTES, whole)))
    } else if zstd {
        Box::new(zstd::Decoder::with_buffer(BufReader::with_capacity(DECODER_BUFFER_BYTES, whole))?)
    } else {
        Box::new(whole)
    })
}
