//! `--exact`: the loop over a set of the keys themselves, and the cost of a filter instead.

use super::{Run, Set};
use crate::args::DEFAULT_FPP;
use crate::error::Error;
use mayhap::AnyFilter;
use mayhap_lists::for_each_run;
use mayhap_sets::ExactSet;
use serde::Serialize;

/// The results of a filter of the default rate with as many keys.
#[derive(Debug, Serialize)]
pub(super) struct Instead {
    pub(super) filter_fpp: f64,
    pub(super) num_bytes: u64,
    pub(super) lost_lines: f64,
}

impl Instead {
    pub(super) fn of(keys: u64) -> Option<Self> {
        let builder = AnyFilter::builder().expected_items(keys).target_fpp(DEFAULT_FPP);
        let params = builder.params().ok()?;
        let lost_lines = keys as f64 - params.expected_inserted(keys);
        Some(Self { filter_fpp: DEFAULT_FPP, num_bytes: params.num_bytes(), lost_lines })
    }
}

impl Run<'_> {
    /// Reads to the end, with an exact set.
    pub(super) fn pump_exact(&mut self) -> Result<(), Error> {
        let keep_new = !self.args.repeated;
        let Self { reader, output, progress, .. } = self;
        let Set::Exact(set) = &mut self.set else { return Ok(()) };
        let mut new = Vec::new();
        loop {
            let Some(batch) = reader.next_batch(|| output.flush())? else { return Ok(()) };
            new.clear();
            new.resize(batch.len().div_ceil(64), 0);
            let mut count = 0;
            let result = if batch.is_keyless() {
                new.fill(u64::MAX);
                count = batch.len();
                Ok(())
            } else {
                batch.keys().try_for_each(|key| {
                    new[count / 64] |= u64::from(set.insert(key)?) << (count % 64);
                    count += 1;
                    Ok(())
                })
            };
            for_each_run(&new, count, true, |run| {
                self.kept += run.len() as u64;
                Ok::<(), Error>(())
            })?;
            for_each_run(&new, count, keep_new, |run| output.write(batch.lines(run)))?;
            self.lines += count as u64;
            result.map_err(|error| at_line(error, self.lines + 1))?;
            progress.tick(self.lines, reader.raw_bytes(), || load(set));
        }
    }
}

fn load(set: &ExactSet) -> String {
    use mayhap_units::number::{counted_short, format_bytes};
    format!(", {} in {}", counted_short(set.len(), "key"), format_bytes(set.num_bytes()))
}

fn at_line(error: mayhap::Error, line: u64) -> Error {
    match error {
        mayhap::Error::TooLarge { limit, found: needed, .. } => {
            Error::TooManyKeys { needed, limit, line }
        }
        error => error.into(),
    }
}
