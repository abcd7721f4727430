//! `CONFIG`: the current settings, and changes to those that can change while the server runs.

use super::bounds::Answer;
use super::call::{Call, Outcome};
use super::row::Right::Admin;
use super::row::{Command, NONE, row};
use super::sub::{Sub, choose, help, sub};
use super::word::shown;
use crate::ReloadError;
use crate::config::{Config, ConfigError, Origin, Problem, SETTINGS, Setting, apply, find};
use mayhap_engine::keyspace::{MAX_PATTERN_BYTES, matches};

pub(super) const COMMANDS: &[Command] =
    &[row("config", -2, Admin, NONE, "Reads and changes settings.", config)
        .answers(Answer::Counted)
        .works(|call| call.words.len() as u64 * SETTINGS.len() as u64 * MATCH_NS)];

/// A setting's name matched with a pattern.
const MATCH_NS: u64 = 200;

const SUBCOMMANDS: &[Sub] = &[
    sub("get", -3, get),
    sub("set", 0, set),
    sub("rewrite", 0, rewrite),
    sub("resetstat", 0, reset_stat),
    help(0),
];

fn config(call: &mut Call<'_, '_>) -> Outcome {
    choose(call, "CONFIG", SUBCOMMANDS)
}

type Get = fn(&Config) -> String;

/// Settings by the names that clients of Redis, `RedisBloom` and valkey-bloom use: the name, the
/// value, and our setting that it changes, if any.
const ALIASES: [(&str, Get, Option<&str>); 21] = [
    ("appendonly", |config| yes_or_no(config.data.is_some()), None),
    ("bf-error-rate", |config| config.default_fpp.to_string(), Some("default_fpp")),
    ("bf-expansion-factor", |config| config.default_expansion.to_string(), EXPANSION),
    ("bf-initial-size", |config| config.default_capacity.to_string(), Some("default_capacity")),
    ("bf.bloom-capacity", |config| config.default_capacity.to_string(), Some("default_capacity")),
    ("bf.bloom-expansion", |config| config.default_expansion.to_string(), EXPANSION),
    ("bf.bloom-fp-rate", |config| config.default_fpp.to_string(), Some("default_fpp")),
    ("bf.bloom-memory-usage-limit", |config| number(config.max_filter_bytes), None),
    ("bf.bloom-use-random-seed", |_| yes_or_no(true), None),
    ("databases", |_| "1".into(), None),
    // Its name in version 0.1.
    ("default-error", |config| config.default_fpp.to_string(), Some("default_fpp")),
    ("dir", |config| config.data.as_deref().unwrap_or("".as_ref()).display().to_string(), None),
    ("maxclients", |config| config.max_clients.to_string(), Some("max_clients")),
    ("maxmemory", |config| number(config.max_memory), Some("max_memory")),
    ("maxmemory-policy", |_| "noeviction".into(), None),
    ("proto-max-bulk-len", |config| config.max_word_bytes.to_string(), Some("max_word_bytes")),
    // Passwords are never shown.
    ("requirepass", |_| String::new(), None),
    ("save", |_| String::new(), None),
    ("tcp-keepalive", |config| (config.keepalive_ms / 1000).to_string(), None),
    ("timeout", |config| (config.idle_timeout_ms / 1000).to_string(), None),
    (
        "unixsocket",
        |config| config.unix_socket.as_deref().unwrap_or("".as_ref()).display().to_string(),
        None,
    ),
];

/// What these would say of filters is not true of those in a store, of whose server others have to
/// be asked: whether it keeps them, and evicts them.
const OWN_FILTERS_ONLY: [&str; 3] = ["appendonly", "maxmemory-policy", "save"];

const EXPANSION: Option<&str> = Some("default_expansion");

fn yes_or_no(is: bool) -> String {
    if is { "yes" } else { "no" }.into()
}

/// 0 if there is no limit, as in Redis.
fn number(limit: Option<u64>) -> String {
    limit.unwrap_or(0).to_string()
}

