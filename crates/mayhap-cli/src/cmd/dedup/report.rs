//! What a run did, in words and as JSON.

use super::pump::Run;
use crate::error::Error;
use crate::number::{format_bytes, format_count};
use crate::talk::{Talk, grouped, rate};
use serde::Serialize;
use std::time::Duration;

/// What a run did, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    lines_read: u64,
    bytes_read: u64,
    lines_kept: u64,
    lines_dropped: u64,
    lines_without_key: u64,
    expected_lost_lines: f64,
    expected_lost_lines_sigma: f64,
    seconds: f64,
    lines_per_second: f64,
    filter_bytes: u64,
    filter_kind: &'static str,
    items: u64,
    expected_items: Option<u64>,
    target_fpp: f64,
    fpp_now: f64,
    fill_ratio: f64,
    complete: bool,
}

impl Run<'_> {
    fn summary(&mut self, seconds: Duration, complete: bool) -> Summary {
        let (lines, dropped) = (self.lines, self.lines - self.kept);
        let (lost, sigma) = self.inserter.loss().expected(dropped);
        let seen = self.inserter.seen();
        let seconds = seconds.as_secs_f64();
        Summary {
            lines_read: lines,
            bytes_read: self.reader.bytes(),
            lines_kept: self.kept,
            lines_dropped: dropped,
            lines_without_key: self.reader.keyless().lines(),
            expected_lost_lines: lost,
            expected_lost_lines_sigma: sigma,
            seconds,
            lines_per_second: lines as f64 / seconds.max(1e-9),
            filter_bytes: seen.num_bytes(),
            filter_kind: seen.kind(),
            items: seen.items(),
            expected_items: seen.expected_items(),
            target_fpp: seen.target_fpp(),
            fpp_now: seen.fpp_now(),
            fill_ratio: seen.fill_ratio(),
            complete,
        }
    }

    pub(super) fn report(&mut self, seconds: Duration, complete: bool) -> Result<(), Error> {
        self.reader.keyless().warn(self.talk);
        if self.args.json {
            return Talk::json(&self.summary(seconds, complete), false);
        }
        if !self.talk.is_quiet() {
            let repeated = self.args.repeated;
            self.talk.say(&self.summary(seconds, complete).text(repeated));
        }
        Ok(())
    }
}
impl Summary {
    fn text(&self, repeated: bool) -> String {
        let (kept, dropped) = (grouped(self.lines_kept), grouped(self.lines_dropped));
        let verdict = if repeated {
            let first = grouped(self.lines_kept - self.lines_without_key);
            format!("printed {dropped} repeats, left out {first} first ones")
        } else {
            format!("kept {kept}, dropped {dropped}")
        };
        let lost = match self.expected_lost_lines {
            lost if lost < 0.005 => "none expected".into(),
            lost if lost < 10.0 => format!("{lost:.2} ± {:.2}", self.expected_lost_lines_sigma),
            lost => format!("{lost:.0} ± {:.0}", self.expected_lost_lines_sigma),
        };
        let lost_what = if repeated { "not repeats" } else { "lost (new, but taken for repeats)" };
        let asked = match self.expected_items {
            Some(items) => {
                format!("asked {} with {} keys", rate(self.target_fpp), format_count(items))
            }
            None => format!("asked {}", rate(self.target_fpp)),
        };
        format!(
            "read {} lines ({}) in {:.2} s, {}/s\n{verdict}\n{lost_what}: {lost}\n\
             {} filter of {}, fill {:.1} %\nrate now {}, {asked}",
            grouped(self.lines_read),
            format_bytes(self.bytes_read),
            self.seconds,
            format_count(self.lines_per_second as u64),
            self.filter_kind,
            format_bytes(self.filter_bytes),
            self.fill_ratio * 100.0,
            rate(self.fpp_now),
        )
    }
}
