//! `mayhap serve`: filters for Redis clients and for HTTP.
//!
//! `settings.rs` makes flags of the server's settings, `messages.rs` writes its messages,
//! `notify.rs` notifies systemd, `run.rs` runs it, `startup.rs` shows its recovery, `watch.rs`
//! reloads changed certificates and users, `repair.rs` repairs a damaged folder.

mod messages;
mod notify;
mod repair;
mod run;
mod settings;
mod startup;
mod watch;

use crate::error::Error;
use crate::io::messages::{Reporter, print_stdout};
use log::LevelFilter;
use mayhap_server::config::hash_password;
use mayhap_server::config::{Config, ConfigError, Loaded, LogFormat, Problem, SETTINGS, Sources};
use settings::Settings;
use std::env;
use std::io::{BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// Serve filters to Redis clients and over HTTP
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Read settings from this file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the effective settings, without passwords, and exit
    #[arg(long)]
    check_config: bool,
    /// Read a password from stdin and print its hash
    #[arg(long, conflicts_with = "check_config")]
    hash_password: bool,
    /// Remove what is damaged from the data folder, keep a copy, and exit
    #[arg(long, conflicts_with = "hash_password")]
    repair: bool,
    /// File whose first line is the password of the user `default`
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

/// A longer line is no password.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if args.hash_password {
        return print_hash(talk);
    }
    messages::begin(expected_format(args))?;
    let Loaded { config, warnings } = sources(args)?.load().map_err(|error| wrong(&error))?;
    if args.check_config {
        run::check_tls(&config)?;
        for warning in warnings {
            talk.warn(&warning);
        }
        return print_stdout(&effective(&config));
    }
    // Only errors, whatever a file says: the flag takes precedence.
    let level = if talk.is_quiet() { LevelFilter::Error } else { config.log_level };
    messages::set(level, config.log_format);
    for warning in warnings {
        log::warn!("{warning}");
    }
    if args.repair {
        return repair::run(&config, talk);
    }
    let args = args.clone();
    let has_files = args.password_file.is_some()
        || ["MAYHAP_CONFIG", "MAYHAP_PASSWORD_FILE"].iter().any(|name| env::var_os(name).is_some())
        || args.config.is_some();
    let load: watch::Load = Arc::new(move || sources(&args)?.load().map_err(|error| wrong(&error)));
    run::run(config, &load, has_files)
}

/// The log format by the settings, as far as they can be read: their errors are written in it, too.
fn expected_format(args: &Args) -> LogFormat {
    let flag = args.settings.0.iter().find(|(name, _)| name == "log_format");
    let said = flag.map(|(_, value)| value.clone()).or_else(|| env::var("MAYHAP_LOG_FORMAT").ok());
    let said = said.or_else(|| {
        let file = args.config.clone().or_else(|| env::var_os("MAYHAP_CONFIG").map(Into::into))?;
        let text = std::fs::read_to_string(file).ok()?;
        // The file as a whole may be wrong.
        let value = text.lines().find_map(|line| {
            line.trim().strip_prefix("log_format")?.trim_start().strip_prefix('=')
        });
        value?.split(['"', '\'']).nth(1).map(ToOwned::to_owned)
    });
    if said.is_some_and(|format| format.trim() == "json") {
        LogFormat::Json
    } else {
        LogFormat::Text
    }
}

fn wrong(error: &ConfigError) -> Error {
    let hint = match &*error.problem {
        Problem::OpenToAll => {
            "set one with --password-file FILE, MAYHAP_PASSWORD or [[user]] in the file, or admit \
             anybody with --insecure-no-password"
        }
        _ => "mayhap serve --help lists all settings",
    };
    Error::usage(error.to_string(), hint)
}

fn sources(args: &Args) -> Result<Sources, Error> {
    let mut environment = Vec::new();
    for (name, value) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("MAYHAP_")) else { continue };
        let value = value.into_string().map_err(|_| {
            Error::usage(
                format!("the environment variable {name} is not valid UTF-8"),
                "set it to UTF-8 text",
            )
        })?;
        environment.push((name.to_owned(), value));
    }
    let from_environment = environment.iter().find(|(name, _)| name == "MAYHAP_CONFIG");
    let file = args.config.clone().or(from_environment.map(|(_, value)| value.into()));
    let (flags, password_file) = (args.settings.0.clone(), args.password_file.clone());
    Ok(Sources { file, environment, flags, password_file })
}

/// All settings that have a value, in the form of a file.
fn effective(config: &Config) -> String {
    let mut text = String::new();
    for setting in SETTINGS {
        let value = (setting.get)(config);
        let is_plain = value.parse::<f64>().is_ok() || matches!(value.as_str(), "true" | "false");
        let line = match (value.is_empty(), is_plain) {
            (true, _) => continue,
            (false, true) => format!("{} = {value}\n", setting.name),
            // `Debug` of a `str` escapes like TOML, for all characters of paths and names.
            (false, false) => format!("{} = {value:?}\n", setting.name),
        };
        text.push_str(&line);
    }
    let users = match config.users.names() {
        names if names.is_empty() => "# no users: everybody may do everything\n".into(),
        names => format!("# users: {}\n", names.join(", ")),
    };
    text + &users
}

fn print_hash(talk: Reporter) -> Result<(), Error> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        talk.say("type the password and press Enter; it will be visible");
    }
    let mut password = Vec::new();
    let mut input = stdin.lock().take(MAX_PASSWORD_BYTES + 1);
    let read = input.read_until(b'\n', &mut password);
    read.map_err(Error::io("read", "standard input"))?;
    while matches!(password.last(), Some(b'\n' | b'\r')) {
        password.pop();
    }
    let hint = "pipe it in: mayhap serve --hash-password < FILE";
    if password.is_empty() {
        return Err(Error::usage("the password is empty", hint));
    }
    if password.len() as u64 > MAX_PASSWORD_BYTES {
        let problem = format!("the password has more than {MAX_PASSWORD_BYTES} bytes");
        return Err(Error::usage(problem, hint));
    }
    let hash = hash_password(&password).map_err(|error| Error::usage(error.to_string(), ""))?;
    print_stdout(&(hash + "\n"))
}
