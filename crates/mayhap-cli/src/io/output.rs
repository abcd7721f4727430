//! Lines to stdout or a file, in large pieces.

use crate::error::Error;
use mayhap_lists::Source;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 128 << 10;

/// A buffered output that is never flushed per line.
#[derive(Debug)]
pub struct Output {
    writer: BufWriter<File>,
    name: String,
}

impl Output {
    /// Standard output.
    ///
    /// # Errors
    ///
    /// [`Error::SameFile`] if it is one of the `inputs`; [`Error::Io`].
    pub fn stdout(inputs: &[Source]) -> Result<Self, Error> {
        let name = "standard output";
        let file = io::stdout().as_fd().try_clone_to_owned().map_err(Error::io("open", name))?;
        let file = File::from(file);
        refuse_input(name, file.metadata().ok(), inputs)?;
        Ok(Self::new(file, name.into()))
    }

    /// A new file; an existing one is replaced only if `force` is set.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if it exists, [`Error::SameFile`] if it is one of the `inputs`;
    /// [`Error::Io`].
    pub fn create(path: &Path, force: bool, inputs: &[Source]) -> Result<Self, Error> {
        let name = path.display().to_string();
        let there = path.metadata().ok();
        // A device or a pipe loses nothing.
        let force = force || there.as_ref().is_some_and(|there| !there.is_file());
        if force {
            refuse_input(&name, there, inputs)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).truncate(true).create(true);
        let file = match options.create_new(!force).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(already_there(&name));
            }
            result => result.map_err(Error::io("create", &name))?,
        };
        Ok(Self::new(file, name))
    }

    fn new(file: File, name: String) -> Self {
        Self { writer: BufWriter::with_capacity(BUFFER_BYTES, file), name }
    }

    /// Writes, at some time.
    ///
    /// # Errors
    ///
    /// [`Error::BrokenPipe`], [`Error::Io`].
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.writer.write_all(bytes).map_err(|error| Error::io("write", &self.name)(error))
    }

    /// Writes everything, now.
    ///
    /// # Errors
    ///
    /// [`Error::BrokenPipe`], [`Error::Io`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush().map_err(|error| Error::io("write", &self.name)(error))
    }
}

/// Refuses to write a file that is still to be read: the lines would be lost, or never end. Checks
/// again after [`crate::files::check`], as names may refer to other files since.
fn refuse_input(name: &str, output: Option<Metadata>, inputs: &[Source]) -> Result<(), Error> {
    let Some(output) = output.filter(Metadata::is_file) else { return Ok(()) };
    for input in inputs {
        let metadata = input.open()?.metadata().map_err(Error::io("read", &input.name()))?;
        if (metadata.dev(), metadata.ino()) == (output.dev(), output.ino()) {
            return Err(Error::SameFile {
                first: input.name(),
                second: name.into(),
                is_read: true,
            });
        }
    }
    Ok(())
}

/// The error for an output that exists.
pub fn already_there(name: &str) -> Error {
    Error::usage(format!("{name} exists already"), "name another file, or replace it with --force")
}
