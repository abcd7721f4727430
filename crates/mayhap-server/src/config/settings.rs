//! The settings: one row each.
#![allow(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "a row's writer takes a reference to its field, whatever that is"
)]

use super::{Addresses, Config, LogFormat};
use crate::durable::Policy;
use mayhap_units::number::{format_bytes, format_count, parse_bytes, parse_count, parse_fpp};
use mayhap_units::span::parse_millis;
use std::fmt::Display;
use std::str::FromStr;

/// A setting: what it is called and what may be said of it.
///
/// `max_memory` is `max_memory` in a file, `MAYHAP_MAX_MEMORY` in the environment and
/// `--max-memory` on the command line.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What stands for its value in help; empty for a switch.
    pub value: &'static str,
    /// Under which title help has it.
    pub heading: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
    /// Takes a text; what is allowed if it is not.
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
    /// Its value as a text that `set` takes, empty if it is not set.
    pub get: fn(&Config) -> String,
    /// Takes the value of another configuration.
    pub(super) copy: fn(&mut Config, &Config),
}

/// The settings that can change while a server runs; users can, too.
const LIVE: [&str; 11] = [
    "http_hosts",
    "require_imports",
    "tls_cert",
    "tls_key",
    "max_memory",
    "metrics_filters",
    "default_error",
    "default_capacity",
    "default_expansion",
    "strict_names",
    "log_level",
];

impl Setting {
    /// Whether it can change while a server runs: by SIGHUP or `CONFIG SET`.
    pub fn is_live(&self) -> bool {
        LIVE.contains(&self.name)
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("name", &self.name).finish_non_exhaustive()
    }
}

/// `row!(field, "VALUE", HEADING, "help", reader, writer)`, with `field as "name"` where they
/// differ.
macro_rules! row {
    ($field:ident, $($rest:tt)*) => { row!($field as stringify!($field), $($rest)*) };
    (
        $field:ident as $name:expr,
        $value:literal, $heading:ident, $help:literal, $read:expr, $write:expr
    ) => {
        Setting {
            name: $name,
            value: $value,
            heading: $heading,
            help: $help,
            set: |config, text| {
                config.$field = $read(text)?;
                Ok(())
            },
            get: |config| $write(&config.$field),
            copy: |config, other| config.$field.clone_from(&other.$field),
        }
    };
}

const PLACES: &str = "Listening";
const SAFETY: &str = "Security";
const KEEPING: &str = "Persistence";
const LIMITS: &str = "Limits";
const DEFAULTS: &str = "Filters created by an add";
const TALK: &str = "Messages";

