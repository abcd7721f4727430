//! Whether all keys of some input are in a filter: for `verify`.

use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped};
use crate::io::progress::Progress;
use crate::io::reader;
use mayhap_keys::KeyOptions;
use mayhap_lists::{Batch, Reading, Source};
use serde::Serialize;

/// The number of absent lines that are shown, and the bytes of each.
const SHOWN_LINES: usize = 5;
const SHOWN_BYTES: usize = 80;

/// The counts of present and absent keys.
#[derive(Debug, Default, Serialize)]
pub(super) struct Presence {
    keys_read: u64,
    keys_absent: u64,
    lines_without_key: u64,
    first_absent: Vec<String>,
    /// The reason why not all lines were looked up.
    #[serde(skip)]
    unanswered: Option<Error>,
}

impl Presence {
    /// Reads all lines, if there are sources; `query` collects the absent keys of a batch, and
    /// returns the number of lines that turn out to have no key.
    ///
    /// # Errors
    ///
    /// The errors of [`reader::open`] and of `query`.
    pub(super) fn of(
        sources: Vec<Source>,
        (options, reading, skip_bad): (&KeyOptions, Reading, bool),
        (talk, total_bytes): (Reporter, Option<u64>),
        mut query: impl FnMut(&Batch<'_>, &mut Vec<usize>) -> Result<u64, Error>,
    ) -> Result<Option<Self>, Error> {
        if sources.is_empty() {
            return Ok(None);
        }
        let mut progress = Progress::new(talk, total_bytes);
        let mut reader = reader::open(sources, options, reading, None, talk)?;
        let (mut keys, mut absent, mut lines) = (Self::default(), Vec::new(), 0);
        loop {
            let raw_bytes = reader.raw_bytes();
            let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
            lines += batch.len() as u64;
            if batch.is_keyless() {
                keys.lines_without_key += batch.len() as u64;
                continue;
            }
            absent.clear();
            let without_key = query(&batch, &mut absent)?;
            keys.lines_without_key += without_key;
            keys.keys_read += batch.len() as u64 - without_key;
            keys.keys_absent += absent.len() as u64;
            for &i in absent.iter().take(SHOWN_LINES - keys.first_absent.len()) {
                let line = batch.lines(i..i + 1);
                let line = escaped(&line[..line.len() - 1]);
                keys.first_absent.push(format!("line {}: {line}", batch.first_line() + i as u64));
            }
            progress.tick(lines, raw_bytes, String::new);
        }
        progress.clear();
        keys.unanswered = reader::answered(&reader, talk, skip_bad).err();
        Ok(Some(keys))
    }

    /// Whether all lines were looked up. To be called once.
    ///
    /// # Errors
    ///
    /// The errors of [`reader::answered`].
    pub(super) fn answered(&mut self) -> Result<(), Error> {
        self.unanswered.take().map_or(Ok(()), Err)
    }

    /// Whether a key is absent.
    pub(super) fn any_absent(&self) -> bool {
        self.keys_absent > 0
    }

    /// The rows of a report.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let read = grouped(self.keys_read);
        let mut rows = vec![(
            "keys",
            match self.keys_absent {
                0 => format!("all {read} are present"),
                absent => format!("{} of {read} are absent", grouped(absent)),
            },
        )];
        rows.extend(self.first_absent.iter().map(|line| ("absent", line.clone())));
        if self.lines_without_key > 0 {
            let have = if self.lines_without_key == 1 { "has" } else { "have" };
            let lines = counted(self.lines_without_key, "line");
            rows.push(("", format!("{lines} {have} no key")));
        }
        rows
    }
}

/// A line as it can be shown: text as it is, other bytes as `\xFF`; cut if it is long.
fn escaped(line: &[u8]) -> String {
    let shown = &line[..line.len().min(SHOWN_BYTES)];
    let mut text = String::from("\"");
    for chunk in shown.utf8_chunks() {
        text.extend(chunk.valid().escape_debug());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    text + if shown.len() < line.len() { "\"..." } else { "\"" }
}
