//! `mayhap plan`: which filter, how big, and whether it pays.

mod recipe;

use crate::args::parse_window;
use crate::error::Error;
use crate::explorer;
use crate::io::messages::{Color, Reporter, print_findings, print_stdout, row};
use crate::io::terminal;
use crate::memory::usable_bytes;
use crate::outcome::Outcome;
use mayhap::native::Kind;
use mayhap::plan::{Costs, Needs};
use mayhap_plan::{Amount, Curve, Known, Report, Solved, Table, chart, link, memory_sizes};
use mayhap_sets::LayoutName;
use mayhap_units::number::{counted, parse_bytes, parse_count, parse_fpp, parse_share};
use mayhap_units::span::write_millis;
use mayhap_units::window::WindowSize;
use recipe::recipe;
use serde::Serialize;

/// The hint after every refusal of numbers.
const HINT: &str = "for example: mayhap plan -n 1B -p 0.1%";

/// The options of the planner of all kinds that do not apply to one plain filter.
const NOT_OF_ONE: [&str; 11] = [
    "budget",
    "delete",
    "window",
    "frozen",
    "unknown_n",
    "sets",
    "key_bytes",
    "disk_cost",
    "filter_cost",
    "misses",
    "per_second",
];

/// Plan a filter: its kind, its size, its rate, and whether it pays off
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Expected number of distinct keys in each set: 10M, 1.5G, 1e6
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = parse_count)]
    items: Option<u64>,
    /// Target false-positive probability: 1e-6, 0.1%, 1/1000
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp)]
    fpp: Option<f64>,
    /// Memory for all sets together: 512M, 2GiB
    #[arg(long, visible_alias = "mem", value_name = "SIZE", value_parser = parse_bytes)]
    budget: Option<u64>,
    /// Number of bits: 20, 1M
    #[arg(short = 'm', long, value_name = "COUNT", value_parser = parse_count,
          help_heading = "One plain filter", conflicts_with_all = NOT_OF_ONE)]
    bits: Option<u64>,
    /// Number of hash functions: 1 to 32, or 4, 8, 16 for blocked [default: the best]
    #[arg(short = 'k', long, value_name = "COUNT",
          help_heading = "One plain filter", conflicts_with_all = NOT_OF_ONE)]
    hashes: Option<u32>,
    /// standard or blocked
    #[arg(long, value_name = "LAYOUT", value_parser = LayoutName::parse,
          help_heading = "One plain filter", conflicts_with_all = NOT_OF_ONE)]
    layout: Option<LayoutName>,
    /// Plot the rate for fewer and for more keys than -n
    #[arg(long, conflicts_with = "json")]
    plot: bool,
    /// Print all numbers as JSON
    #[arg(long)]
    json: bool,
    /// Print the link to the explorer page with these numbers, and nothing else [default: that of
    /// this command, put into the cache folder]
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["json", "plot", "bits", "hashes", "layout"])]
    url: Option<String>,
    /// Keys are removed one by one
    #[arg(long, help_heading = "Needs")]
    delete: bool,
    /// Old keys are forgotten: remember the last 10M of them, or those of the last 7d (with -n)
    #[arg(long, value_name = "WINDOW", value_parser = parse_window, help_heading = "Needs")]
    window: Option<WindowSize>,
    /// All keys are there before the first query and never change
    #[arg(long, help_heading = "Needs")]
    frozen: bool,
    /// The number of keys is unknown: -n is a first guess
    #[arg(long, help_heading = "Needs")]
    unknown_n: bool,
    /// Sets, where each query is "which of them hold it?"
    #[arg(long, value_name = "COUNT", value_parser = parse_count, default_value = "1",
          hide_default_value = true, help_heading = "Needs")]
    sets: u64,
    /// Average size of a key in bytes, to compare with a set of the keys [shown for: 32]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Needs")]
    key_bytes: Option<u64>,
    /// Cost of a lookup on disk or in the database: 10ms, or any number
    #[arg(long, value_name = "COST", value_parser = Amount::parse, help_heading = "Cost",
          requires_all = ["filter_cost", "misses"])]
    disk_cost: Option<Amount>,
    /// Cost of a query of the filter: 1us, or a number of the same unit
    #[arg(long, value_name = "COST", value_parser = Amount::parse, help_heading = "Cost",
          requires_all = ["disk_cost", "misses"])]
    filter_cost: Option<Amount>,
    /// Share of queries for absent keys: 90%
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "Cost",
          requires_all = ["disk_cost", "filter_cost"])]
    misses: Option<f64>,
    /// Queries per second, for the disk reads that false positives cause
    #[arg(long, value_name = "COUNT", value_parser = parse_count, help_heading = "Cost",
          requires = "disk_cost")]
    per_second: Option<u64>,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let color = talk.color();
    if args.bits.is_some() || args.hashes.is_some() || args.layout.is_some() {
        return args.solve(color);
    }
    let needs = args.needs()?;
    let known = [needs.items.is_some(), needs.target_fpp.is_some(), needs.max_bytes.is_some()];
    match known.into_iter().filter(|known| *known).count() {
        2.. if args.url.is_some() => args.link(&needs),
        _ if args.url.is_some() => Err(Error::usage(
            "--url shows one filter, which fewer than two numbers do not determine",
            "give two of -n, -p and --budget",
        )),
        0 => Err(Error::usage("none of -n, -p and --budget is given", HINT)),
        1 if args.plot => Err(Error::usage(
            "--plot needs the parameters of one filter, and one number gives a table",
            "give two of -n, -p and --budget",
        )),
        1 => args.table(&needs),
        _ => args.one(&needs, color),
    }
}

