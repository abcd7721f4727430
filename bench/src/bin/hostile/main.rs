//! Attacks on `mayhap serve` while others use it: their waiting times, and the memory of the
//! server.
//!
//! Each attack has its time; meanwhile one client queries and inserts a thousand times a second,
//! one has a new connection each time, one requests `/healthz`, and one lists filters over HTTP.
//! Ends with 1 where a bound is missed: p99 10 ms, the longest 100 ms, memory 1.2 times
//! `max_memory` and 64 MiB, no client kept out. With `--short` an attack has 200 ms, and the two
//! bounds of time, which assume an idle machine, are printed and not enforced. `attacks/` has the
//! attacks, `bystander.rs` the clients that wait.

mod attacks;
mod bystander;

use attacks::{ATTACKS, PASSWORD, Target};
use bystander::{Bystanders, Waits};
use lexopt::prelude::*;
use mayhap_bench::machine;
use mayhap_bench::process::{Error, Process, free_port};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MAX_MEMORY: u64 = 256 << 20;
const MEMORY: &str = "256MiB";
/// The bound on resident memory.
const MOST_RESIDENT: u64 = MAX_MEMORY / 10 * 12 + (64 << 20);
/// Milliseconds that one of a hundred may wait, and any.
const MOST_WAITED: (f64, f64) = (10.0, 100.0);

struct Options {
    mayhap: PathBuf,
    /// The time of one attack.
    time: Duration,
    /// Whether waits have bounds.
    times: bool,
    /// Only attacks whose names contain this.
    only: Option<String>,
    out: Option<PathBuf>,
}

fn options() -> Result<Options, Error> {
    let time = Duration::from_millis(1500);
    let mut options = Options { mayhap: "mayhap".into(), time, times: true, only: None, out: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("mayhap") => options.mayhap = parser.value()?.into(),
            Long("ms") => options.time = Duration::from_millis(parser.value()?.parse()?),
            Long("short") => {
                options.time = Duration::from_millis(200);
                options.times = false;
            }
            Long("only") => options.only = Some(parser.value()?.string()?),
            Long("out") => options.out = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(options)
}

/// The result of one attack.
struct Row {
    name: &'static str,
    waits: Waits,
    /// Before, at the peak, after.
    resident: [u64; 3],
}

impl Row {
    fn problems(&self, times: bool) -> Vec<&'static str> {
        let Waits { rare, longest, kept_out, .. } = &self.waits;
        let bad = [
            (times && *rare > MOST_WAITED.0, "p99"),
            (times && *longest > MOST_WAITED.1, "longest"),
            (self.resident[1] > MOST_RESIDENT, "memory"),
            (!kept_out.is_empty(), "kept out"),
        ];
        bad.into_iter().filter(|(is_bad, _)| *is_bad).map(|(_, what)| what).collect()
    }
}

/// The server's folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("mayhap-hostile-{}", std::process::id()));
        std::fs::create_dir_all(path.join("data"))?;
        Ok(Self(path))
    }

    /// The password of the user of bystanders and attackers; others guess it.
    fn write_password(&self) -> Result<PathBuf, Error> {
        let path = self.0.join("password");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(PASSWORD.as_bytes())?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn main() -> Result<ExitCode, Error> {
    let options = options()?;
    let facts = machine::facts();
    let http = free_port()?;
    let http_text = http.to_string();
    let folder = Folder::new()?;
    let password = folder.write_password()?;
    let password = password.to_str().ok_or("a temporary folder whose name is no text")?;
    let arguments = ["--max-memory", MEMORY, "--http", &http_text, "--password-file", password];
    let data = folder.0.join("data");
    let server = Process::mayhap_with(&options.mayhap, Some((&data, "everysec")), &arguments)?;
    let target = Target::new(server.port(), http)?;
    let mut rows = Vec::new();
    let named = |name: &str| {
        options.only.as_ref().is_none_or(|only| only.split('|').any(|part| name.contains(part)))
    };
    for (name, attack) in ATTACKS.iter().filter(|(name, _)| named(name)) {
        let row = run(name, *attack, &server, &target, options.time)?;
        eprintln!("{}", line(&row, options.times));
        for problem in &row.waits.kept_out {
            eprintln!("kept out: {problem}");
        }
        rows.push(row);
    }
    let report = report(&facts, &rows, options.times);
    println!("{report}");
    if let Some(out) = &options.out {
        std::fs::write(out.join("hostile.md"), &report)?;
    }
    let is_good = rows.iter().all(|row| row.problems(options.times).is_empty());
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs an attack, with bystanders for its duration.
fn run(
    name: &'static str,
    attack: attacks::Attack,
    server: &Process,
    target: &Target,
    time: Duration,
) -> Result<Row, Error> {
    let before = server.resident()?;
    let mut peak = before;
    let bystanders = Bystanders::start(target);
    let until = Instant::now() + time;
    std::thread::scope(|scope| -> Result<(), Error> {
        let attacker = scope.spawn(move || attack(target, until));
        while Instant::now() < until || !attacker.is_finished() {
            peak = peak.max(server.resident()?);
            std::thread::sleep(Duration::from_millis(5));
        }
        match attacker.join() {
            Ok(done) => done.map_err(|error| format!("{name}: {error}").into()),
            Err(_) => Err(format!("{name}: the attacker panicked").into()),
        }
    })?;
    let waits = bystanders.end();
    let after = server.resident()?;
    Ok(Row { name, waits, resident: [before, peak.max(after), after] })
}

fn line(row: &Row, times: bool) -> String {
    let Waits { usual, rare, longest, count, kept_out } = &row.waits;
    let kept_out = kept_out.len();
    let [before, peak, after] = row.resident.map(|bytes| bytes >> 20);
    let problems = row.problems(times);
    let verdict = if problems.is_empty() { "pass".to_owned() } else { problems.join(", ") };
    format!(
        "| {} | {usual:.2} | {rare:.2} | {longest:.1} | {count} | {kept_out} | {before} | {peak} | \
         {after} | {verdict} |",
        row.name
    )
}

fn report(facts: &[(&'static str, String)], rows: &[Row], times: bool) -> String {
    let mut out = format!(
        "# Attacks, and those who wait\n\nMade by `make hostile`: `mayhap serve --max-memory \
         {MEMORY} --threads 1 --data FOLDER \
         --password-file FILE`, attackers and bystanders on one machine. Milliseconds that \
         bystanders waited for an answer (a client that goes on, one with a new connection each \
         time, `/healthz`, a list of filters over HTTP with the right password), and MiB that \
         were resident. Bounds: p99 {} ms, the longest {} ms, {} MiB, nobody kept out.\n\n{}\n",
        MOST_WAITED.0,
        MOST_WAITED.1,
        MOST_RESIDENT >> 20,
        machine::list(facts),
    );
    out += "| attack | p50 | p99 | longest | answers | kept out | before | peak | after | |\n";
    out += "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";
    for row in rows {
        let _ = writeln!(out, "{}", line(row, times));
    }
    out
}
