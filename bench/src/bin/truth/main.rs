//! Mayhap's reports about itself, against the truth: the keys that the command reports as lost
//! against the lost ones, and the rates and times of time windows against their promises.
//!
//! Each figure is compared with its bound, and the program ends with 1 if one is beyond it. Nothing
//! here is timed, and all keys and seeds are fixed: a run repeats the last one, except for the
//! order in which batches reach a server.

mod losses;
mod patterns;
mod report;
mod windows;

use lexopt::prelude::*;
use mayhap_bench::{machine, stats};
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

type Error = Box<dyn std::error::Error>;

struct Options {
    /// The command.
    mayhap: PathBuf,
    /// Keys that the filters are made for.
    items: u64,
    /// Keys that the windows are made for.
    window_items: u64,
    out: Option<PathBuf>,
}

fn options() -> Result<Options, Error> {
    let mut options = Options {
        mayhap: "target/release/mayhap".into(),
        items: 200_000,
        window_items: 108_000,
        out: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("mayhap") => options.mayhap = parser.value()?.into(),
            Long("items") => options.items = stats::parse_count(&parser.value()?.string()?)?,
            Long("window-items") => {
                options.window_items = stats::parse_count(&parser.value()?.string()?)?;
            }
            Long("out") => options.out = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected().into()),
        }
    }
    options.mayhap = options.mayhap.canonicalize()?;
    Ok(options)
}

fn main() -> Result<ExitCode, Error> {
    let options = options()?;
    let facts = machine::facts();
    let losses = losses::all(&options.mayhap, options.items)?;
    let (items, window_items) = (options.items, options.window_items);
    let windows = windows::all(window_items);
    let report = Report { facts, items, window_items, losses, windows };
    print!("{}", report.to_markdown());
    if let Some(out) = &options.out {
        std::fs::write(out.join("truth.md"), report.to_markdown())?;
        std::fs::write(out.join("truth.json"), report.to_json())?;
    }
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
