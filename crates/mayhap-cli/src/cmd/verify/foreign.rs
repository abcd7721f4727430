//! Whether a filter of another system is what it says.

use super::Args;
use super::presence::Presence;
use super::report::{RateFound, RateVerdict, Report};
use crate::error::Error;
use crate::io::messages::{self, Talk};
use crate::outcome::Outcome;
use crate::set::foreign::open_for_keys;
use crate::set::open::{Digests, query};
use mayhap::Bitmap;
use mayhap_foreign::{ForeignFile, ForeignSet, random_text};
use mayhap_lists::Source;
use mayhap_measure::{Count, highest_of_bits, sample, samples_for};
use mayhap_sets::{ByFormula, KeySet};
use serde::Serialize;
use std::convert::Infallible;

/// The least and the most random keys, unless --samples says otherwise: each costs k hashes or
/// more.
const MIN_SAMPLES: u64 = 1 << 17;
const MAX_SAMPLES: u64 = 1 << 22;
/// A formula is right that is this near to the truth: some are drawn, and all are rounded.
const TOLERANCE: f64 = 0.05;

/// What its numbers and its answers say.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    state: ByFormula,
    key_type: &'static str,
    #[serde(flatten)]
    rate: RateFound,
}

/// Checks a filter of another system; `None` if the file is none.
///
/// # Errors
///
/// Those of [`open_for_keys`] but for damage; those of [`Presence::of`].
pub(super) fn run(args: &Args, sources: &[Source], talk: Talk) -> Result<Option<Outcome>, Error> {
    let report = match open_for_keys(&args.file, &args.open, talk) {
        Ok(None) => return Ok(None),
        Ok(Some(file)) => check(file, args, sources, talk)?,
        Err(Error::Foreign { name, source }) if is_damage(&source) => {
            Report::damaged(name, "none", "structure", source.to_string())
        }
        Err(error) => return Err(error),
    };
    report.print(args.json, talk).map(Some)
}

/// Whether a filter was found that does not fit together; else it was none, or too large.
fn is_damage(error: &mayhap_formats::Error) -> bool {
    use mayhap_formats::Error as Formats;
    matches!(
        error,
        Formats::Truncated { .. }
            | Formats::TrailingBytes { .. }
            | Formats::BadField { .. }
            | Formats::Zero { .. }
    )
}

fn check(
    file: ForeignFile,
    args: &Args,
    sources: &[Source],
    talk: Talk,
) -> Result<Report<Found>, Error> {
    let keys_bytes = Source::total_size(sources)?;
    let state = file.numbers();
    let (key_type, rate) = (file.key_type().name(), measure(&file, args));
    let (name, target) = (file.name().to_owned(), file.target_fpp());
    let mut set = ForeignSet::to_query(file);
    let (options, mut bits) = (args.lines.key_options(), Bitmap::new());
    let cut = (&options, args.lines.reading());
    let keys = Presence::of(sources.to_vec(), cut, (talk, keys_bytes), |batch, absent| {
        query(&mut set, batch, &mut Digests::default(), &mut bits)?;
        let not_keys = set.not_keys();
        let is_absent = |i: &usize| !bits.get(*i) && not_keys.binary_search(i).is_err();
        absent.extend((0..batch.len()).filter(is_absent));
        Ok(not_keys.len() as u64)
    })?;
    if let Some(not_keys) = set.all_not_keys() {
        talk.warn(&not_keys.text);
    }
    let off = matches!(rate.rate_verdict, RateVerdict::AboveTarget | RateVerdict::AboveFormula);
    let mut rows = vec![("structure", "sound; the format has no checksums".to_owned())];
    let queried = format!("keys ({key_type})");
    let verdict = match target {
        Some(target) => format!("{}, target {}", rate.rate_verdict, messages::rate(target)),
        None => rate.rate_verdict.to_string(),
    };
    rows.extend(rate.rows("by its formula", &queried, verdict));
    Ok(Report::new(name, "none", (Found { state, key_type, rate }, off, rows), keys))
}

