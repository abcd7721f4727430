//! Filters against each other in one process: see `bench/README.md`.

mod contestants;
mod floor;
mod ours;
mod peers;
mod report;
mod targets;
mod timing;

use contestants::Cell;
use mayhap_bench::keys::{BenchKey, Url};
use mayhap_bench::machine;
use mayhap_bench::stats::{format_count, parse_count};
use report::{Record, Report};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use timing::Plan;

const USAGE: &str = "\
Usage: filters [--quick] [--sizes 10k,1M,100M] [--fpp 0.01,0.001] [--keys u64,URL]
               [--rows blocked,fastbloom] [--rounds 9] [--budget-ms 10] [--out DIR] [--json FILE]

Writes DIR/filters.md and DIR/filters.json (default: bench/results); with --quick, or if sizes,
rates, keys or rows are named, only if --out or --json says where. With MAYHAP_KERNEL=avx2 in the
environment they are filters-avx2.md and filters-avx2.json. A row runs if its name has one of the
parts.
";

struct Options {
    sizes: Vec<u64>,
    target_fpps: Vec<f64>,
    keys: Vec<String>,
    rows: Vec<String>,
    plan: Plan,
    out: Option<PathBuf>,
    json: Option<PathBuf>,
}

fn main() {
    let options = options().unwrap_or_else(|message| {
        eprint!("filters: {message}\n\n{USAGE}");
        std::process::exit(2);
    });
    let start = Instant::now();
    let facts = machine::facts();
    println!("{}", machine::list(&facts));
    let mut records = Vec::new();
    for &n in &options.sizes {
        for key in &options.keys {
            for (i, &target_fpp) in options.target_fpps.iter().enumerate() {
                let cell = Cell { n, target_fpp, is_first_fpp: i == 0 };
                let size = format_count(n);
                eprintln!("{size} {key} keys, p = {target_fpp}, after {:.0?}", start.elapsed());
                records.extend(match key.as_str() {
                    "u64" => run::<u64>(cell, &options),
                    _ => run::<Url>(cell, &options),
                });
            }
        }
    }
    let ratios = targets::ratios(&records);
    let report = Report { facts, rounds: options.plan.rounds, records, ratios };
    println!("{}", report.to_markdown());
    eprintln!("took {:.0?}", start.elapsed());
    // A configuration of its own, beside the other.
    let name = match std::env::var("MAYHAP_KERNEL") {
        Ok(kernel) => format!("filters-{kernel}"),
        Err(_) => "filters".to_owned(),
    };
    let in_folder = |extension| Some(options.out.as_ref()?.join(format!("{name}.{extension}")));
    let markdown = in_folder("md");
    let json = options.json.clone().or_else(|| in_folder("json"));
    for (path, text) in [(markdown, report.to_markdown()), (json, report.to_json())] {
        let Some(path) = path else { continue };
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("filters: cannot write {}: {error}", path.display());
            std::process::exit(2);
        }
    }
}

fn run<K: BenchKey>(cell: Cell, options: &Options) -> Vec<Record> {
    let mut rows = contestants::rows::<K>(cell, &options.rows);
    let medians = timing::run(cell, &mut rows, options.plan);
    rows.iter().zip(medians).map(|(row, medians)| Record::new(cell, row, medians)).collect()
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        sizes: vec![10_000, 1_000_000, 100_000_000],
        target_fpps: vec![0.01, 0.001],
        keys: vec!["u64".to_owned(), "URL".to_owned()],
        rows: Vec::new(),
        plan: Plan { rounds: 9, budget: Duration::from_millis(10) },
        out: None,
        json: None,
    };
    let mut is_whole = true;
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        use lexopt::Arg::Long;
        if matches!(argument, Long("quick" | "sizes" | "fpp" | "keys" | "rows")) {
            is_whole = false;
        }
        match argument {
            Long("quick") => {
                options.sizes = vec![10_000, 1_000_000];
                options.target_fpps = vec![0.01];
                options.plan = Plan { rounds: 7, budget: Duration::from_millis(2) };
            }
            Long("sizes") => options.sizes = list(&mut parser, parse_count)?,
            Long("fpp") => options.target_fpps = list(&mut parser, fpp)?,
            Long("keys") => options.keys = list(&mut parser, key)?,
            Long("rows") => options.rows = list(&mut parser, |part| Ok(part.to_owned()))?,
            Long("rounds") => {
                options.plan.rounds = list(&mut parser, parse_count)?[0] as usize;
            }
            Long("budget-ms") => {
                options.plan.budget = Duration::from_millis(list(&mut parser, parse_count)?[0]);
            }
            Long("out") => options.out = Some(parser.value().map_err(|e| e.to_string())?.into()),
            Long("json") => options.json = Some(parser.value().map_err(|e| e.to_string())?.into()),
            Long("help") | lexopt::Arg::Short('h') => {
                print!("{USAGE}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    if is_whole && options.out.is_none() {
        options.out = Some(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/results")));
    }
    Ok(options)
}

fn list<T>(
    parser: &mut lexopt::Parser,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    value.to_string_lossy().split(',').map(read).collect()
}

fn fpp(text: &str) -> Result<f64, String> {
    let fpp = text.parse().ok().filter(|fpp| (1e-6..=0.5).contains(fpp));
    fpp.ok_or_else(|| format!("{text} is no rate from 0.000001 to 0.5"))
}

fn key(text: &str) -> Result<String, String> {
    match text {
        "u64" | "URL" => Ok(text.to_owned()),
        "url" => Ok("URL".to_owned()),
        _ => Err(format!("{text} is no key type; there are u64 and URL")),
    }
}
