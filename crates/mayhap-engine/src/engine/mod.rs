//! The filters of a folder with the threads that look after them.
//!
//! `error.rs` is why they could not be opened or closed.

mod error;

pub use error::{CloseError, OpenError};

use crate::durable::{self, DataFolder, Log, Progress, Report, Threads};
use crate::keyspace::{self, Files, Keyspace, Recovery, Upkeep};
use crate::work::Work;
use mayhap::{DigestFunction, SecretKey};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Filters by name, kept in a folder or in memory alone, with the threads that look after them.
///
/// They write to the disk what the policy promises, make checkpoints, allocate layers of growing
/// filters before they are needed, sweep filters that have expired and notice changed files. The
/// threads end with [`Engine::close`], or when this is dropped; then there is no last checkpoint,
/// and what was acknowledged is in the log all the same.
#[derive(Debug)]
pub struct Engine {
    /// The filters.
    pub keyspace: Arc<Keyspace>,
    /// The write-ahead log that keeps them; `None` in memory.
    pub log: Option<Arc<Log>>,
    upkeep: Upkeep,
    threads: Option<Threads>,
}

/// Options for the owner of a folder.
#[derive(Debug, Clone)]
pub struct Options {
    /// The limits of the filters.
    pub limits: keyspace::Options,
    /// How safe they are.
    pub log: durable::Options,
}

/// Events reported while a folder is opened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Recovery is in progress; some hundred times a second.
    Recovering(Progress),
    /// The data folder is open and its filters are restored.
    Recovered {
        /// The folder.
        folder: &'a Path,
        /// The findings in it.
        report: &'a Report,
        /// The number of filters, without those of `import/`.
        filters: usize,
        /// How long it took.
        time: Duration,
    },
}

impl Options {
    /// The defaults of both, with this key for keyed filters and for the folder's digests.
    pub fn new(secret_key: SecretKey) -> Self {
        let log = durable::Options::new(DigestFunction::sip13(secret_key));
        Self { limits: keyspace::Options::new(secret_key), log }
    }
}

impl Engine {
    /// Opens a folder, or makes one, with the key that it has and the default [`Options`].
    ///
    /// # Errors
    ///
    /// [`OpenError`]; nothing runs then.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let folder = DataFolder::open(folder)?;
        let options = Options::new(folder.secret_key()?);
        Self::open_with(folder, options, &|_| {})
    }

    /// [`Engine::open`] with other options, reporting what it does; `report` is called from several
    /// threads.
    ///
    /// Filters come back whatever the limits are. Then the files in the folder's `import/` are
    /// served by their names ([`keyspace::Files::serve_folder`]).
    ///
    /// # Errors
    ///
    /// As [`Engine::open`]; an error of the data if the folder was made with another key.
    pub fn open_with(
        folder: DataFolder,
        options: Options,
        report: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Self, OpenError> {
        let began = Instant::now();
        let path = folder.path().to_path_buf();
        let recovery = Recovery::new(options.limits);
        let progress = |progress| report(Event::Recovering(progress));
        let (log, found) = Log::open(folder, options.log, &recovery, &progress)?;
        let keyspace = recovery.finish(found.next_id).map_err(OpenError::Restore)?;
        let (filters, time) = (keyspace.len(), began.elapsed());
        report(Event::Recovered { folder: &path, report: &found, filters, time });
        Files::serve_folder(&keyspace, &found.import)
            .map_err(durable::Error::io("list", found.import))?;
        Self::start(keyspace, Some(log))
    }

    /// Filters that end with the process.
    ///
    /// # Errors
    ///
    /// [`OpenError::Thread`].
    pub fn in_memory(limits: keyspace::Options) -> Result<Self, OpenError> {
        Self::start(Keyspace::new(limits), None)
    }

    fn start(keyspace: Keyspace, log: Option<Arc<Log>>) -> Result<Self, OpenError> {
        let keyspace = Arc::new(keyspace);
        let threads = log.as_ref().map(|log| Threads::start(log, keyspace.clone())).transpose();
        let threads = threads.map_err(OpenError::thread("the threads of the log"))?;
        let upkeep = Upkeep::start(&keyspace, log.clone());
        let upkeep = upkeep.map_err(OpenError::thread("the threads that look after filters"))?;
        Ok(Self { keyspace, log, upkeep, threads })
    }

    /// The work of a thread that begins now.
    pub fn work(&self) -> Work {
        Work::new(self.log.as_ref())
    }

    /// Ends the threads, makes what was written safe and closes the log; if `save`, after a last
    /// checkpoint.
    ///
    /// # Errors
    ///
    /// [`CloseError`], the first one; everything has ended all the same.
    pub fn close(self, save: bool) -> Result<(), CloseError> {
        let Self { keyspace, log, upkeep, threads } = self;
        drop(upkeep);
        let saved = match log {
            Some(log) if save => {
                log.checkpoint(&*keyspace).map(|saves| log::info!("checkpoint: {saves}"))
            }
            _ => Ok(()),
        };
        let closed = threads.map_or(Ok(()), Threads::close);
        saved?;
        Ok(closed?)
    }
}
