//! Progress and results of a start: a bar on a terminal, messages elsewhere.

use crate::io::messages::Talk;
use crate::io::progress::Progress as Bar;
use mayhap_server::Event;
use mayhap_server::durable::{Progress, Report};
use mayhap_units::number::{format_bytes, format_count, noun};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two messages about recovery.
const MESSAGE_PAUSE: Duration = Duration::from_secs(2);

/// Reports a start; called from several threads.
pub(super) struct Startup(Mutex<Recovering>);

/// How far recovery is.
struct Recovering {
    bar: Option<Bar>,
    talk: Talk,
    last: Instant,
}

impl Startup {
    pub(super) fn new(talk: Talk) -> Self {
        Self(Mutex::new(Recovering { bar: None, talk, last: Instant::now() }))
    }

    pub(super) fn report(&self, event: Event<'_>) {
        let mut recovering = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Recovering(progress) => recovering.show(progress),
            Event::Recovered { folder, report, filters, time } => {
                recovering.bar = None;
                say_recovered(folder, report, filters, time);
            }
            _ => {}
        }
    }
}

impl Recovering {
    fn show(&mut self, progress: Progress) {
        let (what, done, total) = match progress {
            Progress::Images { done, total } => ("images", done, total),
            Progress::Log { done, total } => ("log", done, total),
        };
        let talk = self.talk;
        self.bar.get_or_insert_with(|| Bar::new(talk, Some(total))).tick_bytes(done);
        if done == total {
            // The next part has a total of its own.
            self.bar = None;
        }
        if self.last.elapsed() >= MESSAGE_PAUSE {
            self.last = Instant::now();
            let (done, total) = (format_bytes(done), format_bytes(total));
            log::info!("recovering: {done} of {total} of the {what}");
        }
    }
}

fn say_recovered(data: &Path, report: &Report, filters: usize, time: Duration) {
    let mut text = format!(
        "opened {}: {} {}, {} of images, {} of log, in {:.2} s",
        data.display(),
        format_count(filters as u64),
        noun(filters as u64, "filter"),
        format_bytes(report.image_bytes),
        format_bytes(report.log_bytes),
        time.as_secs_f64()
    );
    if report.operations + report.digests + report.keys == 0 {
        text += "; nothing to replay";
    }
    log::info!("{text}");
    if let Some(cut) = &report.dropped {
        log::warn!(
            "{}: removed a torn write, {} bytes from offset {} on; it had nothing acknowledged, \
             except for the last two seconds before a power cut",
            cut.path.display(),
            cut.bytes,
            cut.offset
        );
    }
}