fn get(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.from(2).iter().any(|pattern| pattern.len() > MAX_PATTERN_BYTES) {
        let text = format!("ERR a pattern has at most {MAX_PATTERN_BYTES} bytes");
        return Err(text.into());
    }
    let patterns: Vec<Vec<u8>> =
        call.words.from(2).iter().map(<[u8]>::to_ascii_lowercase).collect();
    let wanted = |name: &str| patterns.iter().any(|pattern| matches(pattern, name.as_bytes()));
    let config = &call.shared.config();
    let is_told = |name: &str| config.store.is_none() || !OWN_FILTERS_ONLY.contains(&name);
    let mut found: Vec<(String, String)> = ALIASES
        .iter()
        .filter(|(name, ..)| wanted(name) && is_told(name))
        .map(|(name, get, _)| ((*name).to_owned(), get(config)))
        .collect();
    for setting in SETTINGS {
        // `max_memory` in a file is `max-memory` here, in the style of Redis.
        let name = setting.name.replace('_', "-");
        if wanted(&name) {
            found.push((name, (setting.get)(config)));
        }
    }
    call.room_for_list(found.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]))?;
    let mut reply = call.reply();
    reply.map(found.len());
    for (name, value) in found {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    Ok(())
}

const PREFIX: &str = "NOPERM settings are those of all names, and this user those of a prefix";

/// `CONFIG SET name value …`: all of them, or none.
fn set(call: &mut Call<'_, '_>) -> Outcome {
    if call.session.rights.prefix.is_some() {
        return Err(PREFIX.into());
    }
    if call.words.len() < 4 || !call.words.len().is_multiple_of(2) {
        return Err(Call::arity("config|set"));
    }
    let pairs: Vec<(&[u8], &[u8])> =
        (2..call.words.len()).step_by(2).map(|at| (call.word(at), call.word(at + 1))).collect();
    let set_all = |before: &Config| {
        let mut config = before.clone();
        for (name, value) in &pairs {
            set_one(&mut config, name, value).map_err(ReloadError::Config)?;
        }
        if config.tls_cert.is_some() != before.tls_cert.is_some() {
            return Err(ReloadError::Config(ConfigError::whole(Problem::NeedsRestart)));
        }
        Ok(config)
    };
    for (name, _) in &pairs {
        let setting = setting(name).ok_or_else(|| {
            let name = shown(name);
            format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'")
        })?;
        if !setting.is_live {
            return Err(format!(
                "ERR CONFIG SET failed (possibly related to argument '{}') - can't set immutable \
                 config; change the configuration file and restart the server",
                shown(name)
            )
            .into());
        }
    }
    let reloaded = call.shared.reload_with(false, set_all);
    let reloaded = reloaded.map_err(|error| format!("ERR CONFIG SET failed - {error}"))?;
    for name in reloaded.changed {
        let value = find(name).map(|setting| (setting.get)(&call.shared.config()));
        let user = call.session.user();
        log::info!("user \"{user}\" set {name} to {}", value.unwrap_or_default());
    }
    call.ok()
}

/// By its name, with `-` or `_`, or by an alias.
fn setting(name: &[u8]) -> Option<&'static Setting> {
    let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, ..)| *alias == name);
    find(alias.and_then(|alias| alias.2).unwrap_or(&name.replace('-', "_")))
}

fn set_one(config: &mut Config, name: &[u8], value: &[u8]) -> Result<(), ConfigError> {
    let problem = match (setting(name), std::str::from_utf8(value)) {
        (Some(setting), Ok(text)) => {
            return apply(config, setting.name, text, Origin::Command, &shown(name));
        }
        (None, _) => Problem::NoSetting { near: None },
        (_, Err(_)) => Problem::NotUtf8,
    };
    Err(ConfigError {
        origin: Origin::Command,
        key: shown(name),
        value: Some(shown(value)),
        problem: Box::new(problem),
    })
}

fn rewrite(_call: &mut Call<'_, '_>) -> Outcome {
    Err("ERR the server does not write its configuration file; edit it, and send SIGHUP to let the \
         server read it"
        .into())
}

fn reset_stat(_call: &mut Call<'_, '_>) -> Outcome {
    Err("ERR counters only grow until the server is restarted, as Prometheus expects".into())
}