/// All settings, in the order of help.
pub const SETTINGS: &[Setting] = &[
    row!(
        data,
        "DIR",
        PLACES,
        "Data folder; without one, filters are in memory only",
        some(text),
        path
    ),
    row!(
        bind,
        "ADDRESS",
        PLACES,
        "Addresses of the Redis protocol, as a,b",
        Addresses::parse,
        shown
    ),
    row!(port, "PORT", PLACES, "Port of the Redis protocol; 0 chooses a free one", number, shown),
    row!(unix_socket, "FILE", PLACES, "Also listen on this Unix socket", some(text), path),
    row!(http_bind, "ADDRESS", PLACES, "HTTP addresses [as --bind]", some(Addresses::parse), maybe),
    row!(http_port as "http", "PORT", PLACES, "HTTP port, off by default", some(number), maybe),
    row!(http_hosts, "NAMES", PLACES, "Host names accepted over HTTP, as a,b", names, joined),
    row!(threads, "N", PLACES, "Loop threads [one per core]", some(at_least_one), maybe),
    row!(
        busy_poll_us,
        "N",
        PLACES,
        "Microseconds that a loop polls before it sleeps",
        micros,
        shown
    ),
    row!(tls_cert, "FILE", SAFETY, "Certificate chain in PEM", some(text), path),
    row!(tls_key, "FILE", SAFETY, "Private key in PEM", some(text), path),
    row!(tls_port, "PORT", SAFETY, "TLS here and not on --port", some(number), maybe),
    row!(http_tls, "BOOL", SAFETY, "TLS for HTTP [if --tls-cert]", some(switch), maybe),
    row!(key_file, "FILE", SAFETY, "Secret key of filters [DIR/key]", some(text), path),
    row!(insecure_no_password, "", SAFETY, "Allow any address without a password", switch, shown),
    row!(insecure_key_file, "", SAFETY, "Allow a secret key that all can read", switch, shown),
    row!(appendfsync, "WHEN", KEEPING, "Sync: always, everysec or no", fsync, fsync_shown),
    row!(checkpoint_bytes, "SIZE", KEEPING, "Log size that starts a checkpoint", large, size),
    row!(
        checkpoint_interval_ms as "checkpoint_interval",
        "TIME",
        KEEPING,
        "Longest time between checkpoints",
        time,
        span
    ),
    row!(checkpoint_on_exit, "", KEEPING, "Checkpoint on SIGTERM", switch, shown),
    row!(
        require_imports,
        "",
        KEEPING,
        "Not ready while a file in import/ cannot be used",
        switch,
        shown
    ),
    row!(max_memory, "SIZE", LIMITS, "Memory of all filters", some(large), maybe_size),
    row!(max_filter_bytes, "SIZE", LIMITS, "Memory of one filter", some(large), maybe_size),
    row!(max_name_bytes, "SIZE", LIMITS, "Length of a filter's name", small, small_size),
    row!(max_clients, "N", LIMITS, "Concurrent connections", count, counted),
    row!(max_word_bytes, "SIZE", LIMITS, "One word of a request", small, small_size),
    row!(max_chunk_bytes, "SIZE", LIMITS, "A chunk of BF.LOADCHUNK", small, small_size),
    row!(max_words, "N", LIMITS, "Words of a request", count, counted),
    row!(max_request_bytes, "SIZE", LIMITS, "One request", small, small_size),
    row!(max_buffer_bytes, "SIZE", LIMITS, "Buffers of all clients", some(large), maybe_size),
    row!(
        request_timeout_ms as "request_timeout",
        "TIME",
        LIMITS,
        "Time for a request to arrive",
        time,
        span
    ),
    row!(
        output_timeout_ms as "output_timeout",
        "TIME",
        LIMITS,
        "Time for a client to read",
        time,
        span
    ),
    row!(idle_timeout_ms as "idle_timeout", "TIME", LIMITS, "Idle timeout; 0s = never", time, span),
    row!(
        http_keep_alive_ms as "http_keep_alive",
        "TIME",
        LIMITS,
        "Idle HTTP connections; 0s = one request each",
        time,
        span
    ),
    row!(keepalive_ms as "keepalive", "TIME", LIMITS, "Interval of TCP keepalive", time, span),
    row!(metrics_filters, "N", LIMITS, "Filters listed in /metrics", number, shown),
    row!(default_error, "P", DEFAULTS, "False-positive rate", rate, shown),
    row!(default_capacity, "N", DEFAULTS, "Initial capacity", capacity, shown),
    row!(default_expansion, "N", DEFAULTS, "Growth factor; 0 = fixed size", expansion, shown),
    row!(strict_names, "", DEFAULTS, "Reading a name without a filter is an error", switch, shown),
    row!(log_level, "LEVEL", TALK, "error, warn, info, debug or trace", level, level_shown),
    row!(log_format, "FORMAT", TALK, "text or json", format, format_shown),
];

/// The setting of this name.
pub(crate) fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

fn some<T>(read: impl Fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| read(text).map(Some)
}

fn text<T: for<'a> From<&'a str>>(text: &str) -> Result<T, String> {
    if text.is_empty() { Err("is empty; give a file or folder".into()) } else { Ok(text.into()) }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let limit = if size_of::<T>() == 2 { 65_535 } else { u64::MAX };
    text.parse().map_err(|_| format!("is not a whole number from 0 to {limit}"))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("is not a whole number from 1 to 1024".into()),
    }
}

