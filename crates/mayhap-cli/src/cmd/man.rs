//! `mayhap man`: the manual pages.

use super::help;
use crate::error::Error;
use crate::io::messages::{Reporter, print_stdout};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;
use std::path::{Path, PathBuf};

/// Begins the line of the notes that leads to the page.
const POINTER: &str = "Details";

/// Print a manual page, or write all of them to a folder
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The verb [default: the page of mayhap itself]
    #[arg(value_name = "VERB")]
    verb: Option<String>,
    /// Write all pages to this folder
    #[arg(short = 'o', long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
///
/// [`Error::Usage`] for an unknown verb; [`Error::Io`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let mut command = super::command().subcommand_value_name("VERB");
    command.build();
    let top = command.clone().subcommand_help_heading("VERBS");
    if let Some(folder) = &args.out {
        let pages: Vec<&Command> = std::iter::once(&top).chain(command.get_subcommands()).collect();
        for page in &pages {
            write_page(folder, page)?;
        }
        talk.say(&format!("wrote {} pages to {}", pages.len(), folder.display()));
        return Ok(());
    }
    let page = match args.verb.as_deref() {
        None => &top,
        Some(verb) => command.find_subcommand(verb).ok_or_else(|| {
            let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let hint = format!("pages exist for {}", verbs.join(", "));
            Error::usage(format!("unknown verb {verb:?}"), hint)
        })?,
    };
    print_stdout(&render(page).map_err(Error::io("write", "the page"))?)
}

/// Writes `mayhap-VERB.1`, completely or not at all.
fn write_page(folder: &Path, command: &Command) -> Result<(), Error> {
    let name = Man::new(command.clone()).get_filename();
    let (path, new) = (folder.join(&name), folder.join(format!(".{name}.new")));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&new, render(command)?))
        .and_then(|()| std::fs::rename(&new, &path));
    if written.is_err() {
        // A partial file is useless; that it may not exist is no second error.
        let _ = std::fs::remove_file(&new);
    }
    // An action other than "write": a file is no pipe whose reader may go away.
    written.map_err(Error::io("create", &path.display().to_string()))
}

/// The page as roff. `clap_mangen`'s own order is changed only where `--help` differs: the
/// examples, which it leaves out, and the notes, which it runs together.
fn render(command: &Command) -> io::Result<String> {
    let man = Man::new(command.clone())
        .manual("mayhap")
        .source(concat!("mayhap ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    if let Some(about) = text(command.get_about()) {
        roff.text([roman(about + ".")]);
    }
    let notes = text(command.get_after_help()).unwrap_or_default();
    let notes = notes.split("\n\n").filter(|paragraph| !paragraph.starts_with(POINTER));
    for paragraph in notes.chain(help::page_only(super::text(command.get_name()))) {
        roff.control("PP", []).text([roman(paragraph)]);
    }
    if let Some(examples) = text(command.get_before_help()) {
        roff.control("SH", ["EXAMPLES"]).control("EX", []);
        for line in examples.lines().skip(1) {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("EE", []);
    }
    roff.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    } else {
        let see = [roman("mayhap(1)")];
        Roff::new().control("SH", ["SEE ALSO"]).text(see).to_writer(&mut page)?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}
