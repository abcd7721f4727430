//! Bytes as the file of a configuration.
//!
//! Oracles: an error says something and names the place; of a configuration that was read, every
//! setting is told as a text that is taken again and means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_fuzz::limited_to;
use mayhap_server::Config;
use mayhap_server::config::{SETTINGS, Sources};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fuzz_target!(|data: &[u8]| {
    // Passwords are hashed slowly on purpose, and their files are anywhere.
    if data.windows(4).any(|four| four.eq_ignore_ascii_case(b"user"))
        || data.windows(8).any(|eight| eight.eq_ignore_ascii_case(b"password"))
    {
        return;
    }
    let path = file();
    std::fs::write(path, data).unwrap();
    let sources = Sources { file: Some(path.into()), ..Sources::default() };
    let config = match limited_to(64 * data.len() + (8 << 20), || sources.load()) {
        Ok(loaded) => loaded.config,
        Err(error) => return assert!(error.to_string().len() > 10, "{error}"),
    };
    let said = told(&config);
    let flags = said.iter().filter(|(_, text)| !text.is_empty());
    let flags = flags.map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
    let again = Sources { flags, ..Sources::default() }.load();
    let again = again.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(told(&again.config), said);
});

fn told(config: &Config) -> Vec<(&'static str, String)> {
    SETTINGS.iter().map(|setting| (setting.name, (setting.get)(config))).collect()
}

/// A file in memory, where the system has such.
fn file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        parent.join(format!("mayhap-fuzz-config-{}.toml", std::process::id()))
    })
}
