//! Messages to the user, on stderr; data is never written here.

use super::output::Output;
use crate::error::Error;
use crate::io::terminal;
use mayhap_plan::wrapped;
use mayhap_units::line::printable;
pub use mayhap_units::number::{counted, format_fpp as rate, grouped};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;

/// Takes the messages for stderr, for a program that must not wait for its reader.
pub trait Sink: Send + Sync {
    /// Takes text that ends with a line feed, without waiting.
    fn put(&self, text: String);
    /// A message as a line of its log (`info`, `warning`, `error`); `None` if its log is text.
    fn line(&self, level: &str, message: &str, hint: Option<&str>) -> Option<String>;
    /// Waits until everything is written, but not forever.
    fn flush(&self, most: Duration);
}

/// The destination of diverted messages.
static SINK: OnceLock<Box<dyn Sink>> = OnceLock::new();

/// The time that the end of the process waits for the reader of its last messages.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Diverts all later messages. Only the first call of a process counts.
pub fn divert(sink: Box<dyn Sink>) {
    let _ = SINK.set(sink);
}

/// Waits until the messages are written, for a second at most.
pub fn flush() {
    if let Some(sink) = SINK.get() {
        sink.flush(LAST_LINES);
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Whether to use it on this stream.
    pub fn on(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                stream.is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// The way in which messages are printed.
#[derive(Debug, Clone, Copy)]
pub struct Reporter {
    quiet: bool,
    color: Color,
    json: bool,
}

impl Reporter {
    /// By the command line; with `json` every message is a JSON object on a line of its own.
    pub fn new(quiet: bool, color: Color, json: bool) -> Self {
        Self { quiet, color, json }
    }

    /// Whether a progress bar may be drawn.
    pub fn shows_progress(self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    /// When to use colour.
    pub fn color(self) -> Color {
        self.color
    }

    /// Whether only errors are printed.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Prints a line, unless quiet.
    pub fn say(self, text: &str) {
        if self.quiet {
            return;
        }
        if !self.as_json("info", text, None) {
            print(&format!("{}\n", printable(text)));
        }
    }

    /// Prints each on a line, unless quiet.
    pub fn say_all(self, texts: &[String]) {
        for text in texts {
            self.say(text);
        }
    }

    /// Like [`Reporter::say`], while a progress bar may be on the line: it is redrawn below.
    pub fn say_over_progress(self, text: &str) {
        if self.json {
            self.say(text);
        } else if !self.quiet {
            let clear = if std::io::stderr().is_terminal() { "\r\x1B[K" } else { "" };
            print(&format!("{clear}{}\n", printable(text)));
        }
    }

    /// Prints a line and further ones below it, unless quiet.
    pub fn report(self, line: &str, below: &str) {
        if self.json {
            self.say(&format!("{line}\n{below}"));
        } else if !self.quiet {
            print(&format!("{}\n{below}\n", printable(line)));
        }
    }

    /// Prints the summary of a verb: as JSON on stdout if requested, else in words, as a line and
    /// further ones below it, if there are any.
    ///
    /// # Errors
    ///
    /// The errors of the write, for stdout.
    pub fn summary<T: serde::Serialize>(
        self,
        json: bool,
        summary: &T,
        words: impl FnOnce(&T) -> (String, String),
    ) -> Result<(), Error> {
        if json {
            return Self::json(summary, true);
        }
        match words(summary) {
            (line, below) if below.is_empty() => self.say(&line),
            (line, below) => self.report(&line, &below),
        }
        Ok(())
    }

    /// Warns, unless quiet.
    pub fn warn(self, text: &str) {
        if self.quiet {
            return;
        }
        if !self.as_json("warning", text, None) {
            print(&format!("{} {}\n", self.paint("33", "warning:"), printable(text)));
        }
    }

    /// Prints the notices of the store as warnings, each once.
    pub fn notices(self) {
        mayhap_store::notices(|notice| self.warn(&notice.to_string()));
    }

    /// Reports why the command stopped, and the next step for the user of this verb.
    pub fn error(self, error: &Error, problem: &str, verb: &str) {
        if self.as_json("error", problem, error.hint(verb).as_deref()) {
            return;
        }
        let mut text = format!("{} {}\n", self.paint("1;31", "mayhap:"), printable(problem));
        if let Some(hint) = error.hint(verb) {
            text.extend([&self.paint("36", "hint:"), " ", &printable(&hint), "\n"]);
        }
        print(&text);
    }

    /// Prints JSON: it was requested, so it is printed even when quiet.
    ///
    /// # Errors
    ///
    /// The errors of the write, for stdout.
    pub fn json(value: &impl serde::Serialize, to_stdout: bool) -> Result<(), Error> {
        // Our types are plain numbers, texts and lists, which always serialise.
        let text = serde_json::to_string(value).unwrap_or_default() + "\n";
        if to_stdout {
            print_stdout(&text)
        } else {
            print(&text);
            Ok(())
        }
    }

    /// Prints a message as JSON, if requested; returns whether it was.
    fn as_json(self, level: &'static str, message: &str, hint: Option<&str>) -> bool {
        if let Some(line) = SINK.get().and_then(|sink| sink.line(level, message, hint)) {
            print(&line);
        } else if self.json {
            print_message(level, message, hint);
        } else {
            return false;
        }
        true
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color.on(&std::io::stderr()) {
            format!("\x1B[{code}m{text}\x1B[0m")
        } else {
            text.into()
        }
    }
}

/// A message as a program reads it.
#[derive(serde::Serialize)]
struct Entry<'a> {
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Writes a message (`info`, `warning`, `error`) to stderr as one line of JSON.
pub fn print_message(level: &'static str, message: &str, hint: Option<&str>) {
    // Texts always serialise.
    let text = serde_json::to_string(&Entry { level, message, hint }).unwrap_or_default();
    print(&(text + "\n"));
}

/// Whether messages are JSON, even where the command line cannot be parsed: it has `--json`, or
/// selects JSON for the log of the server.
pub fn wants_json() -> bool {
    let arguments: Vec<_> =
        std::env::args_os().skip(1).take_while(|argument| argument != "--").collect();
    let is_server = arguments.first().is_some_and(|verb| verb == "serve");
    let is_given = arguments.iter().any(|argument| argument == "--json");
    is_given || (is_server && log_format(&arguments).is_some_and(|format| format == "json"))
}

/// The format of a server's log by the command line, or else by the environment.
fn log_format(arguments: &[OsString]) -> Option<OsString> {
    let flag = arguments.iter().enumerate().rev().find_map(|(at, argument)| {
        if argument == "--log-format" {
            return arguments.get(at + 1).cloned();
        }
        argument.to_str()?.strip_prefix("--log-format=").map(Into::into)
    });
    flag.or_else(|| std::env::var_os("MAYHAP_LOG_FORMAT"))
}

/// The columns before the values of a report.
const ROW_INDENT: usize = 12;

/// A row of a report: a name and its value.
pub fn row(name: &str, value: &str) -> String {
    let value = wrapped(&printable(value), ROW_INDENT, terminal::columns());
    format!("{name:<11} {value}\n")
}

/// Writes to stderr, or to the diverted destination; if that fails nothing can be reported any
/// more.
pub fn print(text: &str) {
    if let Some(sink) = SINK.get() {
        return sink.put(text.to_owned());
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints the findings of a verb on stdout: as JSON if requested, else in words.
///
/// # Errors
///
/// [`Error::BrokenPipe`], [`Error::Io`].
pub fn print_findings<T: serde::Serialize>(
    json: bool,
    findings: &T,
    words: impl FnOnce(&T) -> String,
) -> Result<(), Error> {
    if json { Reporter::json(findings, true) } else { print_stdout(&words(findings)) }
}

/// Writes a whole report to stdout.
///
/// # Errors
///
/// [`Error::BrokenPipe`], [`Error::Io`].
pub fn print_stdout(text: &str) -> Result<(), Error> {
    // Not with the standard library's handle, for which a closed one is a success.
    let mut stdout = Output::stdout(&[])?;
    stdout.write(text.as_bytes())?;
    stdout.flush()
}
