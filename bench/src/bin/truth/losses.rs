//! Runs of `mayhap dedup` over more distinct lines than its filter is made for.

use crate::Error;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use test_servers::{RedisOptions, RedisServer};

/// A run, with its reported numbers.
#[derive(Serialize)]
pub(crate) struct Loss {
    pub(crate) filter: &'static str,
    pub(crate) target_fpp: f64,
    /// Keys that the filter is made for, or begins with.
    pub(crate) items: u64,
    /// Distinct lines.
    pub(crate) distinct: u64,
    /// The new lines that were not printed.
    pub(crate) lost: u64,
    /// `expected_lost_lines` of the summary, and its standard deviation.
    pub(crate) told: f64,
    pub(crate) sigma: f64,
}

impl Loss {
    /// The distance from the truth, in standard deviations.
    pub(crate) fn off(&self) -> f64 {
        (self.told - self.lost as f64) / self.sigma
    }
}

/// Distinct lines, each ten of them followed by the same again: not every line that is dropped is
/// a lost one.
fn input(distinct: u64) -> Vec<u8> {
    let mut text = String::new();
    for ten in (0..distinct).step_by(10) {
        for key in (ten..ten + 10).chain(ten..ten + 10) {
            let _ = writeln!(text, "key-{key}");
        }
    }
    text.into_bytes()
}

fn dedup(mayhap: &Path, arguments: &[&str], distinct: u64) -> Result<Value, Error> {
    let mut child = Command::new(mayhap)
        .args(["dedup", "--json"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let feeder = std::thread::spawn(move || stdin.write_all(&input(distinct)));
    let output = child.wait_with_output()?;
    feeder.join().map_err(|_| "the feeder ended early")??;
    let text = String::from_utf8(output.stderr)?;
    if !output.status.success() {
        return Err(format!("mayhap dedup {arguments:?}: {text}").into());
    }
    let summary = text.lines().rev().find(|line| line.starts_with('{'));
    let start = text.find("{\n").or_else(|| summary.and_then(|line| text.find(line)));
    Ok(serde_json::from_str(&text[start.ok_or("no summary")?..])?)
}

/// The parameters that differ between the runs.
struct Case<'a> {
    filter: &'static str,
    target_fpp: f64,
    items: u64,
    distinct: u64,
    arguments: &'a [&'a str],
}

impl Case<'_> {
    fn run(&self, mayhap: &Path) -> Result<Loss, Error> {
        let fpp = self.target_fpp.to_string();
        let arguments = [&["-p", &fpp][..], self.arguments].concat();
        let summary = dedup(mayhap, &arguments, self.distinct)?;
        let number = |name: &str| summary[name].as_f64().ok_or(format!("{name} is missing"));
        let kept = number("lines_kept")? as u64;
        let loss = Loss {
            filter: self.filter,
            target_fpp: self.target_fpp,
            items: self.items,
            distinct: self.distinct,
            lost: self.distinct - kept,
            told: number("expected_lost_lines")?,
            sigma: number("expected_lost_lines_sigma")?,
        };
        eprintln!("{} at {}, {}: {:+.2} σ", loss.filter, fpp, loss.distinct, loss.off());
        Ok(loss)
    }
}

/// All runs: plain filters with 2, 3, 5 and 10 times their expected items, and the kinds without a
/// capacity, in a file and on a server.
pub(crate) fn all(mayhap: &Path, items: u64) -> Result<Vec<Loss>, Error> {
    let folder = std::env::temp_dir().join(format!("mayhap-truth-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let losses = in_folder(mayhap, items, &folder);
    std::fs::remove_dir_all(&folder)?;
    losses
}

fn in_folder(mayhap: &Path, items: u64, folder: &Path) -> Result<Vec<Loss>, Error> {
    let mut losses = Vec::new();
    let (made_for, first) = (items.to_string(), (items / 100).to_string());
    let mut run = |filter, target_fpp, [items, distinct]: [u64; 2], arguments: &[&str]| {
        let case = Case { filter, target_fpp, items, distinct, arguments };
        case.run(mayhap).map(|loss| losses.push(loss))
    };
    for filter in ["blocked", "standard"] {
        for fpp in [0.1, 0.01, 0.001] {
            for times in [1, 2, 3, 5, 10] {
                let size = ["-n", &made_for, "--layout", filter, "--overfill"];
                run(filter, fpp, [items, times * items], &size)?;
            }
        }
    }
    let server = RedisServer::start(&RedisOptions::default())?;
    for (i, fpp) in [0.1, 0.01, 0.001].into_iter().enumerate() {
        let file = folder.join(format!("growing-{i}")).display().to_string();
        let grows = ["--state", &file, "--layout", "scalable", "-n", &first];
        run("growing", fpp, [items / 100, 5 * items], &grows)?;
        run("window of items", fpp, [items, 10 * items], &["--window", &made_for])?;
        let time = ["--window", "7d", "-n", &made_for];
        run("window of time", fpp, [items, 10 * items], &time)?;
        for times in [1, 3, 10] {
            let url = format!("{}/0/truth-{i}-{times}", server.url());
            let size = ["--state", &url, "-n", &made_for, "--overfill"];
            run("on Redis", fpp, [items, times * items], &size)?;
        }
    }
    Ok(losses)
}