/// A table, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Rows {
    rows: Vec<Solved>,
}

impl Args {
    /// n, p, m and k of one plain filter.
    fn solve(&self, color: Color) -> Result<Outcome, Error> {
        let name = self.layout.unwrap_or(LayoutName::Standard);
        let Some(layout) = name.layout() else {
            return Err(Error::usage(
                format!("--layout {} is not a plain filter", name.name()),
                "there are standard and blocked; --delete, --window, --unknown-n and --frozen plan \
                 the other kinds",
            ));
        };
        let known = Known {
            layout,
            items: self.items,
            target_fpp: self.fpp,
            num_bits: self.bits,
            num_hashes: self.hashes,
        };
        let Some(solved) = known.solve().map_err(|error| refused(&error))? else {
            return self.solve_rows(&known);
        };
        print_findings(self.json, &solved, |solved| {
            let curve = Curve {
                name: solved.layout.name(),
                items: solved.items,
                fpp_after: &|items| Some(solved.fpp_after(items)),
                is_slow: false,
            };
            text_of(&solved.rows()) + &self.chart(&curve, color)
        })?;
        Ok(Outcome::found(solved.keeps_target()))
    }

    /// A row for each rate, or each number of keys.
    fn solve_rows(&self, known: &Known) -> Result<Outcome, Error> {
        if self.plot {
            return Err(Error::usage(
                "--plot draws one filter, and this makes a table",
                "give two of -n, -p and -m",
            ));
        }
        let rows = known.table().map_err(|error| refused(&error))?;
        print_findings(self.json, &Rows { rows }, |table| Solved::columns(&table.rows))?;
        Ok(Outcome::Done)
    }

