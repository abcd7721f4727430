//! The verbs, one file each, and what is around them.

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
pub mod grow;
#[cfg(feature = "server")]
pub mod health;
pub mod info;
pub mod man;
pub mod merge;
pub mod plan;
pub mod plot;
#[cfg(feature = "redis")]
pub mod pull;
#[cfg(feature = "redis")]
pub mod push;
pub mod remove;
#[cfg(feature = "server")]
pub mod serve;
mod sources;
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
use crate::io::messages::{self, Color, Talk};
use crate::outcome::Outcome;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use mayhap_lists::Stop;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "mayhap",
    version,
    about = "Bloom filters on the command line: order-keeping dedup and set membership, fast and \
             in bounded memory",
    before_help = EXAMPLES,
    after_help = EXIT_CODES,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    messages: MessageArgs,
}

const EXAMPLES: &str = "\
Examples:
  mayhap dedup urls.txt > unique.txt          # keep the first of equal lines
  tail -f log | mayhap dedup -n 10M           # of a stream, as it arrives
  mayhap build -o pw.mayhap passwords.txt.gz  # build a filter from a list
  mayhap check pw.mayhap < words              # print the lines that may be in it
  mayhap info pw.mayhap                       # look inside
  mayhap which -f a.mayhap -f b.mayhap < keys  # which of many sets may contain each line
  mayhap plan -n 1B -p 0.1%                   # how big a filter is, and whether it pays off";

const EXIT_CODES: &str = "\
mayhap help VERB, or mayhap VERB --help, describes a verb. Exit codes: 0 done, or found; 1 \
nothing found (check, filter, which, detect), or something is off (verify, health); 2 error, or \
the filter is full; 130 and 143 after SIGINT and SIGTERM. A closed pipe (| head) is not an error. \
Counts are written as 10M, 1.5G or 1_000, sizes as 512M or 64KiB, rates as 0.1%, 1e-6 or 1/1000. \
Input may be compressed (gzip, zstd, bzip2, xz, lz4). A key is any bytes, without one CR before \
the line feed (--raw keeps all bytes). No command reads and writes the same file, under \
whatever names, except for filters that add and remove change in place, the --state of dedup, and \
a merge onto one of its inputs.";

