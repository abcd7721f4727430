//! Defaults, file, environment, flags: the later wins. Unsafe configurations are refused.

use super::error::{ConfigError, Origin};
use super::injected::Services;
use super::key_file::open_to_all;
use super::password_source::read_password;
use super::problem::Problem;
use super::{Config, DEFAULT_USER, Rights, Users, ValueError, file, settings};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The sources of settings.
#[derive(Debug, Default)]
pub struct Sources {
    /// `--config FILE`.
    pub file: Option<PathBuf>,
    /// The environment; only `MAYHAP_…` is read.
    pub environment: Vec<(String, String)>,
    /// `--name value`, by the name of the setting.
    pub flags: Vec<(String, String)>,
    /// `--password-file FILE`.
    pub password_file: Option<PathBuf>,
}

/// A configuration, and warnings about it.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Settings that are allowed but hardly intended.
    pub warnings: Vec<String>,
}

/// Variables of the password of the user `default`.
const PASSWORDS: [&str; 2] = ["password", "password_file"];
/// Other environment variables of the project, which are not settings.
const NOT_SETTINGS: [&str; 5] = [
    "MAYHAP_REQUIRE_SERVERS",
    "MAYHAP_REQUIRE_TOOLS",
    "MAYHAP_SOAK",
    "MAYHAP_CONFIG",
    "MAYHAP_KERNEL",
];

impl Sources {
    /// Combines the sources.
    ///
    /// # Errors
    ///
    /// The first setting that is unknown or invalid, with its place, or the reason why the whole is
    /// unsafe.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let mut config = Config::default();
        let mut warnings = Vec::new();
        let mut users = Users::new().map_err(ConfigError::whole)?;
        if let Some(path) = &self.file {
            for (name, text, origin) in file::read(path, &mut users, &mut warnings)? {
                apply(&mut config, name, &text, origin, name)?;
            }
        }
        self.apply_environment(&mut config, &mut warnings)?;
        for (name, text) in &self.flags {
            let flag = format!("--{}", name.replace('_', "-"));
            apply(&mut config, name, text, Origin::Flag, &flag)?;
        }
        // A password in the file as well would be a second one.
        if let Some(password) = self.password(&mut warnings)? {
            let added = users.add(DEFAULT_USER, &password, Rights::ALL);
            added.map_err(ConfigError::whole)?;
        }
        config.users = Arc::new(users);
        if let Some(key) = &config.tls_key {
            warnings.extend(open_to_all(key, "the private key of the certificate"));
        }
        check(&config, &mut warnings)?;
        Ok(Loaded { config, warnings })
    }

    /// Applies the settings of the environment, except those given by a flag: their values are not
    /// even read.
    fn apply_environment(
        &self,
        config: &mut Config,
        warnings: &mut Vec<String>,
    ) -> Result<(), ConfigError> {
        let services = Services::of(&self.environment);
        let mut ignored = Vec::new();
        for (variable, text) in &self.environment {
            let Some(name) = variable.strip_prefix("MAYHAP_") else { continue };
            let name = name.to_ascii_lowercase();
            if self.flags.iter().any(|(flag, _)| *flag == name) || PASSWORDS.contains(&&*name) {
                continue;
            }
            let is_setting = settings::find(&name).is_some();
            if services.have(variable, text) {
                ignored.extend(is_setting.then_some(variable.as_str()));
            } else if is_setting {
                let applied = apply(config, &name, text, Origin::Environment, variable);
                applied.map_err(|mut error| {
                    if text.contains("://") {
                        error.problem = Box::new(Problem::Injected(error.problem));
                    }
                    error
                })?;
            } else if !NOT_SETTINGS.contains(&variable.as_str()) {
                warnings.push(format!("the environment has {variable}, which is not a setting"));
            }
        }
        if !ignored.is_empty() {
            warnings.push(format!(
                "ignored, since Kubernetes has set it for a Service: {}; enableServiceLinks: false \
                 of the pod keeps such variables away",
                ignored.join(", ")
            ));
        }
        Ok(())
    }

    /// The password that is not in the file: the last source wins, and no other is read.
    fn password(&self, warnings: &mut Vec<String>) -> Result<Option<Vec<u8>>, ConfigError> {
        let said = self.environment.iter().rev().find_map(|(variable, text)| {
            let name = variable.strip_prefix("MAYHAP_")?.to_ascii_lowercase();
            PASSWORDS.contains(&&*name).then_some((variable, name, text))
        });
        let (origin, key, path) = match (&self.password_file, said) {
            (Some(path), _) => (Origin::Flag, "--password-file", path.as_path()),
            (None, None) => return Ok(None),
            (None, Some((_, name, text))) if name == "password" => {
                return Ok(Some(text.clone().into_bytes()));
            }
            (None, Some((variable, _, text))) => (Origin::Environment, &**variable, text.as_ref()),
        };
        let read = read_password("password_file", &path.display().to_string());
        warnings.extend(open_to_all(path, "a password"));
        let key = key.to_owned();
        read.map(Some).map_err(|error| ConfigError {
            origin,
            key,
            value: None,
            problem: Box::new(error.into()),
        })
    }
}