    /// The planner's question.
    fn needs(&self) -> Result<Needs, Error> {
        let costs = match (self.disk_cost, self.filter_cost, self.misses) {
            (Some(disk), Some(filter), Some(_)) if !disk.has_unit_of(filter) => {
                return Err(Error::usage(
                    "one cost has a unit and the other has none",
                    "give both with a unit, for example: --disk-cost 10ms --filter-cost 1us",
                ));
            }
            (Some(disk), Some(filter), Some(absent_share)) => {
                let (without_disk, disk) = (filter.number(), disk.number());
                Some(Costs { without_disk, with_disk: without_disk + disk, absent_share })
            }
            _ => None,
        };
        Ok(Needs {
            items: self.window_items()?.or(self.items),
            unknown_items: self.unknown_n,
            target_fpp: self.fpp,
            max_bytes: self.budget,
            delete: self.delete,
            forget: self.window.is_some(),
            by_time: matches!(self.window, Some(WindowSize::Millis(_))),
            frozen: self.frozen,
            sets: self.sets,
            key_bytes: self.key_bytes.map(|bytes| bytes as f64),
            costs,
            queries_per_second: self.per_second.map(|count| count as f64),
            memory: memory_sizes(usable_bytes()),
        })
    }

    /// The number of keys that `--window` remembers, if it is given in keys.
    fn window_items(&self) -> Result<Option<u64>, Error> {
        match (self.window, self.items) {
            (None, _) | (Some(WindowSize::Millis(_)), Some(_)) => Ok(None),
            (Some(WindowSize::Millis(millis)), None) => {
                let window = write_millis(millis);
                Err(Error::usage(
                    format!("the number of keys in {window} is missing: -n is not given"),
                    format!("for example: mayhap plan --window {window} -n 10M -p 1%"),
                ))
            }
            (Some(WindowSize::Items(items)), Some(given)) if items != given => Err(Error::usage(
                format!("a window of {} is requested, and -n {given}", counted(items, "key")),
                "omit -n: the window gives the number of keys",
            )),
            (Some(WindowSize::Items(items)), _) => Ok(Some(items)),
        }
    }

    /// The link of `--url`.
    fn link(&self, needs: &Needs) -> Result<Outcome, Error> {
        if needs.by_time {
            return Err(Error::usage(
                "the page has no time windows",
                "give the window as a number of keys, for example: --window 10M",
            ));
        }
        let page = match self.url.as_deref() {
            None | Some("") => explorer::address()?,
            Some(page) => page.to_owned(),
        };
        print_stdout(&format!("{}\n", link(&page, needs)))?;
        Ok(Outcome::Done)
    }

    fn table(&self, needs: &Needs) -> Result<Outcome, Error> {
        let table = Table::of(needs).map_err(|error| refused(&error))?;
        if self.json || !table.is_empty() {
            print_findings(self.json, &table, |table| table.text().to_owned())?;
        }
        Ok(Outcome::found(!table.is_empty()))
    }

    fn one(&self, needs: &Needs, color: Color) -> Result<Outcome, Error> {
        let plan = mayhap::plan::plan(needs).map_err(|error| refused(&error))?;
        let mut report = Report::of(needs, self.filter_cost, &plan);
        report.create = plan.best.as_ref().and_then(|best| recipe(needs, best, self.window));
        print_findings(self.json, &report, |report| {
            let mut rows = report.rows();
            if let Some(best) = &report.best {
                rows.extend(recipe::rows(report.create.as_deref(), best.sets));
            }
            let chart = plan.best.as_ref().map(|best| {
                let curve = Curve {
                    name: best.name(),
                    items: best.items,
                    fpp_after: &|items| best.fpp_after(items),
                    is_slow: best.kind.kind == Kind::Scalable,
                };
                self.chart(&curve, color)
            });
            text_of(&rows) + &chart.unwrap_or_default()
        })?;
        Ok(Outcome::found(plan.best.is_some()))
    }

    /// The chart of `--plot`, below an empty line.
    fn chart(&self, curve: &Curve<'_>, color: Color) -> String {
        if !self.plot {
            return String::new();
        }
        format!("\n{}", chart(curve, terminal::columns(), color.on(&std::io::stdout())))
    }
}

/// The rows of a report.
fn text_of(rows: &[(&str, String)]) -> String {
    rows.iter().map(|(name, value)| row(name, value)).collect()
}

/// Numbers that the planner refuses are from the command line.
fn refused(source: &mayhap::Error) -> Error {
    Error::Number { doing: "plan", source: source.clone(), hint: HINT }
}
