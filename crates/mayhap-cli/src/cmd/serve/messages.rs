//! The messages of a running server: a line each, as text or as JSON, on stderr.

use crate::error::Error;
use crate::io::messages::{Sink, divert, flush, print};
use log::{Level, LevelFilter, Log, Metadata, Record};
use mayhap_server::LogLines;
use mayhap_server::config::LogFormat;
use std::fs::File;
use std::io::{Write, stderr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whether messages are JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Writes messages of the crate `log`.
#[derive(Debug)]
struct Messages;

/// Takes everything written to stderr: no thread waits for its reader.
struct Lines(LogLines);

/// Starts writing messages on a dedicated thread. Only the first call of a process counts.
///
/// # Errors
///
/// [`Error::Io`] if the system has no thread.
pub(super) fn begin(format: LogFormat) -> Result<(), Error> {
    set(LevelFilter::Error, format);
    // Not the handle of the standard library: a blocked write holds its lock.
    let out: Box<dyn Write + Send> = match stderr().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        Err(_) => Box::new(stderr()),
    };
    let notice = |lines: u64| {
        let what = if lines == 1 { "line was" } else { "lines were" };
        own_line(Level::Warn, &format!("{lines} {what} dropped: nobody read stderr in time"), None)
    };
    let lines =
        LogLines::begin(out, notice).map_err(Error::io("start", "the thread of the log"))?;
    divert(Box::new(Lines(lines)));
    // A panicking thread would write by itself, and block.
    std::panic::set_hook(Box::new(|panic| {
        print(&own_line(Level::Error, &panic.to_string(), None));
        flush();
    }));
    let _ = log::set_logger(&Messages);
    Ok(())
}

/// Sets the levels and the format of messages.
pub(super) fn set(level: LevelFilter, format: LogFormat) {
    // ORDERING: Relaxed. It guards nothing; one more line in the old format does no harm.
    JSON.store(format == LogFormat::Json, Ordering::Relaxed);
    log::set_max_level(level);
}

fn format() -> LogFormat {
    // ORDERING: Relaxed, as in `set`.
    if JSON.load(Ordering::Relaxed) { LogFormat::Json } else { LogFormat::Text }
}

impl Log for Messages {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Libraries below us may log requests, which can hold keys.
        metadata.level() <= log::max_level() && metadata.target().starts_with("mayhap")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let (level, target) = (record.level(), record.target());
            let text = record.args().to_string();
            print(&line(format(), level, target, &text, None, SystemTime::now()));
        }
    }

    fn flush(&self) {}
}

impl Sink for Lines {
    fn put(&self, text: String) {
        self.0.put(text);
    }

    fn line(&self, level: &str, message: &str, hint: Option<&str>) -> Option<String> {
        let level = match level {
            "error" => Level::Error,
            "warning" => Level::Warn,
            _ => Level::Info,
        };
        (format() == LogFormat::Json).then(|| own_line(level, message, hint))
    }

    fn flush(&self, most: Duration) {
        self.0.flush(most);
    }
}

/// A line of the command itself.
fn own_line(level: Level, text: &str, hint: Option<&str>) -> String {
    line(format(), level, "mayhap", text, hint, SystemTime::now())
}

fn line(
    format: LogFormat,
    level: Level,
    target: &str,
    text: &str,
    hint: Option<&str>,
    time: SystemTime,
) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = timestamp(since.as_millis() as u64);
    match format {
        LogFormat::Text => {
            let mut line = format!("{time} {level} ");
            // A message is one line, whatever it contains.
            line.extend(text.chars().map(|char| if char.is_control() { ' ' } else { char }));
            line + "\n"
        }
        LogFormat::Json => {
            let level = level.as_str().to_ascii_lowercase();
            let mut line = serde_json::json!({
                "time": time, "level": level, "target": target, "message": text,
            });
            if let Some(hint) = hint {
                line["hint"] = hint.into();
            }
            line.to_string() + "\n"
        }
    }
}

/// `2026-01-31T12:00:00.000Z`.
fn timestamp(millis: u64) -> String {
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = date(days);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The Gregorian date of a day after 1970-01-01, counted in years that begin on 1 March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::{LogFormat, date, line, timestamp};
    use log::Level;
    use std::time::UNIX_EPOCH;

    #[test]
    fn days_are_dates_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_453, (2025, 12, 31)),
            (20_454, (2026, 1, 1)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected);
        }
        assert_eq!(timestamp(951_827_696_789), "2000-02-29T12:34:56.789Z");
    }

    #[test]
    fn a_message_is_one_line_whatever_is_in_it() {
        let said = "user \"a\"\n2026 INFO forged\r\u{1B}[31m";
        let text = |format| line(format, Level::Warn, "mayhap", said, None, UNIX_EPOCH);
        assert_eq!(
            text(LogFormat::Text),
            "1970-01-01T00:00:00.000Z WARN user \"a\" 2026 INFO forged  [31m\n"
        );
        let json = text(LogFormat::Json);
        assert_eq!(json.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["message"], "user \"a\"\n2026 INFO forged\r\u{1B}[31m");
        assert_eq!(value["level"], "warn");
    }
}
