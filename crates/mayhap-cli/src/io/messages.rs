//! Talk to the user, on stderr; data never goes here.

use super::output::Output;
use crate::error::Error;
use crate::io::terminal;
use mayhap_plan::wrapped;
pub use mayhap_units::number::{counted, format_fpp as rate, grouped};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

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

/// How to talk.
#[derive(Debug, Clone, Copy)]
pub struct Talk {
    quiet: bool,
    color: bool,
    json: bool,
}

impl Talk {
    /// As the command line says; with `json` every message is a JSON object on a line of its own.
    pub fn new(quiet: bool, color: Color, json: bool) -> Self {
        Self { quiet, color: color.on(&std::io::stderr()), json }
    }

    /// Whether a progress bar may be drawn.
    pub fn shows_progress(self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    /// Whether only errors are wanted.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Says a line, unless quiet.
    pub fn say(self, text: &str) {
        if self.quiet {
            return;
        }
        if self.json {
            print_message("info", text, None);
        } else {
            print(&format!("{}\n", printable(text)));
        }
    }

    /// Says each in a line, unless quiet.
    pub fn say_all(self, texts: &[String]) {
        for text in texts {
            self.say(text);
        }
    }

    /// [`Talk::say`] while a progress bar may be on the line: it is drawn again below.
    pub fn say_over_progress(self, text: &str) {
        if self.json {
            self.say(text);
        } else if !self.quiet {
            let clear = if std::io::stderr().is_terminal() { "\r\x1B[K" } else { "" };
            print(&format!("{clear}{}\n", printable(text)));
        }
    }

    /// Says a line and below it others, of ours alone, unless quiet.
    pub fn report(self, line: &str, below: &str) {
        if self.json {
            self.say(&format!("{line}\n{below}"));
        } else if !self.quiet {
            print(&format!("{}\n{below}\n", printable(line)));
        }
    }

    /// Warns, unless quiet.
    pub fn warn(self, text: &str) {
        if self.quiet {
            return;
        }
        if self.json {
            print_message("warning", text, None);
        } else {
            print(&format!("{} {}\n", self.paint("33", "warning:"), printable(text)));
        }
    }

    /// Warns of what the store has met and a user should know, each once.
    pub fn notices(self) {
        mayhap_store::notices(|notice| self.warn(&notice.to_string()));
    }

    /// Reports why the command stopped, and the next step for the user of this verb.
    pub fn error(self, error: &Error, problem: &str, verb: &str) {
        if self.json {
            return print_message("error", problem, error.hint(verb).as_deref());
        }
        let mut text = format!("{} {}\n", self.paint("1;31", "mayhap:"), printable(problem));
        if let Some(hint) = error.hint(verb) {
            text.extend([&self.paint("36", "hint:"), " ", &printable(&hint), "\n"]);
        }
        print(&text);
    }

    /// Prints JSON: it was requested, so it comes even when quiet.
    ///
    /// # Errors
    ///
    /// Those of the write, for stdout.
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

    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1B[{code}m{text}\x1B[0m") } else { text.into() }
    }
}

/// A message as a program reads it.
#[derive(serde::Serialize)]
struct Said<'a> {
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Writes a message (`info`, `warning`, `error`) to stderr as one line of JSON.
pub fn print_message(level: &'static str, message: &str, hint: Option<&str>) {
    // Texts always serialise.
    let text = serde_json::to_string(&Said { level, message, hint }).unwrap_or_default();
    print(&(text + "\n"));
}

/// Whether the command line says `--json`, also where it cannot be read otherwise.
pub fn wants_json() -> bool {
    let mut arguments = std::env::args_os().skip(1).take_while(|argument| argument != "--");
    arguments.any(|argument| argument == "--json")
}

/// A line in which control characters are written out: names of files may have any, and are not to
/// move the cursor or to begin a line that looks like ours.
pub fn printable(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return line.into();
    }
    let mut text = String::with_capacity(line.len() + 8);
    for char in line.chars() {
        if char.is_control() {
            text.extend(char.escape_default());
        } else {
            text.push(char);
        }
    }
    text.into()
}

/// The columns before the values of a report.
const ROW_INDENT: usize = 12;

/// A row of a report: what, and what it is.
pub fn row(name: &str, value: &str) -> String {
    let value = wrapped(&printable(value), ROW_INDENT, terminal::columns());
    format!("{name:<11} {value}\n")
}

/// Writes to stderr; where that fails nothing can be reported any more.
pub fn print(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a whole report to stdout.
///
/// # Errors
///
/// [`Error::BrokenPipe`], [`Error::Io`].
pub fn print_stdout(text: &str) -> Result<(), Error> {
    // Not by the standard library's handle, for which a closed one is a success.
    let mut stdout = Output::stdout(&[])?;
    stdout.write(text.as_bytes())?;
    stdout.flush()
}
