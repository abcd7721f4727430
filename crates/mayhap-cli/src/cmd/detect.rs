//! `mayhap detect`: of which system a filter is.

use crate::error::Error;
use crate::io::messages::{Talk, print_stdout};
use crate::memory;
use crate::outcome::Outcome;
use mayhap_foreign::detect_all;
use mayhap_units::number::parse_bytes;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mayhap detect seen.mayhap ids.guava
  mayhap detect --json ids.guava | jq .format";

const NOTES: &str = "\
Prints a line for each possible format of a file: the file, the format, its form, and the \
parameters that it does not record, separated by tabs. A format is detected from the first bytes \
and the exact length; - marks a damaged file, followed by the reason. Bare bitmaps (magnuss, \
magnuss-redis, redisson) have no signature and are never detected.

Exit codes: 0 if a format was detected, 1 if none was, 2 after an error.";

/// Detect which systems may have written filter files
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print JSON, one line per file
    #[arg(long)]
    json: bool,
    /// Refuse larger files [default: the memory of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
}

/// One format that a file may be of.
#[derive(Debug, Serialize)]
pub struct Detected {
    /// The file.
    pub file: String,
    /// The name of the format, as `--format` takes it; `mayhap` for our own.
    pub format: &'static str,
    /// Which of its forms.
    pub form: &'static str,
    /// What the bytes do not say.
    pub missing: Option<&'static str>,
    /// Why it is not sound, if it is not.
    pub damage: Option<String>,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let max_bytes = memory::limit(args.max_memory);
    let mut any = false;
    for path in &args.files {
        let detected = detect(path, max_bytes)?;
        if detected.is_empty() {
            talk.say(&format!(
                "{}: no known signature; bare bitmaps and rbloom have none (--format names them)",
                path.display()
            ));
        }
        for detected in detected {
            any |= detected.damage.is_none();
            if args.json {
                Talk::json(&detected, true)?;
            } else if !talk.is_quiet() {
                print_stdout(&detected.line())?;
            }
        }
    }
    Ok(if any { Outcome::Done } else { Outcome::Nothing })
}

fn detect(path: &Path, max_bytes: u64) -> Result<Vec<Detected>, Error> {
    let file = path.display().to_string();
    if let Ok(header) = mayhap_store::read_header(path) {
        let form = header.kind().name();
        return Ok(vec![Detected { file, format: "mayhap", form, missing: None, damage: None }]);
    }
    let detected = |(candidate, damage): (mayhap_formats::Candidate, Option<String>)| Detected {
        file: file.clone(),
        format: candidate.format.name(),
        form: candidate.form,
        missing: Some(candidate.missing).filter(|missing| *missing != "nothing"),
        damage,
    };
    Ok(detect_all(path, max_bytes)?.into_iter().map(detected).collect())
}

impl Detected {
    fn line(&self) -> String {
        let Self { file, format, form, missing, damage } = self;
        match damage {
            None => format!("{file}\t{format}\t{form}\t{}\n", missing.unwrap_or_default()),
            Some(damage) => format!("{file}\t-\t{format}\t{damage}\n"),
        }
    }
}
