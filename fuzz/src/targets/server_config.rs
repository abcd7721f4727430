//! Bytes as the file of a configuration.
//!
//! Oracles: an error has a message and names the place; every setting of a configuration that was
//! read is shown as a text that reads back as the same, and users keep their names and passwords.
use mayhap_fuzz::limited_to;
use mayhap_server::Config;
use mayhap_server::config::{SETTINGS, Sources};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub(super) fn run(data: &[u8]) {
    // Files of passwords are anywhere; with an escape their key may be written in other bytes.
    let has = |word: &[u8]| data.windows(word.len()).any(|part| part == word);
    if has(b"password_file") || has(b"password") && has(b"\\") {
        return;
    }
    let path = file();
    std::fs::write(path, data).unwrap();
    let sources = Sources { file: Some(path.into()), ..Sources::default() };
    let config = match limited_to(64 * data.len() + (8 << 20), || sources.load()) {
        Ok(loaded) => loaded.config,
        Err(error) => return assert!(error.to_string().len() > 10, "{error}"),
    };
    check_users(&config);
    if !config.users.names().is_empty() {
        // Flags name no users, without whom some settings are refused.
        return;
    }
    let said = told(&config);
    let flags = said.iter().filter(|(_, text)| !text.is_empty());
    let flags = flags.map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
    let again = Sources { flags, ..Sources::default() }.load();
    let again = again.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(told(&again.config), said);
}

/// User names are distinct, and no user is let in with an empty password.
fn check_users(config: &Config) {
    let users = &config.users;
    let names = users.names();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert_eq!(users.asks_password(), !names.is_empty());
    let nobody = users.anonymous();
    assert_eq!(nobody.read || nobody.write || nobody.admin, names.is_empty());
    for name in names {
        let name = name.as_bytes();
        // No user may have an empty password. A hash takes up to 256 MiB to check.
        if !users.is_slow(name, b"") {
            assert!(users.login(name, b"").is_none());
        }
    }
}

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
