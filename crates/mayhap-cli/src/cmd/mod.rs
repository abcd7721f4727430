//! The verbs, a file or folder each, and the command line around them.
//!
//! Filters are made and changed by `create.rs`, `build/`, `freeze.rs`, `add/`, `remove.rs`,
//! `grow/`, `shrink/`, `clear.rs`, `delete.rs`, `merge/`, `assemble.rs` and `convert.rs`; lines
//! pass through `dedup/`, `check.rs`, `filter.rs` and `which.rs`; `info/`, `verify/`, `detect.rs`,
//! `explain.rs`, `plan.rs`, `plot.rs` and `bench/` describe. Servers: `push.rs`, `pull.rs`,
//! `moving.rs`, `rename.rs`, `list.rs`, `orphans.rs`, `ttl.rs`, `ui.rs`, `serve/`, `backup/`,
//! `restore.rs` and `health/`. The command itself: `man.rs`, `completions.rs`.
//!
//! `help.rs` has the examples and notes of verbs, `suggest.rs` other names of verbs.

pub mod add;
pub mod assemble;
#[cfg(feature = "server")]
pub mod backup;
pub mod bench;
pub mod build;
pub mod check;
pub mod clear;
pub mod completions;
pub mod convert;
pub mod create;
pub mod dedup;
pub mod delete;
pub mod detect;
pub mod explain;
pub mod filter;
pub mod freeze;
pub mod grow;
#[cfg(feature = "server")]
pub mod health;
mod help;
pub mod info;
#[cfg(feature = "redis")]
pub mod list;
pub mod man;
pub mod merge;
#[cfg(feature = "redis")]
pub mod moving;
#[cfg(feature = "redis")]
pub mod orphans;
pub mod plan;
pub mod plot;
#[cfg(feature = "redis")]
pub mod pull;
#[cfg(feature = "redis")]
pub mod push;
pub mod remove;
#[cfg(feature = "redis")]
pub mod rename;
#[cfg(feature = "server")]
pub mod restore;
#[cfg(feature = "server")]
pub mod serve;
pub mod shrink;
mod suggest;
#[cfg(feature = "redis")]
pub mod ttl;
#[cfg(feature = "redis")]
pub mod ui;
pub mod verify;
pub mod which;

use crate::args::{MessageArgs, lines, typed, url};
use crate::error::Error;
use crate::files;
use crate::io::messages::{self, Reporter};
use crate::outcome::Outcome;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{
    ArgMatches, Args as _, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand,
};
use mayhap_lists::Stop;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

/// The command line, except for its verbs.
#[derive(Debug, Parser)]
#[command(
    name = "mayhap",
    version,
    about = "Bloom filters on the command line: order-keeping dedup and set membership, fast and \
             in bounded memory",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    messages: MessageArgs,
}

