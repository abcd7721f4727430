//! The results as Markdown.

use crate::child::Cost;
use crate::{FIXED, Outcome, PIPE};
use mayhap_bench::machine;
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::stats::median;
use std::fmt::Write as _;
use std::path::Path;

impl Outcome {
    fn median(&self, of: impl Fn(&Cost) -> f64) -> f64 {
        median(self.costs.iter().map(of).collect())
    }

    fn cpu(&self) -> f64 {
        self.median(|cost| cost.cpu().as_secs_f64())
    }

    fn max_rss_mb(&self) -> f64 {
        self.median(|cost| cost.max_rss_kib as f64) * 1024.0 / 1e6
    }
}

pub(crate) fn to_markdown(
    facts: &[(&'static str, String)],
    outcomes: &[Outcome],
    lines: &Path,
    rounds: usize,
) -> String {
    let bytes = lines.metadata().map_or(0, |data| data.len());
    let mut out = format!(
        "# Line filters\n\nMade by `bench/cli.sh`. Input: {:.0} MB of URL-like lines. Medians of \
         {rounds} interleaved rounds with the output thrown away;\none more run each is compared \
         with the first occurrences of the input.\n\n{}\n",
        bytes as f64 / 1e6,
        machine::list(facts)
    );
    out += "| command | version | CPU s | user | sys | wall s | peak MB | lines out | lost \
            | order |\n\
            |---|---|--:|--:|--:|--:|--:|--:|--:|---|\n";
    for outcome in outcomes {
        let seconds =
            |of: fn(&Cost) -> std::time::Duration| outcome.median(|cost| of(cost).as_secs_f64());
        let verdict = outcome.verdict;
        let _ = writeln!(
            out,
            "| `{}` | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {} | {} | {} |",
            outcome.tool.shell(lines),
            outcome.version,
            outcome.cpu(),
            seconds(|cost| cost.user),
            seconds(|cost| cost.system),
            seconds(|cost| cost.wall),
            outcome.max_rss_mb(),
            verdict.lines_out,
            verdict.lost(),
            if verdict.is_in_order { "kept" } else { "lost" },
        );
    }
    let _ = write!(out, "\n## Ratios\n\n{}", ratio::table(&ratios(outcomes)));
    out
}

/// What mayhap promises, computed from this run.
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

/// Whether what a run of ours printed is what was counted from outside.
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
