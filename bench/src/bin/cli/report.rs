//! The results as Markdown and JSON.

use crate::child::Cost;
use crate::{FIXED, Outcome, PIPE};
use mayhap_bench::machine;
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::stats::median;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

impl Outcome {
    fn median(&self, of: impl Fn(&Cost) -> f64) -> f64 {
        median(self.costs.iter().map(of).collect())
    }

    pub(crate) fn cpu(&self) -> f64 {
        self.median(|cost| cost.cpu().as_secs_f64())
    }

    pub(crate) fn wall(&self) -> f64 {
        self.median(|cost| cost.wall.as_secs_f64())
    }

    pub(crate) fn max_rss_mb(&self) -> f64 {
        self.median(|cost| cost.max_rss_kib as f64) * 1024.0 / 1e6
    }
}

/// The whole page.
pub(crate) fn page(
    facts: &[(&'static str, String)],
    tables: &str,
    ratios: &[Ratio],
    rounds: usize,
) -> String {
    format!(
        "# Command-line tools\n\nMade by `bench/cli.sh`. Medians of {rounds} interleaved rounds \
         with the output thrown away.\n\n{}\n{tables}## Targets\n\n{}",
        machine::list(facts),
        ratio::table(ratios)
    )
}

/// Everything as JSON.
pub(crate) fn to_json(
    facts: &[(&'static str, String)],
    outcomes: &[&Outcome],
    filters: &serde_json::Value,
    ratios: &[Ratio],
) -> io::Result<String> {
    let rows: Vec<serde_json::Value> = outcomes
        .iter()
        .map(|outcome| {
            let mut row = serde_json::json!({
                "name": outcome.tool.name,
                "command": outcome.tool.shell(),
                "version": outcome.version,
                "cpu_seconds": outcome.cpu(),
                "wall_seconds": outcome.wall(),
                "peak_bytes": outcome.max_rss_mb() * 1e6,
            });
            if outcome.verdict.distinct > 0 {
                row["lines_out"] = outcome.verdict.lines_out.into();
                row["lines_lost"] = outcome.verdict.lost().into();
            }
            row
        })
        .collect();
    let facts: serde_json::Map<String, serde_json::Value> =
        facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
    let all =
        serde_json::json!({ "facts": facts, "rows": rows, "filters": filters, "targets": ratios });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

/// The first columns of every table.
pub(crate) const COST_COLUMNS: &str =
    "| command | version | CPU s | user | sys | wall s | peak MB |";

/// The same for one tool.
pub(crate) fn cost_cells(outcome: &Outcome) -> String {
    let seconds =
        |of: fn(&Cost) -> std::time::Duration| outcome.median(|cost| of(cost).as_secs_f64());
    format!(
        "| `{}` | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
        outcome.tool.shell(),
        outcome.version,
        outcome.cpu(),
        seconds(|cost| cost.user),
        seconds(|cost| cost.system),
        outcome.wall(),
        outcome.max_rss_mb(),
    )
}

/// The table of line filters, and their targets.
pub(crate) fn dedup(outcomes: &[Outcome], lines: &Path) -> (String, Vec<Ratio>) {
    let bytes = lines.metadata().map_or(0, |data| data.len());
    let mut out = format!(
        "## First of equal lines\n\nInput: {:.0} MB of URL-like lines. One more run each is \
         compared with the first occurrences of the input.\n\n{COST_COLUMNS} lines out | lost \
         | order |\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
        bytes as f64 / 1e6,
    );
    for outcome in outcomes {
        let (verdict, cells) = (outcome.verdict, cost_cells(outcome));
        let order = if verdict.is_in_order { "kept" } else { "lost" };
        let _ = writeln!(out, "{cells} {} | {} | {order} |", verdict.lines_out, verdict.lost());
    }
    (out + "\n", ratios(outcomes))
}

/// The targets of mayhap, computed from this run.
fn ratios(outcomes: &[Outcome]) -> Vec<Ratio> {
    let find = |name: &str| outcomes.iter().find(|outcome| outcome.tool.name == name);
    let mut ratios = Vec::new();
    for (ours, peer, target) in
        [(FIXED, "sort", 1.0 / 9.0), (FIXED, "anewer", 1.0 / 2.5), (PIPE, "sort", 1.0 / 6.0)]
    {
        if let (Some(us), Some(them)) = (find(ours), find(peer)) {
            let what = format!("CPU time, {ours}");
            let formula = format!("{ours} / {peer}");
            let value = us.cpu() / them.cpu();
            ratios.push(Ratio { what, formula, value, side: Side::AtMost, target });
        }
    }
    if let Some(fixed) = find(FIXED) {
        let (what, formula) = (format!("peak memory, {FIXED}"), "MB".to_owned());
        let (value, side, target) = (fixed.max_rss_mb(), Side::AtMost, 24.0);
        ratios.push(Ratio { what, formula, value, side, target });
    }
    ratios.extend(outcomes.iter().filter_map(books).flatten());
    ratios
}

/// Compares the numbers printed by a run of ours with the counts from outside.
fn books(outcome: &Outcome) -> Option<[Ratio; 4]> {
    let summary = outcome.summary.as_ref()?;
    let (name, verdict) = (outcome.tool.name, outcome.verdict);
    let ratio = |what: &str, formula: &str, value: f64, side, target| {
        let (what, formula) = (format!("{what}, {name}"), formula.to_owned());
        Ratio { what, formula, value, side, target }
    };
    let unlike = |left: u64, right: u64| left.abs_diff(right) as f64;
    let sigmas = (verdict.lost() as f64 - summary.expected_lost_lines).abs()
        / summary.expected_lost_lines_sigma;
    Some([
        ratio(
            "books",
            "read − kept − dropped",
            unlike(summary.lines_read, summary.lines_kept + summary.lines_dropped),
            Side::AtMost,
            0.0,
        ),
        ratio(
            "books",
            "kept − lines out",
            unlike(summary.lines_kept, verdict.lines_out),
            Side::AtMost,
            0.0,
        ),
        ratio("order", "kept", f64::from(verdict.is_in_order), Side::AtLeast, 1.0),
        ratio("loss", "σ between lost and foretold", sigmas, Side::AtMost, 3.0),
    ])
}
