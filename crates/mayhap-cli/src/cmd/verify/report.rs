//! What `verify` found, in a filter of any system.

use super::presence::Presence;
use crate::error::Error;
use crate::io::messages::{Talk, grouped, print_stdout, rate, row};
use crate::outcome::Outcome;
use mayhap_measure::Count;
use serde::{Serialize, Serializer};
use std::fmt;

/// The verdict on a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateVerdict {
    /// It is right.
    AsPredicted,
    /// It is higher than was promised.
    AboveTarget,
    /// It holds too many keys, and no target is known.
    Overfull,
    /// It is higher than the formula of its system says, and no target is known: positions that
    /// depend on each other are found more often while there are few keys.
    AboveFormula,
    /// It is higher than that, and not higher than was promised.
    AboveFormulaWithinTarget,
    /// It is lower than that.
    BelowFormula,
    /// Nothing is known to compare it with.
    NotPredicted,
    /// The bits say another one.
    Off,
}

impl fmt::Display for RateVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsPredicted => "as predicted",
            Self::AboveTarget => "above the target",
            Self::Overfull => "overfull",
            Self::AboveFormula => "above its formula",
            Self::AboveFormulaWithinTarget => "within the target, above its formula",
            Self::BelowFormula => "below its formula",
            Self::NotPredicted => "not predicted",
            Self::Off => "off",
        })
    }
}

impl Serialize for RateVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The verdict on a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Off,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Off => "off",
        }
    }
}

/// A line of a report in words: what is named, and what is said of it.
pub(super) type Row = (&'static str, String);

/// What was found, as `--json` prints it; what could not be looked at is left out.
#[derive(Debug, Serialize)]
pub(super) struct Report<F> {
    file: String,
    verdict: Verdict,
    checksums: &'static str,
    damage: Option<String>,
    #[serde(flatten)]
    found: Option<F>,
    #[serde(flatten)]
    keys: Option<Presence>,
    #[serde(skip)]
    rows: Vec<Row>,
}

impl<F: Serialize> Report<F> {
    /// Of a filter that could be looked at, with the rows for what was `found`; it is off if that
    /// is, or a key is absent.
    pub(super) fn new(
        file: String,
        checksums: &'static str,
        (found, is_off, rows): (F, bool, Vec<Row>),
        keys: Option<Presence>,
    ) -> Self {
        let is_off = is_off || keys.as_ref().is_some_and(Presence::any_absent);
        let verdict = if is_off { Verdict::Off } else { Verdict::Good };
        Self { file, verdict, checksums, damage: None, found: Some(found), keys, rows }
    }

    /// Of a file that is not whole, as the row of this name says.
    pub(super) fn damaged(
        file: String,
        checksums: &'static str,
        row: &'static str,
        damage: String,
    ) -> Self {
        let rows = vec![(row, format!("damaged: {damage}"))];
        let damage = Some(damage);
        Self { file, verdict: Verdict::Off, checksums, damage, found: None, keys: None, rows }
    }

    /// Of a file that is sound, and only a part of its filter, for this reason.
    pub(super) fn incomplete(file: String, why: String) -> Self {
        let rows = vec![("checksums", "good".to_owned()), ("log", why.clone())];
        let (checksums, damage) = ("good", Some(why));
        Self { file, verdict: Verdict::Off, checksums, damage, found: None, keys: None, rows }
    }

    /// Prints it to stdout.
    ///
    /// # Errors
    ///
    /// Those of the write.
    pub(super) fn print(&self, json: bool, talk: Talk) -> Result<Outcome, Error> {
        if json {
            Talk::json(self, true)?;
        } else if !talk.is_quiet() {
            print_stdout(&self.text())?;
        }
        Ok(if self.verdict == Verdict::Off { Outcome::Off } else { Outcome::Done })
    }

    fn text(&self) -> String {
        let mut text = row("file", &self.file);
        let keys = self.keys.iter().flat_map(Presence::rows);
        text.extend(self.rows.iter().cloned().chain(keys).map(|(name, value)| row(name, &value)));
        text + &row("verdict", self.verdict.name())
    }
}

/// A rate that was measured, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct RateFound {
    /// Where the random keys begin.
    pub seed: u64,
    /// How many there were.
    pub samples: u64,
    /// Those that were found, of a matrix in all sets.
    pub false_positives: u64,
    /// The rate that the filter says it has.
    pub fpp_predicted: f64,
    /// The rate that it has.
    pub measured_fpp: f64,
    /// `null` for a matrix, whose sets answer the same digests.
    pub fpp_low: Option<f64>,
    /// As above.
    pub fpp_high: Option<f64>,
    /// What that means.
    pub rate_verdict: RateVerdict,
    /// Sets of a matrix that are above their rate or off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets_off: Option<u64>,
}

impl RateFound {
    /// Of one filter.
    pub(super) fn new(seed: u64, count: Count, predicted: f64, rate_verdict: RateVerdict) -> Self {
        let (low, high) = count.interval();
        Self {
            seed,
            samples: count.samples,
            false_positives: count.hits,
            fpp_predicted: predicted,
            measured_fpp: count.rate(),
            fpp_low: Some(low),
            fpp_high: Some(high),
            rate_verdict,
            sets_off: None,
        }
    }

    /// In words: by what the rate was predicted, what was queried, and the verdict.
    pub(super) fn rows(&self, by: &str, queried: &str, verdict: String) -> Vec<Row> {
        let of_set = if self.sets_off.is_some() { " for a set, on average" } else { "" };
        let interval = match (self.fpp_low, self.fpp_high) {
            (Some(low), Some(high)) => format!(" (99 %: {} to {})", rate(low), rate(high)),
            _ => String::new(),
        };
        let (hits, samples) = (grouped(self.false_positives), grouped(self.samples));
        let predicted = match self.fpp_predicted {
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
