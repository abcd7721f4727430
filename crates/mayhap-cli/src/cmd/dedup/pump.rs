//! The loop: lines in, new ones out.

use super::{Run, Set};
use crate::error::{Error, WhenFull};
use crate::set::session::Due;
use mayhap_lists::for_each_run;

const WHEN_FULL: WhenFull = WhenFull {
    outcome: "all lines up to there were printed",
    next: "start again with a larger -n, or continue with --overfill and lose more lines",
};

impl Run<'_> {
    /// Reads to the end: the hot loop.
    pub(super) fn pump(&mut self) -> Result<(), Error> {
        let keep_new = !self.args.repeated;
        let Self { reader, output, progress, .. } = self;
        let Set::Filter(inserter) = &mut self.set else { return self.pump_exact() };
        if let Some(function) = inserter.digest_function() {
            reader.digest_by(function);
        }
        loop {
            let batch = reader.next_batch_in_pauses(|paused| {
                output.flush()?;
                let due = inserter.due_in_pause(paused);
                inserter.settle(due).map(|()| due.pause())
            })?;
            let Some(batch) = batch else { return Ok(()) };
            inserter.ready()?;
            let mut from = 0;
            if batch.is_keyless() {
                from = batch.len();
                self.lines += from as u64;
                self.kept += from as u64;
                if keep_new {
                    output.write(batch.lines(0..from))?;
                }
            } else {
                inserter.digest(&batch);
            }
            while from < batch.len() {
                let inserted = inserter.insert(from);
                if keep_new && inserted.as_ref().is_err_and(Error::is_of_server) {
                    // They may be in the filter, and would not be printed the next time.
                    self.lines += (batch.len() - from) as u64;
                    self.kept += (batch.len() - from) as u64;
                    output.write(batch.lines(from..batch.len()))?;
                }
                let (count, new) = inserted?;
                if count == 0 {
                    return Err(inserter.full(self.lines, WHEN_FULL));
                }
                self.lines += count as u64;
                self.kept += new.count_ones() as u64;
                for_each_run(new.as_words(), count, keep_new, |run| {
                    output.write(batch.lines(from + run.start..from + run.end))
                })?;
                from += count;
                inserter.warn(self.talk, || progress.clear());
                if let Some(fill) = inserter.due_to_clear() {
                    output.flush()?;
                    progress.clear();
                    inserter.clear(fill, self.talk)?;
                }
            }
            // Keys on a server are already recorded.
            let is_recorded = inserter.set().remote().is_some();
            let due = inserter.due();
            if is_recorded || due != Due::Nothing {
                output.flush()?;
                inserter.settle(due)?;
            }
            progress.tick(self.lines, reader.raw_bytes(), || inserter.load());
        }
    }
}
