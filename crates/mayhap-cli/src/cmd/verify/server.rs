//! `mayhap verify` of a filter on a server: its rate, measured there.

use super::presence::Presence;
use super::report::{RateFound, RateVerdict, Report};
use crate::args::{LineArgs, ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::remote::RemoteFile;
use mayhap::{Bitmap, Digest, SecretKey};
use mayhap_lists::{Reading, Source};
use mayhap_measure::{Count, Full, sample, samples_for};
use mayhap_sets::{KeySet, State};
use serde::Serialize;
use std::path::Path;

/// The least and, unless more are requested, the most random digests.
const MIN_SAMPLES: u64 = 100_000;
const MAX_SAMPLES: u64 = 1_000_000;

/// What is wanted.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// The secret key, if one is named.
    pub key: Option<SecretKey>,
    /// How servers are spoken to.
    pub server: &'a ServerArgs,
    /// How many digests.
    pub samples: Option<u64>,
    /// Where they begin.
    pub seed: u64,
    /// JSON is wanted.
    pub json: bool,
    /// Keys that have to be there.
    pub sources: Vec<Source>,
    /// How they are cut.
    pub lines: &'a LineArgs,
}

/// What the queries found.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    state: State,
    #[serde(flatten)]
    rate: RateFound,
}

/// Queries the filter for random digests and for keys.
///
/// # Errors
///
/// Those of [`RemoteFile::open`] and [`Presence::of`].
pub(super) fn run(url: &Path, request: Request<'_>, talk: Talk) -> Result<Outcome, Error> {
    let (file, own) =
        RemoteFile::open(url, request.key, (request.server, ReplicaArgs::default()), talk)?;
    let options = own.agree(file.url(), &request.lines.key_options())?;
    let keys_bytes = Source::total_size(&request.sources)?;
    let state = file.state();
    let predicted = state.estimated_fpp;
    let samples =
        request.samples.unwrap_or_else(|| samples_for(predicted, MIN_SAMPLES, MAX_SAMPLES));
    let count = measure(&file, request.seed, samples, talk)?;
    let judged = Full::of(&file.params()).judge(count, predicted, &file.estimate());
    let verdict = super::rate::verdict_on(judged);
    let rate = RateFound::new(request.seed, count, predicted, verdict);
    let (function, mut digests, mut bits) = (file.digest_function(), Vec::new(), Bitmap::new());
    let reading = Reading { gathers: true, ..request.lines.reading() };
    let cut = (&options, reading);
    let keys = Presence::of(request.sources, cut, (talk, keys_bytes), |batch, absent| {
        batch.digest_into(&function, &mut digests);
        file.contains_digests_into(&digests, &mut bits)?;
        absent.extend((0..digests.len()).filter(|&i| !bits.get(i)));
        Ok(0)
    })?;
    let is_off = verdict != RateVerdict::AsPredicted;
    let mut rows = vec![("checksums", "none: a server has no file".to_owned())];
    rows.extend(super::rate::rate_rows(&rate, &state));
    let found = (Found { state, rate }, is_off, rows);
    Report::new(file.url().into(), "none", found, keys).print(request.json, talk)
}

fn measure(file: &RemoteFile, seed: u64, samples: u64, talk: Talk) -> Result<Count, Error> {
    let mut progress = Progress::new(talk, Some(samples));
    let (mut bits, mut hits, mut done) = (Bitmap::new(), 0, 0);
    sample(seed, samples, Digest::new, |digests| {
        file.contains_digests_into(digests, &mut bits)?;
        hits += bits.count_ones() as u64;
        done += digests.len() as u64;
        progress.tick(done, done, String::new);
        Ok::<(), Error>(())
    })?;
    Ok(Count { samples, hits })
}
