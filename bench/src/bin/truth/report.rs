//! The results as Markdown and as JSON.

use crate::losses::Loss;
use crate::windows::Kept;
use mayhap_bench::{machine, stats::format_count};
use serde::Serialize;
use std::fmt::Write as _;

/// All results of one run.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) items: u64,
    pub(crate) window_items: u64,
    pub(crate) losses: Vec<Loss>,
    pub(crate) windows: Vec<Kept>,
}

impl Report {
    /// Whether every figure is within its bound.
    pub(crate) fn holds(&self) -> bool {
        self.losses.iter().all(|loss| loss.off().abs() <= 3.0)
            && self.windows.iter().all(Kept::holds)
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!(
            "# What mayhap says of itself, and what is so\n\nMade by `make bench-truth`; \
             `bench/README.md` says what the rows mean. Nothing is timed, and keys and seeds are \
             fixed.\n\n{}\n## Losses\n\n\
             `mayhap dedup` of distinct lines, each of which comes twice, with a filter for {} \
             keys (growing ones begin with a hundredth). Expected is what the summary says; σ is \
             its standard deviation, of which it may be 3 away.\n\n\
             | filter | p | distinct lines | lost | expected | ± σ | away |\n\
             |---|--:|--:|--:|--:|--:|--:|\n",
            machine::list(&self.facts),
            format_count(self.items),
        );
        for loss in &self.losses {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {:.0} | {:.0} | {:+.2} σ |",
                loss.filter,
                loss.target_fpp,
                format_count(loss.distinct),
                loss.lost,
                loss.told,
                loss.sigma,
                loss.off()
            );
        }
        let worst = self.losses.iter().map(|loss| loss.off().abs()).fold(0.0, f64::max);
        let count = self.losses.iter().filter(|loss| loss.off().abs() <= 3.0).count();
        let _ = writeln!(
            out,
            "\n{count} of {} within 3 σ; {worst:.2} σ at most.\n\n## Windows of time\n\n\
             Made for {} keys in a span. The highest rates are multiples of p: by the counts of \
             generations, and of 200,000 absent keys each time nine generations were full (σ of \
             these in brackets). Kept is the longest time after which a key was found, in \
             spans.\n\n\
             | pattern | p | bits a key | highest rate, expected | measured | keys | forgotten \
             early | kept |\n|---|--:|--:|--:|--:|--:|--:|--:|",
            self.losses.len(),
            format_count(self.window_items),
        );
        for kept in &self.windows {
            let times = |fpp: f64| fpp / kept.target_fpp;
            let _ = writeln!(
                out,
                "| {} | {} | {:.1} | {:.3} | {:.3} ({:.3}) | {} | {} | {:.3} |",
                kept.pattern,
                kept.target_fpp,
                kept.bits_per_key,
                times(kept.worst_expected_fpp),
                times(kept.worst_measured_fpp),
                times(kept.worst_measured_sigma),
                kept.keys,
                kept.forgotten_early,
                kept.longest_kept,
            );
        }
        let count = self.windows.iter().filter(|kept| kept.holds()).count();
        let _ = writeln!(
            out,
            "\n{count} of {} keep the rate (expected at most p; measured at most 5 % and 4 σ above \
             it, for the own rate of a filter and the chance in asking), forget early only where \
             more came, and keep nothing for more than 1.125 spans.",
            self.windows.len()
        );
        out
    }
}
