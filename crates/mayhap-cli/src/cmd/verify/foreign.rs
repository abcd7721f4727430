//! Whether a filter of another system is what it says.

use super::presence::Presence;
use super::report::{RateFound, RateVerdict, Report};
use crate::args::LineArgs;
use crate::error::Error;
use crate::io::input::Source;
use crate::io::messages::Talk;
use crate::measure::counts::{Count, sample, samples_for};
use crate::outcome::Outcome;
use crate::set::foreign::Numbers as State;
use crate::set::foreign::{ForeignFile, Opener};
use mayhap::Bitmap;
use mayhap_formats::KeyType;
use serde::Serialize;
use std::convert::Infallible;
use std::path::Path;

/// The least and the most random keys, unless --samples says otherwise: each costs k hashes or
/// more.
const MIN_SAMPLES: u64 = 1 << 17;
const MAX_SAMPLES: u64 = 1 << 22;

/// A request of `mayhap verify`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    /// Ask for so many random keys.
    pub samples: Option<u64>,
    /// Where they begin.
    pub seed: u64,
    /// Print JSON.
    pub json: bool,
    /// Keys that have to be in it.
    pub sources: &'a [Source],
    /// How these are cut.
    pub lines: &'a LineArgs,
}

/// What its numbers and its answers say.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    state: State,
    key_type: &'static str,
    #[serde(flatten)]
    rate: RateFound,
}

/// Checks a filter of another system; `None` if the file is none.
///
/// # Errors
///
/// Those of [`Opener::open`] but for damage; those of [`Presence::of`].
pub(super) fn run(
    path: &Path,
    opener: Opener<'_>,
    request: &Request<'_>,
    talk: Talk,
) -> Result<Option<Outcome>, Error> {
    let report = match opener.open_for_keys(path) {
        Ok(None) => return Ok(None),
        Ok(Some(file)) => check(file, request, talk)?,
        Err(Error::Foreign { name, source }) if is_damage(&source) => {
            Report::damaged(name, "none", "structure", source.to_string())
        }
        Err(error) => return Err(error),
    };
    report.print(request.json, talk).map(Some)
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

fn check(mut file: ForeignFile, request: &Request<'_>, talk: Talk) -> Result<Report<Found>, Error> {
    let keys_bytes = Source::total_size(request.sources)?;
    let state = State::of(&file);
    let (key_type, rate) = (file.key_type().name(), measure(&file, request));
    let (options, mut bits) = (request.lines.key_options(), Bitmap::new());
    let cut = (&options, request.lines.reading("verify", talk));
    let keys = Presence::of(request.sources.to_vec(), cut, (talk, keys_bytes), |batch, absent| {
        file.query(batch, &mut bits);
        let not_keys = file.not_keys();
        let is_absent = |i: &usize| !bits.get(*i) && not_keys.binary_search(i).is_err();
        absent.extend((0..batch.len()).filter(is_absent));
        Ok(not_keys.len() as u64)
    })?;
    file.warn(0, 1, talk);
    let off = rate.rate_verdict == RateVerdict::AboveTarget;
    let mut rows = vec![("structure", "sound; the format has no checksums".to_owned())];
    let queried = format!("keys ({key_type})");
    rows.extend(rate.rows("by its formula", &queried, rate.rate_verdict.to_string()));
    let name = file.name().to_owned();
    Ok(Report::new(name, "none", (Found { state, key_type, rate }, off, rows), keys))
}

/// Queries random keys of the filter's type.
fn measure(file: &ForeignFile, request: &Request<'_>) -> RateFound {
    let (predicted, key_type) = (file.filter().estimated_fpp(), file.key_type());
    let samples =
        request.samples.unwrap_or_else(|| samples_for(predicted, MIN_SAMPLES, MAX_SAMPLES));
    let (mut bits, mut hits) = (Bitmap::new(), 0);
    let (mut bytes, mut ends, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    let Ok(()) = sample(request.seed, samples, random_text(key_type), |texts| {
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
    let above_target = file.target_fpp().is_some_and(|target| count.is_above(target));
    let rate_verdict = match (above_target, count.contradicts(predicted)) {
        (true, _) => RateVerdict::AboveTarget,
        (false, false) => RateVerdict::AsPredicted,
        (false, true) if count.rate() > predicted => RateVerdict::AboveFormula,
        (false, true) => RateVerdict::BelowFormula,
    };
    RateFound::new(request.seed, count, predicted, rate_verdict)
}

/// How a random number is written as a key of this type.
fn random_text(key_type: KeyType) -> fn(u64) -> String {
    const FORMS: [fn(u64) -> String; 3] = [
        |number| format!("{number:016x}"),
        |number| number.cast_signed().to_string(),
        |number| (number as i32).to_string(),
    ];
    let is_key = |form: &fn(u64) -> String| {
        [0x8123_4567_89AB_CDEF, 0xA123_4567_89AB_CDEF]
            .iter()
            .all(|&number| key_type.encode(form(number).as_bytes(), &mut Vec::new()).is_ok())
    };
    FORMS.into_iter().find(is_key).unwrap_or(FORMS[2])
}
