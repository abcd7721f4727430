//! Progress and results of a start, as messages: a bar would wait for its terminal.

use mayhap_engine::Event;
use mayhap_engine::durable::{Progress, Report};
use mayhap_units::number::{counted_short, format_bytes};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two messages about recovery.
const MESSAGE_PAUSE: Duration = Duration::from_secs(2);

/// Reports a start; called from several threads.
pub(super) struct Startup {
    /// The time of the last report on the progress of recovery.
    last: Mutex<Instant>,
}

impl Startup {
    pub(super) fn new() -> Self {
        Self { last: Mutex::new(Instant::now()) }
    }

    pub(super) fn report(&self, event: Event<'_>) {
        match event {
            Event::Recovering(progress) => self.show(progress),
            Event::Recovered { folder, report, filters, time } => {
                say_recovered(folder, report, filters, time);
            }
            _ => {}
        }
    }

    fn show(&self, progress: Progress) {
        let (what, done, total) = match progress {
            Progress::Images { done, total } => ("images", done, total),
            Progress::Log { done, total } => ("log", done, total),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= MESSAGE_PAUSE {
            *last = Instant::now();
            let (done, total) = (format_bytes(done), format_bytes(total));
            log::info!("recovering: {done} of {total} of the {what}");
        }
    }
}

fn say_recovered(data: &Path, report: &Report, filters: usize, time: Duration) {
    let (data, filters) = (data.display(), counted_short(filters as u64, "filter"));
    let (images, log) = (format_bytes(report.image_bytes), format_bytes(report.log_bytes));
    let seconds = time.as_secs_f64();
    let mut text =
        format!("opened {data}: {filters}, {images} of images, {log} of log, in {seconds:.2} s");
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