fn micros(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(micros @ 0..=1000) => Ok(micros),
        _ => Err("is not a whole number of microseconds from 0 to 1000".into()),
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("is neither true nor false".into()),
    }
}

fn large(text: &str) -> Result<u64, String> {
    match parse_bytes(text).map_err(|error| error.to_string())? {
        0 => Err("is 0; allowed: from 1 B on".into()),
        bytes => Ok(bytes),
    }
}

fn small(text: &str) -> Result<u32, String> {
    let bytes = large(text)?;
    // Places of words in a request are 32 bits.
    let limit = u32::MAX >> 1;
    u32::try_from(bytes).ok().filter(|&bytes| bytes <= limit).ok_or_else(|| {
        format!("is {}, above the limit of {}", format_bytes(bytes), format_bytes(limit.into()))
    })
}

fn count(text: &str) -> Result<u32, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        count @ 1..=10_000_000 => Ok(count as u32),
        count => Err(format!("is {}; allowed: from 1 to 10M", format_count(count))),
    }
}

fn time(text: &str) -> Result<u64, String> {
    if text == "0" {
        return Ok(0);
    }
    let what = "is not a duration; write it like 500ms, 30s, 5min or 1h, and 0s for never";
    parse_millis(text).ok_or_else(|| what.into())
}

fn rate(text: &str) -> Result<f64, String> {
    parse_fpp(text).map_err(|error| error.to_string())
}

fn capacity(text: &str) -> Result<u64, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        capacity @ 1..=0x4000_0000 => Ok(capacity),
        _ => Err("is not within 1 to 1,073,741,824".into()),
    }
}

fn expansion(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(expansion @ 0..=32_768) => Ok(expansion),
        _ => Err("is not a whole number from 0 to 32768".into()),
    }
}

fn names(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    let is_wrong = |char: char| !char.is_ascii_alphanumeric() && !"-.:[]_".contains(char);
    match names.iter().find(|name| name.contains(is_wrong)) {
        Some(name) => Err(format!("{name:?} is not a host name; write filters.example.org")),
        None => Ok(names),
    }
}

fn fsync(text: &str) -> Result<Policy, String> {
    Policy::from_name(text).ok_or_else(|| "allowed: always, everysec, no".into())
}

fn level(text: &str) -> Result<log::LevelFilter, String> {
    let what = "allowed: error, warn, info, debug, trace, off";
    text.parse().map_err(|_| what.into())
}

fn format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("allowed: text, json".into()),
    }
}

fn shown(value: &impl Display) -> String {
    value.to_string()
}

fn maybe<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map(T::to_string).unwrap_or_default()
}

fn path(value: &Option<std::path::PathBuf>) -> String {
    value.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
}

fn joined(names: &[String]) -> String {
    names.join(",")
}

fn size(bytes: &u64) -> String {
    in_units(*bytes, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")])
}

fn maybe_size(bytes: &Option<u64>) -> String {
    bytes.as_ref().map(size).unwrap_or_default()
}

fn small_size(bytes: &u32) -> String {
    size(&u64::from(*bytes))
}

/// In the largest unit in which it is whole.
fn in_units(value: u64, units: &[(u64, &str)]) -> String {
    let whole = units.iter().find(|(unit, _)| value != 0 && value.is_multiple_of(*unit));
    whole.map_or_else(|| value.to_string(), |(unit, name)| format!("{}{name}", value / unit))
}

fn counted(count: &u32) -> String {
    count.to_string()
}

fn span(millis: &u64) -> String {
    in_units(*millis, &[(3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")])
}

fn fsync_shown(value: &Policy) -> String {
    value.name().into()
}

fn level_shown(value: &log::LevelFilter) -> String {
    value.to_string().to_ascii_lowercase()
}

fn format_shown(value: &LogFormat) -> String {
    let name = match value {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
    };
    name.into()
}
