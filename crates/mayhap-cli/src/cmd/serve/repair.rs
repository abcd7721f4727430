//! `mayhap serve --repair`: a damaged data folder becomes one that opens.

use crate::error::Error;
use crate::hints::message_of_data;
use crate::io::messages::Reporter;
use mayhap_engine::durable::{DataFolder, Repaired, repair};
use mayhap_server::config::{Config, read_key_file_of};
use mayhap_units::number::format_bytes;
use std::path::Path;

/// Drops the damaged parts and reports them.
pub(super) fn run(config: &Config, talk: Reporter) -> Result<(), Error> {
    let Some(data) = &config.data else {
        return Err(Error::usage("no folder to repair is given", "name it: --data DIR"));
    };
    if !data.is_dir() {
        // Opening it would make it.
        let problem = format!("{}: no such folder", data.display());
        return Err(Error::usage(problem, "name the data folder of the server"));
    }
    let key = read_key_file_of(config);
    let key = key.map_err(|error| Error::usage(error.to_string(), "name the right one"))?;
    let repaired = DataFolder::open(data).and_then(|folder| {
        folder.check_key(key)?;
        repair(&folder)
    });
    let repaired = repaired.map_err(|error| {
        Error::usage(message_of_data(&error), "mayhap man serve lists what a repair cannot do")
    })?;
    say(talk, data, &repaired);
    Ok(())
}

fn say(talk: Reporter, data: &Path, repaired: &Repaired) {
    if repaired.copies.is_empty() && repaired.lost_filters.is_empty() {
        talk.say(&format!("{}: no damage found, nothing was changed", data.display()));
        return;
    }
    for name in &repaired.lost_filters {
        talk.say(&format!("lost with its image: filter {:?}", String::from_utf8_lossy(name)));
    }
    if repaired.lost_log_bytes > 0 {
        let bytes = format_bytes(repaired.lost_log_bytes);
        talk.say(&format!("removed from the log, with the keys in it: {bytes}"));
    }
    for copy in &repaired.copies {
        talk.say(&format!("copy of the original: {}", copy.display()));
    }
}
