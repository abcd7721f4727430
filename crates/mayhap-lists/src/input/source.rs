//! The sources: files and standard input, by name.

use super::{Compression, Error, Stop};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The source of bytes.
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

    /// The bytes still to be read, if it is a regular file. Opens no file: a pipe that is opened
    /// and closed again has lost its writer.
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

    /// Bytes of all sources together, if all are regular files; checks that all exist.
    ///
    /// # Errors
    ///
    /// The errors of [`Source::size`].
    pub fn total_size(sources: &[Self]) -> Result<Option<u64>, Error> {
        let mut total = Some(0u64);
        for source in sources {
            let size = source.size()?;
            total = total.zip(size).map(|(total, size)| total.saturating_add(size));
        }
        Ok(total)
    }

    /// Whether it is a file that can be examined before it is read; standard input is not.
    pub(super) fn is_regular_file(&self) -> bool {
        matches!(self, Self::Path(path) if path.is_file())
    }

    /// The position of the next read; the same for all handles of a redirected standard input.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], for pipes.
    pub fn position(&self) -> Result<u64, Error> {
        self.open()?.stream_position().map_err(Error::io("read", &self.name()))
    }

    /// Makes standard input continue from there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], for pipes.
    pub fn seek(&self, position: u64) -> Result<(), Error> {
        let seeked = self.open()?.seek(SeekFrom::Start(position));
        seeked.map(|_| ()).map_err(Error::io("read", &self.name()))
    }

    /// The number of its lines, if it is a regular file that is not compressed or, if `raw` is set,
    /// whatever its bytes are; its position does not change.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Stopped`].
    pub fn count_lines(
        &self,
        (separator, raw): (u8, bool),
        stop: Option<&Stop>,
    ) -> Result<Option<u64>, Error> {
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
            if std::mem::take(&mut first) && !raw && Compression::of(bytes).is_some() {
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
