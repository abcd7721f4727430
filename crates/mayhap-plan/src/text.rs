//! The words of reports and tables.

use crate::cost::Amount;
use mayhap::native::Kind;
use mayhap::plan::{Fits, Reason};
use mayhap_units::number::{format_bytes, format_fpp};

/// The nearest memory that holds a filter, in short.
pub fn fits_name(fits: Fits) -> &'static str {
    match fits {
        Fits::L2 => "L2",
        Fits::L3 => "L3",
        Fits::Ram => "DRAM",
        Fits::Nothing => "nothing",
    }
}

/// A rate in three digits, or in two where such are written so: rounded once, since 1.749 is not
/// 1.8.
pub(crate) fn rough(fpp: f64) -> String {
    let text = format_fpp(fpp);
    if !text.ends_with('%') {
        return text;
    }
    // The text of a number is a number.
    format_fpp(format!("{fpp:.2e}").parse().unwrap_or(fpp))
}

/// The reason in words, with readable sizes and costs.
pub(crate) fn why(reason: &Reason, unit: Option<Amount>) -> String {
    let unit = unit.unwrap_or(Amount::Plain(0.0));
    match *reason {
        Reason::SavesTooLittle { saved, spent } => {
            let (spent, saved) = (unit.with(spent), unit.with(saved));
            format!("a query costs {spent} for the filter and saves {saved} on average")
        }
        Reason::MoreCacheLines { lines, best } => {
            // As many digits as distinguish them.
            let digits =
                (1..4).find(|&digits| format!("{lines:.digits$}") != format!("{best:.digits$}"));
            let digits = digits.unwrap_or(1);
            format!("touches {lines:.digits$} cache lines per query, not {best:.digits$}")
        }
        Reason::BudgetTooSmall { max_bytes } => {
            format!("does not fit in {}", format_bytes(max_bytes))
        }
        Reason::OverBudget { num_bytes } => {
            format!("needs {}, more than the budget", format_bytes(num_bytes))
        }
        Reason::KeysAreSmaller { num_bytes } => {
            format!("a hash set of the keys themselves takes {}", format_bytes(num_bytes))
        }
        _ => reason.to_string(),
    }
}

/// A kind in a few words.
pub(crate) fn what_it_is(kind: &str) -> &'static str {
    match kind {
        "blocked" => "all bits of a key in one cache line",
        "standard" => "the bits of a key anywhere, so the fewest bits",
        _ if kind == Kind::Compact.name() => "fingerprints, so that keys can be removed",
        _ if kind == Kind::Counting.name() => "counters, so that keys can be removed",
        _ if kind == Kind::Scalable.name() => "a chain of filters that grows with its keys",
        _ if kind == Kind::Window.name() => "remembers the newest keys and forgets older ones",
        _ if kind == Kind::Fuse.name() => "built from all keys at once, never changes",
        _ if kind == Kind::Ribbon.name() => "the fewest bits: built from all keys, never changes",
        _ if kind == Kind::Matrix.name() => "many sets side by side, queried at once",
        _ => "a filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_digits_enough_and_the_unit_of_the_costs() {
        let lines = |lines, best| why(&Reason::MoreCacheLines { lines, best }, None);
        assert_eq!(lines(6.0, 1.0), "touches 6.0 cache lines per query, not 1.0");
        assert_eq!(lines(1.04, 1.0), "touches 1.04 cache lines per query, not 1.00");
        assert_eq!(lines(1.004, 1.0), "touches 1.004 cache lines per query, not 1.000");
        let cost = Reason::SavesTooLittle { saved: 0.002, spent: 0.5 };
        assert_eq!(
            why(&cost, Some(Amount::Seconds(1.0))),
            "a query costs 500 ms for the filter and saves 2 ms on average"
        );
        assert_eq!(why(&cost, None), "a query costs 0.5 for the filter and saves 0.002 on average");
        let size = |num_bytes| why(&Reason::OverBudget { num_bytes }, None);
        assert_eq!(size(3 << 20), "needs 3.00 MiB, more than the budget");
    }

    /// 1.749 % is 1.75 % and no 1.8 %.
    #[test]
    fn a_rate_is_rounded_once() {
        assert_eq!([rough(0.017_49), rough(0.01), rough(1e-6)], ["1.75 %", "1 %", "1e-6"]);
    }

    #[test]
    fn each_memory_and_kind_has_a_name_of_its_own() {
        let fits = [Fits::L2, Fits::L3, Fits::Ram, Fits::Nothing].map(fits_name);
        assert_eq!(fits, ["L2", "L3", "DRAM", "nothing"]);
        let kinds = [
            "blocked", "standard", "compact", "counting", "scalable", "window", "fuse", "ribbon",
            "matrix", "x",
        ];
        let mut words = kinds.map(what_it_is).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), kinds.len());
    }
}
