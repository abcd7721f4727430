//! Ratios between two medians of one run, and the targets they must meet.

use serde::Serialize;
use std::fmt::Write as _;

/// The side of the target on which a ratio must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The target or more.
    AtLeast,
    /// The target or less.
    AtMost,
}

/// One ratio.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    /// The compared quantities, in words.
    pub what: String,
    /// The formula of the ratio, in words.
    pub formula: String,
    /// The ratio.
    pub value: f64,
    /// Which side of the target is right.
    pub side: Side,
    /// The target.
    pub target: f64,
}

impl Ratio {
    /// Whether the target is met; NaN never meets it.
    pub fn is_met(&self) -> bool {
        match self.side {
            Side::AtLeast => self.value >= self.target,
            Side::AtMost => self.value <= self.target,
        }
    }
}

/// The ratios as a Markdown table.
pub fn table(ratios: &[Ratio]) -> String {
    let mut out = String::from("| what | ratio | value | target | |\n|---|---|--:|--:|---|\n");
    for ratio in ratios {
        let sign = if ratio.side == Side::AtLeast { '≥' } else { '≤' };
        let Ratio { what, formula, value, target, .. } = ratio;
        let verdict = if ratio.is_met() { "pass" } else { "**FAIL**" };
        let _ =
            writeln!(out, "| {what} | {formula} | {value:.3} | {sign} {target:.3} | {verdict} |");
    }
    let met = ratios.iter().filter(|ratio| ratio.is_met()).count();
    let _ = writeln!(out, "\n{met} of {} targets met.", ratios.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_side_and_nan_meets_none() {
        let ratio = |value, side| {
            Ratio { what: String::new(), formula: String::new(), value, side, target: 2.0 }.is_met()
        };
        assert!(ratio(2.0, Side::AtLeast) && ratio(2.0, Side::AtMost));
        assert!(!ratio(1.9, Side::AtLeast) && !ratio(2.1, Side::AtMost));
        assert!(!ratio(f64::NAN, Side::AtLeast) && !ratio(f64::NAN, Side::AtMost));
    }
}
