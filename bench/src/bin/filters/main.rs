//! Filters against each other in one process: see `bench/README.md`.

mod contestants;
mod floor;
mod matrix;
mod memory;
mod ours;
mod peers;
mod report;
mod tables;
mod targets;
mod timing;

use contestants::Table;
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
       filters --kinds [--large] [--quick] [--sizes 10k,1M] [--fpp 0.01,0.001] [--rows window]
               [--rounds 5] [--budget-ms 10] [--out DIR] [--json FILE]

Plain filters, or with --kinds every other kind beside its alternatives; --large adds 10 M keys, and
512 sets of 1.7 M keys (1.1 GB; 3.5 GB for all who take part). Writes DIR/filters.md and
DIR/filters.json, or kinds.md and kinds.json (default: bench/results); with --quick, or if sizes,
rates, keys or rows are named, only if --out or --json says where. With MAYHAP_KERNEL=avx2 in the
environment they are filters-avx2.md and filters-avx2.json. A row runs if its name has one of the
parts.
";

struct Options {
    /// Whether the kinds are measured, and not plain filters.
    kinds: bool,
    sizes: Vec<u64>,
    /// The sizes of each of 512 sets.
    set_sizes: Vec<u64>,
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
    let facts = machine::facts();
    println!("{}", machine::list(&facts));
    let start = Instant::now();
    let run = Run { options: &options, start };
    let records = if options.kinds { run.kinds() } else { run.plain() };
    let targets = targets::targets(&records);
    let (title, arguments) = if options.kinds { ("Kinds", " -- --kinds") } else { ("Filters", "") };
    let rounds = options.plan.rounds;
    let report = Report { title, arguments, facts, rounds, records, targets };
    println!("{}", report.to_markdown());
    eprintln!("took {:.0?}", start.elapsed());
    let name = title.to_lowercase();
    // A configuration of its own, next to the other.
    let name = match std::env::var("MAYHAP_KERNEL") {
        Ok(kernel) => format!("{name}-{kernel}"),
        Err(_) => name,
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

/// A run with these options.
struct Run<'a> {
    options: &'a Options,
    start: Instant,
}

impl Run<'_> {
    /// Plain filters.
    fn plain(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for &n in &self.options.sizes {
            for key in &self.options.keys {
                for (i, &p) in self.options.target_fpps.iter().enumerate() {
                    records.extend(match key.as_str() {
                        "u64" => self.table(tables::plain::<u64>(n, p, i == 0)),
                        _ => self.table(tables::plain::<Url>(n, p, i == 0)),
                    });
                }
            }
        }
        records
    }

    /// Every other kind beside what would be used instead of it.
    fn kinds(&self) -> Vec<Record> {
        let Options { sizes, set_sizes, target_fpps, .. } = self.options;
        let rates = || target_fpps.iter().enumerate().map(|(i, &p)| (p, i == 0));
        let cells = || sizes.iter().flat_map(|&n| rates().map(move |(p, first)| (n, p, first)));
        let mut records = Vec::new();
        records.extend(cells().flat_map(|(n, p, first)| self.table(tables::delete(n, p, first))));
        records.extend(cells().flat_map(|(n, p, _)| self.table(tables::grow(n, p))));
        records.extend(cells().flat_map(|(n, p, _)| self.table(tables::forget(n, p))));
        let sets = |&n: &u64| self.table(matrix::table(n, |name| self.is_wanted(name)));
        records.extend(set_sizes.iter().flat_map(sets));
        records.extend(sizes.iter().flat_map(|&n| self.table(tables::frozen(n))));
        records
    }

    fn is_wanted(&self, name: &str) -> bool {
        let only = &self.options.rows;
        only.is_empty() || only.iter().any(|part| name.contains(part))
    }

    /// One table, with the rows that are to be run.
    fn table<K: BenchKey>(&self, mut table: Table<K>) -> Vec<Record> {
        table.rows.retain(|row| self.is_wanted(row.name));
        let (size, keys, after) = (format_count(table.n), K::NAME, self.start.elapsed());
        let title = if table.title.is_empty() { "Plain" } else { table.title };
        eprintln!("{title}: {size} {keys} keys, p = {:?}, after {after:.0?}", table.target_fpp);
        timing::run(table, self.options.plan)
    }
}

impl Options {
    /// The whole of the plain filters, or of the kinds.
    fn whole(kinds: bool) -> Self {
        let (sizes, rounds): (&[u64], _) =
            if kinds { (&[10_000, 1_000_000], 5) } else { (&[10_000, 1_000_000, 100_000_000], 9) };
        Self {
            kinds,
            sizes: sizes.to_vec(),
            set_sizes: vec![150_000],
            target_fpps: vec![0.01, 0.001],
            keys: vec!["u64".to_owned(), "URL".to_owned()],
            rows: Vec::new(),
            plan: Plan { rounds, budget: Duration::from_millis(10) },
            out: None,
            json: None,
        }
    }

    /// A look.
    fn quick(&mut self) {
        self.plan = Plan { rounds: 7, budget: Duration::from_millis(2) };
        if self.kinds {
            (self.sizes, self.set_sizes) = (vec![10_000], vec![1_000]);
            self.plan.rounds = 3;
        } else {
            (self.sizes, self.target_fpps) = (vec![10_000, 1_000_000], vec![0.01]);
        }
    }
}

fn options() -> Result<Options, String> {
    use lexopt::Arg::{Long, Short};
    let mut options = Options::whole(std::env::args().any(|argument| argument == "--kinds"));
    let mut is_whole = true;
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        if matches!(argument, Long("quick" | "sizes" | "fpp" | "keys" | "rows")) {
            is_whole = false;
        }
        match argument {
            Long("kinds") => {}
            Long("quick") => options.quick(),
            Long("large") if options.kinds => {
                options.sizes.push(10_000_000);
                options.set_sizes.push(1_700_000);
            }
            Long("sizes") => options.sizes = list(&mut parser, parse_count)?,
            Long("fpp") => options.target_fpps = list(&mut parser, fpp)?,
            Long("keys") if !options.kinds => options.keys = list(&mut parser, key)?,
            Long("rows") => options.rows = list(&mut parser, |part| Ok(part.to_owned()))?,
            Long("rounds") => {
                options.plan.rounds = list(&mut parser, parse_count)?[0] as usize;
            }
            Long("budget-ms") => {
                options.plan.budget = Duration::from_millis(list(&mut parser, parse_count)?[0]);
            }
            Long("out") => options.out = Some(parser.value().map_err(|e| e.to_string())?.into()),
            Long("json") => options.json = Some(parser.value().map_err(|e| e.to_string())?.into()),
            Long("help") | Short('h') => {
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
