//! Every kind of filter beside what would be used instead of it: see `bench/README.md`.

mod contestants;
mod matrix;
mod memory;
mod ours;
mod peers;
mod report;
mod tables;
mod timing;

use mayhap_bench::machine;
use mayhap_bench::stats::{format_count, parse_count};
use report::{Record, Report};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use timing::Plan;

const USAGE: &str = "\
Usage: kinds [--large] [--quick] [--rounds 5] [--budget-ms 10] [--out DIR] [--json FILE]

--large adds 10 M keys, and 512 sets of 1.7 M keys (1.1 GB; 3.5 GB for all who take part).
Writes DIR/kinds.md and DIR/kinds.json (default: bench/results); with --quick only if --out or
--json says where.
";

struct Options {
    is_quick: bool,
    is_large: bool,
    plan: Plan,
    out: Option<PathBuf>,
    json: Option<PathBuf>,
}

fn main() {
    let options = options().unwrap_or_else(|message| {
        eprint!("kinds: {message}\n\n{USAGE}");
        std::process::exit(2);
    });
    let start = Instant::now();
    let facts = machine::facts();
    println!("{}", machine::list(&facts));
    let records = run(&options, start);
    let targets = report::targets(&records);
    let report = Report { facts, rounds: options.plan.rounds, records, targets };
    println!("{}", report.to_markdown());
    eprintln!("took {:.0?}", start.elapsed());
    let json = options.json.or_else(|| Some(options.out.as_ref()?.join("kinds.json")));
    let markdown = options.out.map(|folder| folder.join("kinds.md"));
    for (path, text) in [(markdown, report.to_markdown()), (json, report.to_json())] {
        let Some(path) = path else { continue };
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("kinds: cannot write {}: {error}", path.display());
            std::process::exit(2);
        }
    }
}

fn run(options: &Options, start: Instant) -> Vec<Record> {
    let mut records = Vec::new();
    let sizes: &[u64] = match (options.is_quick, options.is_large) {
        (true, _) => &[10_000],
        (_, false) => &[10_000, 1_000_000],
        (_, true) => &[10_000, 1_000_000, 10_000_000],
    };
    let table = |mut table: contestants::Table| {
        eprintln!("{}, {}, after {:.0?}", table.title, format_count(table.n), start.elapsed());
        timing::run(&mut table, options.plan)
    };
    let rates = [(0.01, true), (0.001, false)];
    let cells = || sizes.iter().flat_map(|&n| rates.map(|(p, is_first)| (n, p, is_first)));
    records.extend(cells().flat_map(|(n, p, is_first)| table(tables::delete(n, p, is_first))));
    records.extend(cells().flat_map(|(n, p, _)| table(tables::grow(n, p))));
    records.extend(cells().flat_map(|(n, p, _)| table(tables::forget(n, p))));
    let set_sizes: &[u64] = match (options.is_quick, options.is_large) {
        (true, _) => &[1_000],
        (_, false) => &[150_000],
        (_, true) => &[150_000, 1_700_000],
    };
    for &n in set_sizes {
        eprintln!("{}, {} each, after {:.0?}", matrix::TITLE, format_count(n), start.elapsed());
        records.extend(matrix::run(n, options.plan));
    }
    records.extend(sizes.iter().flat_map(|&n| table(tables::frozen(n))));
    records
}

fn options() -> Result<Options, String> {
    use lexopt::Arg::{Long, Short};
    let plan = Plan { rounds: 5, budget: Duration::from_millis(10) };
    let mut options = Options { is_quick: false, is_large: false, plan, out: None, json: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Long("quick") => {
                options.is_quick = true;
                options.plan = Plan { rounds: 3, budget: Duration::from_millis(2) };
            }
            Long("large") => options.is_large = true,
            Long("rounds") => options.plan.rounds = count(&mut parser)? as usize,
            Long("budget-ms") => {
                options.plan.budget = Duration::from_millis(count(&mut parser)?);
            }
            Long("out") => options.out = Some(path(&mut parser)?),
            Long("json") => options.json = Some(path(&mut parser)?),
            Long("help") | Short('h') => {
                print!("{USAGE}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    if !options.is_quick && options.out.is_none() {
        options.out = Some(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/results")));
    }
    Ok(options)
}

fn count(parser: &mut lexopt::Parser) -> Result<u64, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    parse_count(&value.to_string_lossy())
}

fn path(parser: &mut lexopt::Parser) -> Result<PathBuf, String> {
    parser.value().map(PathBuf::from).map_err(|error| error.to_string())
}