/// All verbs, each with its module: the enum, and the command line of a single one, since building
/// all of them takes longer than a query of one key.
macro_rules! verbs {
    ($($(#[$when:meta])? $name:literal: $verb:ident($module:ident),)*) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $(
                $(#[$when])?
                #[command(name = $name)]
                $verb($module::Args),
            )*
        }

        impl Verb {
            const NAMES: &[&str] = &[$($(#[$when])? $name,)*];

            /// The verb of this name, if there is one.
            fn command(name: &str) -> Option<clap::Command> {
                let command = match name {
                    $(
                        $(#[$when])?
                        $name => $module::Args::augment_args(clap::Command::new($name)),
                    )*
                    _ => return None,
                };
                Some(help::describe(command, text(name)))
            }

            /// Runs it.
            fn run(self, talk: Reporter) -> Result<Outcome, Error> {
                match self {
                    $(
                        $(#[$when])?
                        Self::$verb(args) => $module::run(&args, talk).map(Outcome::from),
                    )*
                }
            }
        }

        /// The examples and notes of a verb, or of the command itself.
        fn text(verb: &str) -> &'static str {
            match verb {
                $(
                    $(#[$when])?
                    $name => include_str!(concat!("manual/", $name, ".txt")),
                )*
                _ => include_str!("manual/mayhap.txt"),
            }
        }
    };
}

verbs! {
    "dedup": Dedup(dedup),
    "build": Build(build),
    "freeze": Freeze(freeze),
    "create": Create(create),
    "add": Add(add),
    "remove": Remove(remove),
    "grow": Grow(grow),
    "shrink": Shrink(shrink),
    "clear": Clear(clear),
    "delete": Delete(delete),
    "check": Check(check),
    "filter": Filter(filter),
    "info": Info(info),
    "verify": Verify(verify),
    "merge": Merge(merge),
    "assemble": Assemble(assemble),
    "which": Which(which),
    "detect": Detect(detect),
    "convert": Convert(convert),
    #[cfg(feature = "redis")]
    "push": Push(push),
    #[cfg(feature = "redis")]
    "pull": Pull(pull),
    #[cfg(feature = "redis")]
    "move": Move(moving),
    #[cfg(feature = "redis")]
    "rename": Rename(rename),
    #[cfg(feature = "redis")]
    "list": List(list),
    #[cfg(feature = "redis")]
    "orphans": Orphans(orphans),
    #[cfg(feature = "redis")]
    "ttl": Ttl(ttl),
    #[cfg(feature = "redis")]
    "ui": Ui(ui),
    #[cfg(feature = "server")]
    "serve": Serve(serve),
    #[cfg(feature = "server")]
    "backup": Backup(backup),
    #[cfg(feature = "server")]
    "restore": Restore(restore),
    #[cfg(feature = "server")]
    "health": Health(health),
    "plan": Plan(plan),
    "plot": Plot(plot),
    "explain": Explain(explain),
    "bench": Bench(bench),
    "completions": Completions(completions),
    "man": Man(man),
}

/// The verbs that only read and print, so that a signal may end them anywhere.
const ONLY_READ: [&str; 11] = [
    "bench", "check", "detect", "explain", "health", "info", "list", "plan", "plot", "verify",
    "which",
];

/// Whether a signal leaves nothing written.
fn writes_whole_or_nothing(verb: &str, matches: &ArgMatches) -> bool {
    match verb {
        "build" | "freeze" | "grow" | "pull" | "shrink" => true,
        "push" => !matches.get_flag("merge"),
        _ => false,
    }
}

/// Parses the command line, runs the verb and reports.
pub fn main() -> ExitCode {
    let code = run();
    messages::flush();
    code
}

fn run() -> ExitCode {
    let (arguments, color) = arguments();
    let mut command = command_for(&arguments).color(color);
    let parsed = command.try_get_matches_from_mut(arguments).and_then(|matches| {
        let messages = Cli::from_arg_matches(&matches)?.messages;
        Ok((Verb::from_arg_matches(&matches)?, messages, matches))
    });
    let (verb, messages, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage_error(&error),
    };
    // Without a verb the parser has refused.
    let Some((name, given)) = matches.subcommand() else { return ExitCode::from(2) };
    let talk = Reporter::new(messages.quiet, messages.color, messages::wants_json());
    if let Err(error) = check(&command, &matches) {
        talk.error(&error, &error.to_string(), name);
        return ExitCode::from(error.exit_code());
    }
    // The first process of a container is ended by no signal that it does not handle.
    let is_first = std::process::id() == 1 && ONLY_READ.contains(&name);
    let prepared = if is_first { Stop::at_once().map_err(Error::from) } else { Ok(()) };
    let result = prepared.and_then(|()| verb.run(talk));
    talk.notices();
    let error = match result {
        Ok(Outcome::Done) => return ExitCode::SUCCESS,
        Ok(Outcome::Nothing | Outcome::Off) => return ExitCode::from(1),
        Err(error) => error,
    };
    match error {
        // A closed pipe means that the reader has enough.
        Error::BrokenPipe => {}
        Error::Stopped { .. } if writes_whole_or_nothing(name, given) => {
            talk.warn(&format!("{error}; nothing was written"));
        }
        Error::Stopped { .. } => {
            talk.warn(&format!("{error}; everything before that was done"));
        }
        _ => {
            if let (Error::Terminal, Some(verb)) = (&error, command.find_subcommand_mut(name))
                && !messages::wants_json()
            {
                messages::print(&format!("{}\n", verb.render_help()));
            }
            let as_typed = |source: &_| typed::message(source, &command, &matches);
            talk.error(&error, &error.message(as_typed), name);
        }
    }
    ExitCode::from(error.exit_code())
}

/// Refuses arguments that no verb could use, before any of them begins.
fn check(command: &clap::Command, matches: &ArgMatches) -> Result<(), Error> {
    url::check(matches)?;
    lines::check(matches)?;
    files::check(command, matches)
}

/// The command line without verbs.
fn without_verbs() -> clap::Command {
    help::describe(Cli::command(), text(""))
}

/// The whole command line, as `completions` and `man` describe it.
pub fn command() -> clap::Command {
    without_verbs().subcommands(Verb::NAMES.iter().filter_map(|name| Verb::command(name)))
}

/// The command line that these arguments need: with one verb, if they begin with its name, and with
/// none to print the version.
fn command_for(arguments: &[OsString]) -> clap::Command {
    match arguments.get(1).and_then(|word| word.to_str()) {
        Some("--version" | "-V") => without_verbs(),
        word => word
            .and_then(Verb::command)
            .map_or_else(command, |verb| without_verbs().subcommand(verb)),
    }
}

/// The arguments, and the colour of help and usage errors.
fn arguments() -> (Vec<OsString>, ColorChoice) {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // `mayhap help VERB` is `mayhap VERB --help`.
    if arguments.get(1).is_some_and(|word| word == "help") {
        arguments.remove(1);
        arguments.truncate(2);
        arguments.push("--help".into());
    }
    let mut color = ColorChoice::Auto;
    for (i, argument) in arguments.iter().enumerate() {
        let value = match argument.to_str() {
            Some("--color") => arguments.get(i + 1).and_then(|value| value.to_str()),
            Some(text) => text.strip_prefix("--color="),
            None => None,
        };
        match value {
            Some("always") => color = ColorChoice::Always,
            Some("never") => color = ColorChoice::Never,
            _ => {}
        }
    }
    (arguments, color)
}

/// Help and version go to stdout; errors go to stderr, in our words.
fn usage_error(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match messages::print_stdout(&render(error)) {
            Ok(()) | Err(Error::BrokenPipe) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(2),
        };
    }
    let mut text = other_verb(error).unwrap_or_else(|| render(error));
    for argument in arguments().0 {
        // A URL may have a password.
        if mayhap_sets::is_url(&argument)
            && let Some(url) = argument.to_str()
        {
            text = text.replace(url, &mayhap_sets::redacted(url));
        }
    }
    if messages::wants_json() {
        let text = text.trim_start_matches("error: ").trim_end();
        let (message, hint) = text.split_once("\n\n").unwrap_or((text, ""));
        messages::print_message("error", message, Some(hint).filter(|hint| !hint.is_empty()));
    } else {
        messages::print(&text.replacen("error:", "mayhap:", 1));
    }
    ExitCode::from(2)
}

/// The message for a verb that has another name here.
fn other_verb(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let described = suggest::verbs_for(name).filter_map(|verb| {
        let about = Verb::command(verb)?.get_about()?.to_string();
        Some(format!("  mayhap {verb:<8} {}\n", first_lower(&about)))
    });
    let described: String = described.collect();
    let text = || format!("error: there is no verb {name}; perhaps:\n\n{described}");
    (!described.is_empty()).then(text)
}

/// A sentence for the middle of a text.
fn first_lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn render(error: &clap::Error) -> String {
    let text = error.render();
    let to_stdout = !error.use_stderr();
    let colored =
        if to_stdout { std::io::stdout().is_terminal() } else { std::io::stderr().is_terminal() };
    let colored = match arguments().1 {
        _ if !to_stdout && messages::wants_json() => false,
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            colored && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    if colored { text.ansi().to_string() } else { text.to_string() }
}