/// Applies one setting; `key` is its name as written.
pub(crate) fn apply(
    config: &mut Config,
    name: &str,
    text: &str,
    origin: Origin,
    key: &str,
) -> Result<(), ConfigError> {
    let set = |config: &mut Config| match settings::find(name) {
        Some(setting) => (setting.set)(config, text.trim()),
        None => Err(ValueError::NoSetting),
    };
    set(config).map_err(|problem| ConfigError {
        origin,
        key: key.into(),
        value: Some(without_user(text)),
        problem: Box::new(problem.into()),
    })
}

/// A value as errors show it: a URL without its user and password.
fn without_user(text: &str) -> String {
    match text.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
        Some((scheme, (_, rest))) => format!("{scheme}://{rest}"),
        None => text.into(),
    }
}

/// Refuses settings that contradict each other or give access without a login.
pub(super) fn check(config: &Config, warnings: &mut Vec<String>) -> Result<(), ConfigError> {
    let asks_password = config.users.asks_password();
    let mut places: Vec<_> = config.bind.iter().map(|address| ("bind", address)).collect();
    if config.http_port.is_some() {
        places.extend(config.http_bind().iter().map(|address| ("http_bind", address)));
    }
    // Reported once, for the first listener that is open to others.
    let mut warned = Vec::new();
    for (name, address) in places {
        if is_loopback(address) {
            continue;
        }
        if !asks_password && !config.insecure_no_password {
            return Err(ConfigError {
                origin: Origin::Whole,
                key: name.into(),
                value: Some(address.to_string()),
                problem: Box::new(Problem::OpenToAll),
            });
        }
        if warned.contains(&name) {
            continue;
        }
        warned.push(name);
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
    let alone = match (&config.tls_cert, &config.tls_key) {
        (Some(_), None) => Some(("tls_cert", "tls_key")),
        (None, Some(_)) => Some(("tls_key", "tls_cert")),
        _ => None,
    };
    if let Some((there, absent)) = alone {
        return Err(ConfigError::whole(Problem::Alone { there, absent }));
    }
    let needs_certificate =
        [("tls_port", config.tls_port.is_some()), ("http_tls", config.http_tls == Some(true))];
    for (name, needs_it) in needs_certificate {
        if needs_it && config.tls_cert.is_none() {
            return Err(ConfigError::whole(Problem::NeedsCertificate(name)));
        }
    }
    check_store(config)?;
    check_limits(config)
}

/// Refuses two places for filters, and settings of a store that is not there.
fn check_store(config: &Config) -> Result<(), ConfigError> {
    let both = |there, other| Err(ConfigError::whole(Problem::Both { there, other }));
    let about_store = [
        ("store_wait_replicas", config.store_wait_replicas.is_some()),
        ("store_tls_ca", config.store_tls_ca.is_some()),
        ("store_tls_cert", config.store_tls_cert.is_some()),
        ("store_tls_key", config.store_tls_key.is_some()),
    ];
    let about_store = about_store.into_iter().find(|(_, is_given)| *is_given);
    match (&config.store, about_store) {
        (Some(_), _) if config.data.is_some() => both("store", "data"),
        (Some(_), _) => {
            let has = [&config.store_tls_cert, &config.store_tls_key].map(Option::is_some);
            let (there, absent) = match has {
                [true, false] => ("store_tls_cert", "store_tls_key"),
                [false, true] => ("store_tls_key", "store_tls_cert"),
                _ => return Ok(()),
            };
            Err(ConfigError::whole(Problem::Alone { there, absent }))
        }
        (None, Some((there, _))) => {
            Err(ConfigError::whole(Problem::Without { there, absent: "store" }))
        }
        (None, None) => Ok(()),
    }
}

fn check_limits(config: &Config) -> Result<(), ConfigError> {
    let pairs = [
        ("max_word_bytes", config.max_word_bytes, "max_request_bytes", config.max_request_bytes),
        ("max_chunk_bytes", config.max_chunk_bytes, "max_request_bytes", config.max_request_bytes),
        ("max_name_bytes", config.max_name_bytes, "max_word_bytes", config.max_word_bytes),
    ];
    for (small, value, large, limit) in pairs {
        if value > limit {
            let (value, limit) = (value.into(), limit.into());
            return Err(ConfigError::whole(Problem::Above { small, value, large, limit }));
        }
    }
    match (config.max_filter_bytes, config.max_memory) {
        (Some(value), Some(limit)) if value > limit => {
            let (small, large) = ("max_filter_bytes", "max_memory");
            Err(ConfigError::whole(Problem::Above { small, value, large, limit }))
        }
        _ => Ok(()),
    }
}

/// Whether only this machine can reach it, also when IPv4 is written as IPv6.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
