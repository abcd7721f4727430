//! The summary of a run, in words and as JSON.

use super::exact::Instead;
use super::{Run, Set};
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped, print, rate};
use crate::io::reader;
use mayhap::set::Repeats;
use mayhap_sets::Forgotten;
use mayhap_units::number::{counted_short, format_bytes, format_count};
use serde::Serialize;
use std::time::Duration;

/// The summary of a run, as `--json` prints it.
#[derive(Debug, Default, Serialize)]
struct Summary {
    lines_read: u64,
    bytes_read: u64,
    lines_kept: u64,
    lines_dropped: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    expected_lost_lines: f64,
    expected_lost_lines_sigma: f64,
    seconds: f64,
    lines_per_second: f64,
    num_bytes: u64,
    layout: &'static str,
    items: u64,
    expected_items: Option<u64>,
    target_fpp: f64,
    estimated_fpp: f64,
    fill_ratio: Option<f64>,
    #[serde(flatten)]
    forgotten: Option<Forgotten>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times_cleared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<Instead>,
    complete: bool,
}

impl Run<'_> {
    fn summary(&mut self, seconds: Duration, complete: bool) -> Summary {
        let (lines, dropped) = (self.lines, self.lines - self.kept);
        let seconds = seconds.as_secs_f64();
        let counted = Summary {
            lines_read: lines,
            bytes_read: self.reader.bytes(),
            lines_kept: self.kept,
            lines_dropped: dropped,
            lines_without_key: self.reader.keyless().lines(),
            lines_with_crlf: self.reader.cr_lines(),
            seconds,
            lines_per_second: lines as f64 / seconds.max(1e-9),
            complete,
            ..Summary::default()
        };
        match &mut self.set {
            Set::Filter(inserter) => {
                let lost = inserter.lost().of_dropped(dropped);
                let (forgotten, times_cleared) = (inserter.forgotten(), inserter.times_cleared());
                let set = inserter.set();
                let (numbers, measured) = (set.numbers(Repeats::Ignore), set.measurements());
                Summary {
                    expected_lost_lines: lost.lines,
                    expected_lost_lines_sigma: lost.deviation,
                    num_bytes: numbers.num_bytes,
                    layout: set.name(),
                    items: numbers.items,
                    expected_items: numbers.capacity,
                    target_fpp: numbers.target_fpp,
                    estimated_fpp: measured.estimated_fpp(),
                    // A server may not report it.
                    fill_ratio: Some(measured.fill_ratio()).filter(|fill| !fill.is_nan()),
                    forgotten,
                    times_cleared,
                    ..counted
                }
            }
            Set::Exact(set) => Summary {
                num_bytes: set.num_bytes(),
                layout: "exact",
                items: set.len(),
                instead: Instead::of(set.len()),
                ..counted
            },
        }
    }

    /// Prints it; returns an error if hardly any line had a key for the state to remember.
    pub(super) fn report(&mut self, seconds: Duration, complete: bool) -> Result<(), Error> {
        let (without_key, skip_bad) = (self.reader.keyless().lines(), self.args.lines.skip_bad);
        let without_key = if skip_bad || self.args.state.is_none() { 0 } else { without_key };
        let outcome = if self.args.repeated { "they were not printed" } else { "all were printed" };
        let lines = (without_key, self.reader.lines());
        let usable = reader::usable(&self.reader, lines, (self.talk, skip_bad), outcome);
        self.print(seconds, complete)?;
        usable
    }

    fn print(&mut self, seconds: Duration, complete: bool) -> Result<(), Error> {
        if self.args.json {
            return Reporter::json(&self.summary(seconds, complete), false);
        }
        if !self.talk.is_quiet() {
            let repeated = self.args.repeated;
            print(&(self.summary(seconds, complete).text(repeated) + "\n"));
        }
        Ok(())
    }
}
impl Summary {
    fn text(&self, repeated: bool) -> String {
        let (kept, dropped) = (grouped(self.lines_kept), grouped(self.lines_dropped));
        let verdict = if repeated {
            let repeats = counted(self.lines_dropped, "repeat");
            let first = counted(self.lines_kept - self.lines_without_key, "first occurrence");
            format!("printed {repeats}, omitted {first}")
        } else {
            format!("kept {kept}, dropped {dropped}")
        };
        let (lines, bytes) = (counted(self.lines_read, "line"), format_bytes(self.bytes_read));
        let (seconds, speed) = (self.seconds, format_count(self.lines_per_second as u64));
        let read = format!("read {lines} ({bytes}) in {seconds:.2} s, {speed}/s\n{verdict}");
        if self.layout == "exact" {
            return format!("{read}\n{}", self.exact_text());
        }
        let lost = match self.expected_lost_lines {
            lost if lost < 0.005 => "none expected".into(),
            lost if lost < 10.0 => format!("{lost:.2} ± {:.2}", self.expected_lost_lines_sigma),
            lost => format!("{lost:.0} ± {:.0}", self.expected_lost_lines_sigma),
        };
        let lost_what = if repeated { "not repeats" } else { "lost (new, but taken for repeats)" };
        let target = rate(self.target_fpp);
        let with =
            self.expected_items.map(|items| format!(" with {}", counted_short(items, "key")));
        let fill = self.fill_ratio.map(|fill| format!(", fill {:.1} %", fill * 100.0));
        let (with, fill) = (with.unwrap_or_default(), fill.unwrap_or_default());
        let forgot = self.forgotten.and_then(Forgotten::text);
        let forgot = forgot.map(|text| format!("\n{text}")).unwrap_or_default();
        let (layout, bytes, now) =
            (self.layout, format_bytes(self.num_bytes), rate(self.estimated_fpp));
        format!(
            "{read}\n{lost_what}: {lost}{forgot}\n{layout} filter of {bytes}{fill}\n\
             rate now {now}, target {target}{with}"
        )
    }

    fn exact_text(&self) -> String {
        let (bytes, keys) = (format_bytes(self.num_bytes), counted(self.items, "key"));
        let Some(Instead { filter_fpp, num_bytes, lost_lines }) = &self.instead else {
            return format!("exact: {bytes} for {keys}");
        };
        let (fpp, small) = (rate(*filter_fpp), format_bytes(*num_bytes));
        let lost = match *lost_lines {
            lost if lost < 0.5 => "no line".into(),
            lost => format!("about {}", counted(lost.round() as u64, "line")),
        };
        format!("exact: {bytes} for {keys}; a filter at {fpp} would take {small} and lose {lost}")
    }
}
