//! The filters at the start of a server: from its data folder, or none.

use super::StartError;
use crate::config::{Config, check_data_key, read_key_file_of};
use mayhap::SecretKey;
use mayhap_engine::durable::DataFolder;
use mayhap_engine::{Engine, Event, OpenError, Options};
use std::io;
use std::time::Duration;

/// The filters, which are kept if there is a data folder.
pub(super) fn open(
    config: &Config,
    report: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Engine, StartError> {
    let key = read_key_file_of(config)?;
    let Some(data) = &config.data else {
        let key = key.map_or_else(random_key, Ok)?;
        return Ok(Engine::in_memory(options(config, key).limits)?);
    };
    let folder = DataFolder::open(data).map_err(OpenError::from)?;
    let key = if let Some(key) = key {
        key
    } else {
        check_data_key(data, config.insecure_key_file)?;
        folder.secret_key().map_err(OpenError::from)?
    };
    Ok(Engine::open_with(folder, options(config, key), report)?)
}

fn options(config: &Config, secret_key: SecretKey) -> Options {
    let mut options = Options::new(secret_key);
    let limits = &mut options.limits;
    limits.max_filter_bytes = config.max_filter_bytes.or(config.max_memory).unwrap_or(u64::MAX);
    limits.max_memory = config.max_memory.unwrap_or(u64::MAX);
    limits.max_name_bytes = config.max_name_bytes as usize;
    options.log.policy = config.appendfsync;
    options.log.segment_bytes = config.checkpoint_bytes;
    let interval = Duration::from_millis(config.checkpoint_interval_ms);
    options.log.checkpoint_every = Some(interval).filter(|interval| !interval.is_zero());
    options
}

fn random_key() -> Result<SecretKey, StartError> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|error| StartError::Random(io::Error::other(error)))?;
    Ok(SecretKey::new(key))
}
