//! The report of `verify`, for a filter of any system.

use super::counts::Count;
use super::presence::Presence;
use crate::error::Error;
use crate::io::messages::{Reporter, grouped, print_findings, rate, row};
use crate::outcome::Outcome;
use mayhap_sets::Measurements;
use serde::Serialize;

/// The verdict on a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub(super) enum RateVerdict {
    /// It is right.
    AsPredicted,
    /// It is higher than was promised.
    AboveTarget,
    /// It holds too many keys, and no target is known.
    Overfull,
    /// It is higher than by the formula of its system, and no target is known: positions that
    /// depend on each other are found more often while there are few keys.
    AboveFormula,
    /// It is higher than that, and not higher than was promised.
    AboveFormulaWithinTarget,
    /// It is lower than that.
    BelowFormula,
    /// There is no known rate to compare it with.
    NotPredicted,
    /// The bits give another one.
    Off,
}

impl From<RateVerdict> for &'static str {
    fn from(verdict: RateVerdict) -> Self {
        match verdict {
            RateVerdict::AsPredicted => "as predicted",
            RateVerdict::AboveTarget => "above the target",
            RateVerdict::Overfull => "overfull",
            RateVerdict::AboveFormula => "above its formula",
            RateVerdict::AboveFormulaWithinTarget => "within the target, above its formula",
            RateVerdict::BelowFormula => "below its formula",
            RateVerdict::NotPredicted => "not predicted",
            RateVerdict::Off => "off",
        }
    }
}

/// A line of a report in words: the name and the text.
pub(super) type Row = (&'static str, String);

/// The findings, as `--json` prints them; parts that could not be examined are left out.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    file: String,
    /// Whether all is good, else something is off.
    verdict: &'static str,
    checksums: &'static str,
    damage: Option<String>,
    #[serde(flatten)]
    found: Option<Findings>,
    #[serde(flatten)]
    keys: Option<Presence>,
    #[serde(skip)]
    rows: Vec<Row>,
}

/// The findings from the bits.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    #[serde(flatten)]
    pub(super) numbers: Measurements,
    /// In files of other systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_type: Option<&'static str>,
    #[serde(flatten)]
    pub(super) rate: RateFound,
}

impl Report {
    /// The report of a filter that could be examined, with the rows for `found`; it is bad if that
    /// is, or a key is absent.
    pub(super) fn new(
        file: String,
        checksums: &'static str,
        (found, rows): (Findings, Vec<Row>),
        keys: Option<Presence>,
    ) -> Self {
        let is_off = matches!(
            found.rate.rate_verdict,
            RateVerdict::Off | RateVerdict::AboveTarget | RateVerdict::Overfull
        );
        let is_off = is_off || keys.as_ref().is_some_and(Presence::any_absent);
        let verdict = if is_off { OFF } else { "good" };
        Self { file, verdict, checksums, damage: None, found: Some(found), keys, rows }
    }

    /// The report of a file that is not whole, or only a part of its filter, with rows that say
    /// why.
    pub(super) fn damaged(
        file: String,
        checksums: &'static str,
        damage: String,
        rows: Vec<Row>,
    ) -> Self {
        let damage = Some(damage);
        Self { file, verdict: OFF, checksums, damage, found: None, keys: None, rows }
    }

    /// Prints it to stdout.
    ///
    /// # Errors
    ///
    /// The errors of the write.
    pub(super) fn print(&self, json: bool, talk: Reporter) -> Result<Outcome, Error> {
        if json || !talk.is_quiet() {
            print_findings(json, self, Self::text)?;
        }
        Ok(if self.verdict == OFF { Outcome::Off } else { Outcome::Done })
    }

    fn text(&self) -> String {
        let mut text = row("file", &self.file);
        let keys = self.keys.iter().flat_map(Presence::rows);
        text.extend(self.rows.iter().cloned().chain(keys).map(|(name, value)| row(name, &value)));
        text + &row("verdict", self.verdict)
    }
}

/// The verdict on a filter that is not good.
const OFF: &str = "off";

/// A rate that was measured, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct RateFound {
    /// Where the random keys begin.
    pub seed: u64,
    /// The number of samples.
    pub samples: u64,
    /// The number of samples found; for a matrix, in all sets.
    pub false_positives: u64,
    /// The rate that the filter reports.
    pub estimated_fpp: f64,
    /// The rate that it has.
    pub measured_fpp: f64,
    /// `null` for a matrix, whose sets answer the same digests.
    pub fpp_low: Option<f64>,
    /// Same as `fpp_low`.
    pub fpp_high: Option<f64>,
    /// The verdict.
    pub rate_verdict: RateVerdict,
    /// Sets of a matrix that are above their rate or off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets_off: Option<u64>,
}

impl RateFound {
    /// The findings for one filter.
    pub(super) fn new(seed: u64, count: Count, predicted: f64, rate_verdict: RateVerdict) -> Self {
        let (low, high) = count.interval();
        Self {
            seed,
            samples: count.samples,
            false_positives: count.hits,
            estimated_fpp: predicted,
            measured_fpp: count.rate(),
            fpp_low: Some(low),
            fpp_high: Some(high),
            rate_verdict,
            sets_off: None,
        }
    }

    /// The rows in words: the basis of the prediction, the queried keys, and the verdict.
    pub(super) fn rows(&self, by: &str, queried: &str, verdict: String) -> Vec<Row> {
        let of_set = if self.sets_off.is_some() { " for a set, on average" } else { "" };
        let interval = match (self.fpp_low, self.fpp_high) {
            (Some(low), Some(high)) => format!(" (99 %: {} to {})", rate(low), rate(high)),
            _ => String::new(),
        };
        let (hits, samples) = (grouped(self.false_positives), grouped(self.samples));
        let predicted = match self.estimated_fpp {
            // RedisBloom reports neither its rate nor its bits.
            fpp if fpp.is_nan() => "not known".to_owned(),
            fpp => format!("{}{of_set}, {by}", rate(fpp)),
        };
        let mut rows = vec![
            ("predicted", predicted),
            ("measured", format!("{}{of_set}{interval}", rate(self.measured_fpp))),
            ("", format!("{hits} of {samples} random {queried}, seed {}", self.seed)),
            ("rate", verdict),
        ];
        if let Some(sets @ 1..) = self.sets_off {
            rows.push(("sets", format!("{} are above their rate or off", grouped(sets))));
        }
        rows
    }
}
