//! How the values of settings are read from a text, and written so that they can be read again.

use super::Addresses;
use mayhap_engine::durable::Policy;
use mayhap_units::number::{format_bytes, format_count, parse_bytes, parse_count, parse_fpp};
use mayhap_units::span::parse_millis;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// The reader of a kind of values, which returns the allowed ones if a text is none of them, and
/// its writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<T> {
    pub(super) read: fn(&str) -> Result<T, String>,
    write: fn(&T) -> String,
}

impl<T> Form<T> {
    /// A value as a text; empty for one that is not given.
    pub(super) fn show<'a>(&self, value: impl Into<Option<&'a T>>) -> String
    where
        T: 'a,
    {
        value.into().map(self.write).unwrap_or_default()
    }
}

/// The format of log messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// `2026-01-31T12:00:00.000Z INFO Redis clients: 127.0.0.1:6380`
    #[default]
    Text,
    /// One object per line.
    Json,
}

impl LogFormat {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Values that are written as they display.
const fn plain<T: Display>(read: fn(&str) -> Result<T, String>) -> Form<T> {
    Form { read, write: T::to_string }
}

pub(super) const ADDRESSES: Form<Addresses> = plain(Addresses::parse);
pub(super) const CAPACITY: Form<u64> = plain(capacity);
pub(super) const COUNT: Form<u32> = plain(count);
pub(super) const EXPANSION: Form<u32> =
    plain(|text| within(text, 0..=32_768, "is not a whole number from 0 to 32768"));
pub(super) const FORMAT: Form<LogFormat> =
    Form { read: format, write: |format| format.name().to_owned() };
pub(super) const FSYNC: Form<Policy> =
    Form { read: fsync, write: |policy| policy.name().to_owned() };
pub(super) const LEVEL: Form<log::LevelFilter> =
    Form { read: level, write: |level| level.to_string().to_ascii_lowercase() };
pub(super) const MICROS: Form<u32> =
    plain(|text| within(text, 0..=1000, "is not a whole number of microseconds from 0 to 1000"));
pub(super) const NAMES: Form<Vec<String>> = Form { read: names, write: |names| names.join(",") };
pub(super) const NUMBER: Form<usize> = plain(number);
pub(super) const PATH: Form<PathBuf> =
    Form { read: path, write: |path| path.display().to_string() };
pub(super) const PORT: Form<u16> = plain(number);
pub(super) const RATE: Form<f64> = plain(|text| parse_fpp(text).map_err(|error| error.to_string()));
pub(super) const SIZE: Form<u64> = Form { read: size, write: |bytes| size_shown(*bytes) };
pub(super) const SMALL_SIZE: Form<u32> =
    Form { read: small_size, write: |bytes| size_shown((*bytes).into()) };
pub(super) const SWITCH: Form<bool> = plain(switch);
pub(super) const THREADS: Form<usize> =
    plain(|text| within(text, 1..=1024, "is not a whole number from 1 to 1024"));
pub(super) const TIME: Form<u64> = Form { read: time, write: |millis| time_shown(*millis) };

fn within<T: FromStr + PartialOrd>(
    text: &str,
    range: RangeInclusive<T>,
    otherwise: &str,
) -> Result<T, String> {
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| otherwise.into())
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("is empty; give a file or folder".into()) } else { Ok(text.into()) }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let limit = if size_of::<T>() == 2 { 65_535 } else { u64::MAX };
    text.parse().map_err(|_| format!("is not a whole number from 0 to {limit}"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("is neither true nor false".into()),
    }
}

fn size(text: &str) -> Result<u64, String> {
    match parse_bytes(text).map_err(|error| error.to_string())? {
        0 => Err("is 0; allowed: from 1 B on".into()),
        bytes => Ok(bytes),
    }
}

fn small_size(text: &str) -> Result<u32, String> {
    let bytes = size(text)?;
    // Offsets of words in a request have 32 bits.
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

fn capacity(text: &str) -> Result<u64, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        capacity @ 1..=0x4000_0000 => Ok(capacity),
        _ => Err("is not within 1 to 1,073,741,824".into()),
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

fn size_shown(bytes: u64) -> String {
    in_units(bytes, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")])
}

/// In the largest unit that gives a whole number.
fn in_units(value: u64, units: &[(u64, &str)]) -> String {
    let whole = units.iter().find(|(unit, _)| value != 0 && value.is_multiple_of(*unit));
    whole.map_or_else(|| value.to_string(), |(unit, name)| format!("{}{name}", value / unit))
}

fn time_shown(millis: u64) -> String {
    in_units(millis, &[(3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")])
}
