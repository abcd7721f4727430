//! The progress bar: on a terminal only, and only for operations longer than a second.

use crate::io::messages::Reporter;
use crate::io::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mayhap_units::number::{format_bytes, format_count};
use std::time::{Duration, Instant};

const FIRST_SHOWN: Duration = Duration::from_secs(1);
/// With fewer columns a bar would take the place of the numbers.
const NARROW: usize = 60;
const REDRAW: Duration = Duration::from_millis(100);

/// A progress bar that costs one reading of the clock per call.
#[derive(Debug)]
pub struct Progress {
    enabled: bool,
    started: Instant,
    next: Instant,
    total_bytes: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts the clock. `total_bytes` is the size of all input if known.
    pub fn new(talk: Reporter, total_bytes: Option<u64>) -> Self {
        let enabled = talk.shows_progress();
        let started = Instant::now();
        Self { enabled, started, next: started + FIRST_SHOWN, total_bytes, bar: None }
    }

    /// Removes the bar for good; returns the time since the start.
    pub fn end(&mut self) -> Duration {
        self.clear();
        self.started.elapsed()
    }

    /// Shows the progress, if it is time to: lines and bytes done, and the text of `more`.
    pub fn tick(&mut self, lines: u64, raw_bytes: u64, more: impl FnOnce() -> String) {
        let total_bytes = self.total_bytes;
        let Some((bar, seconds)) = self.due(raw_bytes) else { return };
        let rate = format_count((lines as f64 / seconds) as u64);
        let read = match total_bytes {
            Some(_) => String::new(),
            None => format!(", {}", format_bytes(raw_bytes)),
        };
        let lines = format_count(lines);
        bar.set_message(format!("{lines} lines{read}, {rate}/s{}", more()));
        bar.tick();
    }

    /// Like [`Progress::tick`], for operations without lines.
    pub fn tick_bytes(&mut self, bytes: u64) {
        let Some((bar, seconds)) = self.due(bytes) else { return };
        let speed = format_bytes((bytes as f64 / seconds) as u64);
        bar.set_message(format!("{}, {speed}/s", format_bytes(bytes)));
        bar.tick();
    }

    /// The bar at its place and the seconds since the start, if it is time to draw.
    fn due(&mut self, bytes: u64) -> Option<(&ProgressBar, f64)> {
        if !self.enabled {
            return None;
        }
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        self.next = now + REDRAW;
        let total_bytes = self.total_bytes;
        let bar = self.bar.get_or_insert_with(|| new_bar(total_bytes));
        bar.set_position(bytes);
        Some((bar, (now - self.started).as_secs_f64()))
    }

    /// Removes the bar, so that something else can be printed.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn new_bar(total_bytes: Option<u64>) -> ProgressBar {
    let is_narrow = terminal::columns_of_stderr() < NARROW;
    let (bar, template) = match total_bytes {
        Some(total) if is_narrow => (ProgressBar::new(total), "{percent:>3} % {wide_msg}"),
        Some(total) => (ProgressBar::new(total), "{bar:16} {percent:>3} % ETA {eta} {wide_msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {wide_msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    // The template is a constant; the default style would reveal a mistake in it.
    bar.set_style(
        ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> "),
    );
    bar
}
