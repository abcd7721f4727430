//! `CONFIG`: the settings as they are; they change by a restart.

use super::bounds::Answer;
use super::call::{Call, Outcome};
use super::client::{help_text, unknown_subcommand};
use super::row::{Command, Places, Right, row};
use super::word::one_of;
use crate::config::{Config, SETTINGS};
use crate::keyspace::{MAX_PATTERN_BYTES, matches};

pub(super) const COMMANDS: &[Command] =
    &[row("config", -2, Right::Admin, Places::NONE, "Tells the settings.", config)
        .answers(Answer::Counted)
        .works(|call| call.words.len() as u64 * SETTINGS.len() as u64 * MATCH_NS)];

/// A setting's name matched with a pattern.
const MATCH_NS: u64 = 200;

type Sub = (&'static str, fn(&mut Call<'_, '_>) -> Outcome);

const SUBCOMMANDS: [Sub; 5] =
    [("get", get), ("set", set), ("rewrite", set), ("resetstat", set), ("help", help)];

fn config(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    let run = one_of(word, &SUBCOMMANDS).ok_or_else(|| unknown_subcommand("CONFIG", word))?;
    run(call)
}

type Get = fn(&Config) -> String;

/// Settings by the names that clients of Redis, `RedisBloom` and valkey-bloom ask for.
const ALIASES: [(&str, Get); 20] = [
    ("appendonly", |config| yes_or_no(config.data.is_some())),
    ("bf-error-rate", |config| config.default_error.to_string()),
    ("bf-expansion-factor", |config| config.default_expansion.to_string()),
    ("bf-initial-size", |config| config.default_capacity.to_string()),
    ("bf.bloom-capacity", |config| config.default_capacity.to_string()),
    ("bf.bloom-expansion", |config| config.default_expansion.to_string()),
    ("bf.bloom-fp-rate", |config| config.default_error.to_string()),
    ("bf.bloom-memory-usage-limit", |config| number(config.max_filter_bytes)),
    ("bf.bloom-use-random-seed", |_| yes_or_no(true)),
    ("databases", |_| "1".into()),
    ("dir", |config| config.data.as_deref().unwrap_or("".as_ref()).display().to_string()),
    ("maxclients", |config| config.max_clients.to_string()),
    ("maxmemory", |config| number(config.max_memory)),
    ("maxmemory-policy", |_| "noeviction".into()),
    ("proto-max-bulk-len", |config| config.max_word_bytes.to_string()),
    // A password is shown to nobody.
    ("requirepass", |_| String::new()),
    ("save", |_| String::new()),
    ("tcp-keepalive", |config| (config.keepalive_ms / 1000).to_string()),
    ("timeout", |config| (config.idle_timeout_ms / 1000).to_string()),
    ("unixsocket", |config| {
        config.unix_socket.as_deref().unwrap_or("".as_ref()).display().to_string()
    }),
];

fn yes_or_no(is: bool) -> String {
    if is { "yes" } else { "no" }.into()
}

/// 0 where there is no limit, as in Redis.
fn number(limit: Option<u64>) -> String {
    limit.unwrap_or(0).to_string()
}

fn get(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len() < 3 {
        return Err(Call::arity("config|get"));
    }
    if call.words.from(2).iter().any(|pattern| pattern.len() > MAX_PATTERN_BYTES) {
        let text = format!("ERR a pattern has at most {MAX_PATTERN_BYTES} bytes");
        return Err(text.into());
    }
    let patterns: Vec<Vec<u8>> =
        call.words.from(2).iter().map(<[u8]>::to_ascii_lowercase).collect();
    let wanted = |name: &str| patterns.iter().any(|pattern| matches(pattern, name.as_bytes()));
    let config = &call.shared.config;
    let mut found: Vec<(String, String)> = ALIASES
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, get)| ((*name).to_owned(), get(config)))
        .collect();
    for setting in SETTINGS {
        // `max_memory` in a file is `max-memory` here, as the names of Redis are.
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

fn set(_call: &mut Call<'_, '_>) -> Outcome {
    Err("ERR settings are read when the server starts; change its configuration file, environment \
         or flags and restart it"
        .into())
}

fn help(call: &mut Call<'_, '_>) -> Outcome {
    help_text(call, "CONFIG", &SUBCOMMANDS.map(|(name, _)| name));
    Ok(())
}