/// Queries random keys of the filter's type.
fn measure(file: &ForeignFile, args: &Args) -> RateFound {
    let (predicted, key_type) = (file.filter().estimated_fpp(), file.key_type());
    let samples = args.samples.unwrap_or_else(|| samples_for(predicted, MIN_SAMPLES, MAX_SAMPLES));
    let (mut bits, mut hits) = (Bitmap::new(), 0);
    let (mut bytes, mut ends, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    let Ok(()) = sample(args.seed, samples, random_text(key_type), |texts| {
        bytes.clear();
        ends.clear();
        for text in texts {
            // Texts of this form are keys of the type.
            if let Ok(key) = key_type.encode(text.as_bytes(), &mut scratch) {
                bytes.extend_from_slice(key);
            }
            ends.push(bytes.len());
        }
        let starts = [0].into_iter().chain(ends.iter().copied());
        let keys: Vec<&[u8]> = starts.zip(&ends).map(|(start, &end)| &bytes[start..end]).collect();
        file.filter().contains_batch(&keys, &mut bits);
        hits += bits.count_ones() as u64;
        Ok::<(), Infallible>(())
    });
    let count = Count { samples, hits };
    let target = file.target_fpp().map(|target| highest(file, target));
    RateFound::new(args.seed, count, predicted, verdict_of(count, predicted, target))
}

/// The highest rate of a sound filter with this target: what chance, and the whole k of its system,
/// add to it with exactly its keys.
fn highest(file: &ForeignFile, target: f64) -> f64 {
    let (filter, items) = (file.filter(), file.expected_items());
    items.map_or(target, |items| {
        target.max(highest_of_bits(filter.num_bits(), filter.num_hashes(), items))
    })
}

/// What a count says of a rate: whether it is above the target, if that is known, and whether it is
/// that of the formula, if there is one.
pub(super) fn verdict_of(count: Count, predicted: f64, target: Option<f64>) -> RateVerdict {
    let above = count.is_above(predicted * (1.0 + TOLERANCE));
    match target {
        Some(target) if count.is_above(target) => RateVerdict::AboveTarget,
        _ if predicted.is_nan() => RateVerdict::NotPredicted,
        Some(_) if above => RateVerdict::AboveFormulaWithinTarget,
        None if above => RateVerdict::AboveFormula,
        _ if count.is_below(predicted / (1.0 + TOLERANCE)) => RateVerdict::BelowFormula,
        _ => RateVerdict::AsPredicted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_too_high_is_never_good() {
        let count = |hits| Count { samples: 1 << 20, hits };
        let (low, same, high) = (count(5_000), count(10_486), count(20_000));
        let of = |count, target| verdict_of(count, 0.01, target);
        assert_eq!(
            [of(low, None), of(same, None)],
            [RateVerdict::BelowFormula, RateVerdict::AsPredicted]
        );
        assert_eq!(
            [of(high, None), of(high, Some(0.01))],
            [RateVerdict::AboveFormula, RateVerdict::AboveTarget]
        );
        // Above its own formula, but not above what it is for.
        let within = of(high, Some(0.02));
        assert_eq!(within, RateVerdict::AboveFormulaWithinTarget);
        assert_eq!(of(same, Some(0.001)), RateVerdict::AboveTarget);
        // A formula that is 4 % too low is right.
        assert_eq!(of(count(10_900), None), RateVerdict::AsPredicted);
    }

    /// Exactly full filters of k bits anywhere in m, as most systems have them, sized by the
    /// textbook formula and with the whole k nearest to the best: none of 20,000 is called above.
    #[test]
    fn sound_and_exactly_full_filters_are_never_above() {
        use mayhap_measure::Numbers;
        let (mut numbers, mut filters) = (Numbers::new(15), 0);
        for (items, target) in [(50u64, 0.1), (200, 0.01), (200, 1e-3), (100, 0.4)] {
            let bits = (-(items as f64) * f64::ln(target) / std::f64::consts::LN_2.powi(2)) as u64;
            let num_hashes = (-f64::log2(target)).round().max(1.0) as u32;
            let highest = target.max(highest_of_bits(bits, num_hashes, items));
            let mut set = vec![false; bits as usize];
            for _ in 0..5_000 {
                set.fill(false);
                for _ in 0..items * u64::from(num_hashes) {
                    set[(numbers.next().unwrap() % bits) as usize] = true;
                }
                let ones = set.iter().filter(|&&set| set).count() as f64;
                let rate = (ones / bits as f64).powf(f64::from(num_hashes));
                // As many as are expected: chance in the count is tested with `Count`.
                let hits = (rate * MAX_SAMPLES as f64) as u64;
                let count = Count { samples: MAX_SAMPLES, hits };
                let found = verdict_of(count, rate, Some(highest));
                assert_eq!(
                    found,
                    RateVerdict::AsPredicted,
                    "{items} at {target}: {rate} of {highest}"
                );
                filters += 1;
            }
        }
        assert_eq!(filters, 20_000);
    }
}
