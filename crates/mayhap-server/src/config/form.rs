//! How the values of settings are read from a text, and written so that they can be read again.

use super::{Addresses, ValueError};
use mayhap_engine::durable::Policy;
use mayhap_redis::Address;
use mayhap_units::number::{parse_bytes, parse_count, parse_fpp};
use mayhap_units::span::parse_millis;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The reader of a kind of values, and its writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<T> {
    pub(super) read: fn(&str) -> Result<T, ValueError>,
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
const fn plain<T: Display>(read: fn(&str) -> Result<T, ValueError>) -> Form<T> {
    Form { read, write: T::to_string }
}

pub(super) const ADDRESSES: Form<Addresses> = plain(Addresses::parse);
pub(super) const CAPACITY: Form<u64> = plain(capacity);
pub(super) const COUNT: Form<u32> = plain(count);
pub(super) const EXPANSION: Form<u32> = plain(|text| within(text, 0..=32_768, ""));
pub(super) const FORMAT: Form<LogFormat> =
    Form { read: format, write: |format| format.name().to_owned() };
pub(super) const FSYNC: Form<Policy> =
    Form { read: fsync, write: |policy| policy.name().to_owned() };
pub(super) const LEVEL: Form<log::LevelFilter> =
    Form { read: level, write: |level| level.to_string().to_ascii_lowercase() };
pub(super) const MICROS: Form<u32> = plain(|text| within(text, 0..=1000, " of microseconds"));
pub(super) const NAMES: Form<Vec<String>> = Form { read: names, write: |names| names.join(",") };
pub(super) const NUMBER: Form<usize> = plain(|text| within(text, 0..=u64::MAX, ""));
pub(super) const PATH: Form<PathBuf> =
    Form { read: path, write: |path| path.display().to_string() };
pub(super) const PORT: Form<u16> = plain(|text| within(text, 0..=65_535, ""));
pub(super) const RATE: Form<f64> = plain(|text| Ok(parse_fpp(text)?));
pub(super) const SIZE: Form<u64> = Form { read: size, write: |bytes| size_shown(*bytes) };
pub(super) const SMALL_SIZE: Form<u32> =
    Form { read: small_size, write: |bytes| size_shown((*bytes).into()) };
/// A time that is not 0.
pub(super) const SOME_TIME: Form<u64> =
    Form { read: some_time, write: |millis| time_shown(*millis) };
pub(super) const SWITCH: Form<bool> = plain(switch);
pub(super) const THREADS: Form<usize> = plain(|text| within(text, 1..=1024, ""));
pub(super) const TIME: Form<u64> = Form { read: time, write: |millis| time_shown(*millis) };
/// Written without its user and password.
pub(super) const URL: Form<Address> = plain(url);

fn within<T>(text: &str, range: RangeInclusive<u64>, unit: &'static str) -> Result<T, ValueError>
where
    T: TryFrom<u64>,
{
    let number = text.parse().ok().filter(|number| range.contains(number));
    let (least, most) = range.into_inner();
    let not_within = ValueError::NotWithin { unit, least, most };
    number.and_then(|number| T::try_from(number).ok()).ok_or(not_within)
}

fn path(text: &str) -> Result<PathBuf, ValueError> {
    if text.is_empty() { Err(ValueError::NoPath) } else { Ok(text.into()) }
}

fn url(text: &str) -> Result<Address, ValueError> {
    let address = Address::parse(text).map_err(|error| ValueError::NotStore(error.to_string()))?;
    if address.name().is_some() { Err(ValueError::NamesFilter) } else { Ok(address) }
}

fn switch(text: &str) -> Result<bool, ValueError> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(ValueError::NotSwitch),
    }
}

fn size(text: &str) -> Result<u64, ValueError> {
    match parse_bytes(text)? {
        0 => Err(ValueError::NoBytes),
        bytes => Ok(bytes),
    }
}

fn small_size(text: &str) -> Result<u32, ValueError> {
    let bytes = size(text)?;
    // Offsets of words in a request have 32 bits.
    let limit = u32::MAX >> 1;
    let small = u32::try_from(bytes).ok().filter(|&bytes| bytes <= limit);
    small.ok_or(ValueError::TooLarge { bytes, limit: limit.into() })
}

fn count(text: &str) -> Result<u32, ValueError> {
    match parse_count(text)? {
        count @ 1..=10_000_000 => Ok(count as u32),
        count => Err(ValueError::Count(count)),
    }
}

fn time(text: &str) -> Result<u64, ValueError> {
    if text == "0" {
        return Ok(0);
    }
    parse_millis(text).ok_or(ValueError::NotDuration)
}

fn some_time(text: &str) -> Result<u64, ValueError> {
    match time(text)? {
        0 => Err(ValueError::NoTime),
        millis => Ok(millis),
    }
}

fn capacity(text: &str) -> Result<u64, ValueError> {
    match parse_count(text)? {
        capacity @ 1..=0x4000_0000 => Ok(capacity),
        _ => Err(ValueError::Capacity),
    }
}

fn names(text: &str) -> Result<Vec<String>, ValueError> {
    let names = text.split(',').map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    let is_wrong = |char: char| !char.is_ascii_alphanumeric() && !"-.:[]_".contains(char);
    match names.iter().find(|name| name.contains(is_wrong)) {
        Some(name) => Err(ValueError::NotHost(name.clone())),
        None => Ok(names),
    }
}

fn fsync(text: &str) -> Result<Policy, ValueError> {
    Policy::from_name(text).ok_or(ValueError::NotOneOf("always, everysec, no"))
}

fn level(text: &str) -> Result<log::LevelFilter, ValueError> {
    text.parse().map_err(|_| ValueError::NotOneOf("error, warn, info, debug, trace, off"))
}

fn format(text: &str) -> Result<LogFormat, ValueError> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(ValueError::NotOneOf("text, json")),
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
