//! The filters at the start of a server: those of its data folder, or none.

use super::StartError;
use crate::config::{Config, check_data_key, read_key_file_of};
use crate::durable::{self, DataFolder, Log, Progress, Report};
use crate::keyspace::{self, Keyspace, Recovery};
use mayhap::{DigestFunction, SecretKey};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a server reports while it starts.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Recovery goes on; some hundred times a second.
    Recovering(Progress),
    /// The data folder is open and its filters are back.
    Recovered {
        /// The folder.
        folder: &'a Path,
        /// What was found in it.
        report: &'a Report,
        /// How many filters there are, without those of `import/`.
        filters: usize,
        /// How long it took.
        time: Duration,
    },
}

/// The filters, and their log if they are kept.
pub(super) fn open(
    config: &Config,
    report: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(Keyspace, Option<Arc<Log>>), StartError> {
    let key = read_key_file_of(config).map_err(StartError::Key)?;
    let Some(data) = &config.data else {
        let key = key.map_or_else(random_key, Ok)?;
        return Ok((Keyspace::new(limits(config, key)), None));
    };
    let folder = DataFolder::open(data)?;
    let key = if let Some(key) = key {
        key
    } else {
        check_data_key(data, config.insecure_key_file).map_err(StartError::Key)?;
        folder.secret_key()?
    };
    let began = Instant::now();
    let recovery = Recovery::new(limits(config, key));
    let progress = |progress| report(Event::Recovering(progress));
    let (log, found) = Log::open(folder, log_options(config, key), &recovery, &progress)?;
    let keyspace = Keyspace::restored(recovery, found.next_id).map_err(StartError::Restore)?;
    let (filters, time) = (keyspace.len(), began.elapsed());
    report(Event::Recovered { folder: data, report: &found, filters, time });
    let listing =
        |source| durable::Error::Io { action: "list", path: found.import.clone(), source };
    keyspace.serve_folder(&found.import).map_err(listing)?;
    Ok((keyspace, Some(log)))
}

fn limits(config: &Config, secret_key: SecretKey) -> keyspace::Options {
    keyspace::Options {
        max_filter_bytes: config.max_filter_bytes.or(config.max_memory).unwrap_or(u64::MAX),
        max_memory: config.max_memory.unwrap_or(u64::MAX),
        max_name_bytes: config.max_name_bytes as usize,
        ..keyspace::Options::new(secret_key)
    }
}

fn log_options(config: &Config, secret_key: SecretKey) -> durable::Options {
    let mut options = durable::Options::new(DigestFunction::sip13(secret_key));
    options.policy = config.appendfsync;
    options.segment_bytes = config.checkpoint_bytes;
    let interval = Duration::from_millis(config.checkpoint_interval_ms);
    options.checkpoint_every = Some(interval).filter(|interval| !interval.is_zero());
    options
}

fn random_key() -> Result<SecretKey, StartError> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|error| StartError::Random(io::Error::other(error)))?;
    Ok(SecretKey::new(key))
}
