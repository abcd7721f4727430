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

/// Why not, with sizes and costs as people read them.
pub(crate) fn why(reason: &Reason, unit: Option<Amount>) -> String {
    let unit = unit.unwrap_or(Amount::Plain(0.0));
    match *reason {
        Reason::SavesTooLittle { saved, spent } => format!(
            "a query costs {} for the filter and saves {} on average",
            unit.with(spent),
            unit.with(saved)
        ),
        Reason::MoreCacheLines { lines, best } => {
            // As many digits as tell them apart.
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
        _ if kind == Kind::Counting.name() => "counters, so that keys can be removed",
        _ if kind == Kind::Scalable.name() => "a chain of filters that grows with its keys",
        _ if kind == Kind::Window.name() => "remembers the newest keys and forgets older ones",
        _ if kind == Kind::Fuse.name() => "built from all keys at once, never changes",
        _ if kind == Kind::Matrix.name() => "many sets side by side, queried at once",
        _ => "a filter",
    }
}