#[derive(Debug, Subcommand)]
enum Verb {
    Dedup(dedup::Args),
    Build(build::Args),
    Create(create::Args),
    Add(add::Args),
    Remove(remove::Args),
    Grow(grow::Args),
    Clear(clear::Args),
    Delete(delete::Args),
    Check(check::Args),
    Filter(filter::Args),
    Info(info::Args),
    Verify(verify::Args),
    Merge(merge::Args),
    Assemble(assemble::Args),
    Which(which::Args),
    Detect(detect::Args),
    Convert(convert::Args),
    #[cfg(feature = "redis")]
    Push(push::Args),
    #[cfg(feature = "redis")]
    Pull(pull::Args),
    #[cfg(feature = "redis")]
    Ttl(ttl::Args),
    #[cfg(feature = "redis")]
    Ui(ui::Args),
    #[cfg(feature = "server")]
    Serve(serve::Args),
    #[cfg(feature = "server")]
    Backup(backup::Args),
    #[cfg(feature = "server")]
    Restore(backup::RestoreArgs),
    #[cfg(feature = "server")]
    Health(health::Args),
    Plan(plan::Args),
    Plot(plot::Args),
    Explain(explain::Args),
    Bench(bench::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Verb {
    /// Runs it.
    fn run(self, talk: Talk, color: Color) -> Result<Outcome, Error> {
        match self {
            Self::Dedup(args) => dedup::run(&args, talk),
            Self::Build(args) => build::run(&args, talk),
            Self::Create(args) => create::run(&args, talk),
            Self::Add(args) => add::run(&args, talk),
            Self::Remove(args) => remove::run(&args, talk),
            Self::Grow(args) => grow::run(&args, talk),
            Self::Clear(args) => clear::run(&args, talk),
            Self::Delete(args) => delete::run(&args, talk),
            Self::Check(args) => check::run(&args, talk),
            Self::Filter(args) => filter::run(&args, talk),
            Self::Info(args) => info::run(&args, talk),
            Self::Verify(args) => verify::run(&args, talk),
            Self::Merge(args) => merge::run(&args, talk),
            Self::Assemble(args) => assemble::run(&args, talk),
            Self::Which(args) => which::run(&args, talk),
            Self::Detect(args) => detect::run(&args, talk),
            Self::Convert(args) => convert::run(&args, talk),
            #[cfg(feature = "redis")]
            Self::Push(args) => push::run(&args, talk),
            #[cfg(feature = "redis")]
            Self::Pull(args) => pull::run(&args, talk),
            #[cfg(feature = "redis")]
            Self::Ttl(args) => ttl::run(&args, talk),
            #[cfg(feature = "redis")]
            Self::Ui(args) => ui::run(&args, talk),
            #[cfg(feature = "server")]
            Self::Serve(args) => serve::run(&args, talk),
            #[cfg(feature = "server")]
            Self::Backup(args) => backup::run(&args, talk),
            #[cfg(feature = "server")]
            Self::Restore(args) => backup::restore(&args, talk),
            #[cfg(feature = "server")]
            Self::Health(args) => health::run(&args, talk),
            Self::Plan(args) => plan::run(&args, color),
            Self::Bench(args) => bench::run(&args, talk),
            Self::Plot(args) => plot::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args, talk),
        }
    }

    /// Whether it only reads and prints, so that a signal may end it anywhere.
    fn only_reads(&self) -> bool {
        #[cfg(feature = "server")]
        if matches!(self, Self::Health(_)) {
            return true;
        }
        matches!(
            self,
            Self::Check(_)
                | Self::Which(_)
                | Self::Verify(_)
                | Self::Info(_)
                | Self::Detect(_)
                | Self::Explain(_)
                | Self::Plan(_)
                | Self::Plot(_)
                | Self::Bench(_)
        )
    }

    /// Whether nothing was written where a signal ended it.
    fn writes_whole_or_nothing(&self) -> bool {
        match self {
            Self::Build(_) | Self::Grow(_) => true,
            #[cfg(feature = "redis")]
            Self::Push(args) => !args.merge,
            #[cfg(feature = "redis")]
            Self::Pull(_) => true,
            _ => false,
        }
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
    let command = command().color(color);
    let parsed = command.try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage_error(&error),
    };
    let verb = matches.subcommand_name().unwrap_or_default();
    let talk = Talk::new(cli.messages.quiet, cli.messages.color, messages::wants_json());
    if let Err(error) = check(&matches) {
        talk.error(&error, &error.to_string(), verb);
        return ExitCode::from(error.exit_code());
    }
    let is_whole = cli.verb.writes_whole_or_nothing();
    // The first process of a container is ended by no signal that it does not handle.
    let is_first = std::process::id() == 1 && cli.verb.only_reads();
    let prepared = if is_first { Stop::at_once().map_err(Error::from) } else { Ok(()) };
    let result = prepared.and_then(|()| cli.verb.run(talk, cli.messages.color));
    talk.notices();
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Nothing | Outcome::Off) => ExitCode::from(1),
        Err(error) => {
            match error {
                // A closed pipe is how readers say "enough".
                Error::BrokenPipe => {}
                Error::Stopped { .. } if is_whole => {
                    talk.warn(&format!("{error}; nothing was written"));
                }
                Error::Stopped { .. } => talk.warn(&format!(
                    "{error}; everything before that was \
                                                             done"
                )),
                _ => {
                    let as_typed = |source: &_| typed::message(source, &self::command(), &matches);
                    talk.error(&error, &error.message(as_typed), verb);
                }
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Refuses what no verb could use, before any of them begins.
fn check(matches: &ArgMatches) -> Result<(), Error> {
    url::check(matches)?;
    lines::check(matches)?;
    files::check(&command(), matches)
}

/// The whole command line, as `completions` and `man` describe it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The arguments, and the colour that help and usage errors are to have.
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

/// Help and version go to stdout; what is wrong goes to stderr, in our words.
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
        if url::is_meant(&argument)
            && let Some(url) = argument.to_str()
        {
            text = text.replace(url, &url::redacted(url));
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

/// The message for a verb that is called something else here.
fn other_verb(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let verbs = suggest::verbs_for(name)?;
    let is_about =
        |verb: &str| command().find_subcommand(verb)?.get_about().map(ToString::to_string);
    let described = verbs.iter().filter_map(|verb| {
        is_about(verb).map(|about| format!("  mayhap {verb:<8} {}\n", first_lower(&about)))
    });
    let described: String = described.collect();
    Some(format!("error: there is no verb {name}; perhaps:\n\n{described}"))
}

/// A sentence in the middle of others.
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
