//! Defaults, file, environment, flags: the later wins. And what would be unsafe is refused.

use super::error::{ConfigError, Origin};
use super::{Config, DEFAULT_USER, Rights, Users, file, settings};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// What an operator said, by where.
#[derive(Debug, Default)]
pub struct Sources {
    /// `--config FILE`.
    pub file: Option<PathBuf>,
    /// The environment; only `MAYHAP_…` is looked at.
    pub environment: Vec<(String, String)>,
    /// `--name value`, by the name of the setting.
    pub flags: Vec<(String, String)>,
    /// `--password-file FILE`.
    pub password_file: Option<PathBuf>,
}

/// A configuration, and what is odd about it.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What is allowed but hardly meant.
    pub warnings: Vec<String>,
}

/// A longer file holds no password.
const MAX_PASSWORD_BYTES: u64 = 4096;
/// What else the project asks the environment, none of it a setting.
const NOT_SETTINGS: [&str; 4] =
    ["MAYHAP_REQUIRE_SERVERS", "MAYHAP_REQUIRE_TOOLS", "MAYHAP_SOAK", "MAYHAP_CONFIG"];

impl Sources {
    /// Puts all together.
    ///
    /// # Errors
    ///
    /// The first setting that is unknown or wrong, with its place, or what is unsafe as a whole.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let mut config = Config::default();
        let mut warnings = Vec::new();
        let mut users = Users::new().map_err(ConfigError::whole)?;
        if let Some(path) = &self.file {
            for (name, text, origin) in file::read(path, &mut users)? {
                apply(&mut config, name, &text, origin, name)?;
            }
        }
        let mut passwords = Vec::new();
        for (variable, text) in &self.environment {
            let Some(name) = variable.strip_prefix("MAYHAP_") else { continue };
            let name = name.to_ascii_lowercase();
            if name == "password" {
                passwords.push(text.clone().into_bytes());
            } else if name == "password_file" {
                passwords.push(read_password("password_file", text).map_err(|problem| {
                    let (origin, key) = (Origin::Environment, variable.clone());
                    ConfigError { origin, key, value: None, problem }
                })?);
            } else if settings::find(&name).is_some() {
                apply(&mut config, &name, text, Origin::Environment, variable)?;
            } else if !NOT_SETTINGS.contains(&variable.as_str()) {
                warnings.push(format!("the environment has {variable}, which is not a setting"));
            }
        }
        for (name, text) in &self.flags {
            let flag = format!("--{}", name.replace('_', "-"));
            apply(&mut config, name, text, Origin::Flag, &flag)?;
        }
        if let Some(path) = &self.password_file {
            let path = path.display().to_string();
            passwords.push(read_password("password_file", &path).map_err(|problem| {
                let (origin, key) = (Origin::Flag, "--password-file".into());
                ConfigError { origin, key, value: None, problem }
            })?);
        }
        // The last that was said counts; one in the file as well would be a second.
        if let Some(password) = passwords.pop() {
            users.add(DEFAULT_USER, &password, Rights::ALL).map_err(ConfigError::whole)?;
        }
        config.users = Arc::new(users);
        check(&config, &mut warnings)?;
        Ok(Loaded { config, warnings })
    }
}

/// Sets one setting; `key` is its name as it was written.
pub(crate) fn apply(
    config: &mut Config,
    name: &str,
    text: &str,
    origin: Origin,
    key: &str,
) -> Result<(), ConfigError> {
    let set = |config: &mut Config| match settings::find(name) {
        Some(setting) => (setting.set)(config, text.trim()),
        None => Err("is not a setting".into()),
    };
    set(config).map_err(|problem| ConfigError {
        origin,
        key: key.into(),
        value: Some(text.into()),
        problem,
    })
}

/// A password from a file (without the line's end) or an environment variable.
pub(super) fn read_password(key: &str, source: &str) -> Result<Vec<u8>, String> {
    if key == "password_env" {
        return std::env::var(source)
            .map(String::into_bytes)
            .map_err(|_| format!("names {source}, which the environment does not have"));
    }
    let mut password = mayhap_store::read_bytes(source.as_ref(), MAX_PASSWORD_BYTES)
        .map_err(|error| format!("cannot be read: {error}"))?;
    while matches!(password.last(), Some(b'\n' | b'\r')) {
        password.pop();
    }
    if password.is_empty() {
        return Err(format!("names {source}, which is empty"));
    }
    Ok(password)
}

/// Refuses what contradicts itself or lets strangers in.
pub(super) fn check(config: &Config, warnings: &mut Vec<String>) -> Result<(), ConfigError> {
    let asks_password = config.users.asks_password();
    let mut places = vec![("bind", config.bind)];
    if config.http_port.is_some() {
        places.push(("http_bind", config.http_bind()));
    }
    for (name, address) in places {
        if is_loopback(address) {
            continue;
        }
        if !asks_password && !config.insecure_no_password {
            return Err(ConfigError {
                origin: Origin::Whole,
                key: name.into(),
                value: Some(address.to_string()),
                problem: "admits other machines, but there is no password; set one with \
                          --password-file FILE, MAYHAP_PASSWORD or [[user]] in the file, or admit \
                          anybody with --insecure-no-password"
                    .into(),
            });
        }
        for user in config.users.with_short_passwords() {
            warnings.push(format!(
                "the password of user {user:?} has fewer than 16 bytes, and other machines may \
                 guess it: {name} = {address}"
            ));
        }
        if !asks_password {
            warnings.push(format!("anyone who reaches {address} may do everything"));
        } else if config.tls_cert.is_none() {
            warnings.push(format!(
                "passwords and keys cross the network in plain text: {name} = {address} without \
                 tls_cert"
            ));
        }
    }
    if config.tls_cert.is_some() != config.tls_key.is_some() {
        let (there, absent) = if config.tls_cert.is_some() {
            ("tls_cert", "tls_key")
        } else {
            ("tls_key", "tls_cert")
        };
        return Err(ConfigError::whole(format!(
            "{there} is given without {absent}; TLS needs both"
        )));
    }
    let needs_certificate =
        [("tls_port", config.tls_port.is_some()), ("http_tls", config.http_tls == Some(true))];
    for (name, needs_it) in needs_certificate {
        if needs_it && config.tls_cert.is_none() {
            let problem = format!("{name} is given without tls_cert and tls_key");
            return Err(ConfigError::whole(problem));
        }
    }
    check_limits(config)
}

fn check_limits(config: &Config) -> Result<(), ConfigError> {
    let pairs = [
        ("max_word_bytes", config.max_word_bytes, "max_request_bytes", config.max_request_bytes),
        ("max_chunk_bytes", config.max_chunk_bytes, "max_request_bytes", config.max_request_bytes),
        ("max_name_bytes", config.max_name_bytes, "max_word_bytes", config.max_word_bytes),
    ];
    for (small, value, large, limit) in pairs {
        if value > limit {
            let problem = format!("{small} is {value}, above {large}, which is {limit}");
            return Err(ConfigError::whole(problem));
        }
    }
    match (config.max_filter_bytes, config.max_memory) {
        (Some(one), Some(all)) if one > all => Err(ConfigError::whole(format!(
            "max_filter_bytes is {one}, above max_memory, which is {all}"
        ))),
        _ => Ok(()),
    }
}

/// Whether only this machine reaches it, also when IPv4 is written as IPv6.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
