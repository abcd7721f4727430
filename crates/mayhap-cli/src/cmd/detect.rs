//! `mayhap detect`: the system that a filter belongs to.

use crate::error::Error;
use crate::io::messages::{Reporter, print_findings};
use crate::memory;
use crate::outcome::Outcome;
use mayhap_sets::file::detect_all;
use mayhap_units::number::parse_bytes;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Detect which systems may have written filter files
#[derive(Debug, clap::Args)]
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
    /// The facts that the bytes do not record.
    pub missing: Option<&'static str>,
    /// The damage, if it is not sound.
    pub damage: Option<String>,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
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
            if args.json || !talk.is_quiet() {
                print_findings(args.json, &detected, Detected::line)?;
            }
        }
    }
    Ok(Outcome::found(any))
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
