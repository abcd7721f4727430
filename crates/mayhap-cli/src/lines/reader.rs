//! Chunks from the reading thread, as batches.

use super::batch::{Batch, Keys};
use super::chunk::Chunk;
use super::cut::LineCutter;
use crate::error::Error;
use crate::input::Source;
use crate::keys::{Cutter, KeyOptions, Keyless};
use crate::signals::Stop;
use mayhap::DigestFunction;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lines in a batch: many cache misses of the filter in flight, the batch's bytes still in L2.
const BATCH_LINES: usize = 1024;

/// Chunks that may wait between the threads: one that is ready while one is worked on evens out
/// what little the two differ; more took as long, and memory.
const WAITING_CHUNKS: usize = 1;

/// How long lines may not be there before the caller is asked again, and how often from then on.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const NEXT_PAUSE: Duration = Duration::from_millis(100);

/// The lines of some sources, one after another.
///
/// The thread that reads starts with the first batch. It ends with the input, and with the reader
/// (or, if it waits for input then, with the program).
pub struct LineReader {
    /// What the thread is to do, before it does.
    cutter: Option<LineCutter>,
    thread: Option<Thread>,
    strip_cr: bool,
    cuts_keys: bool,
    function: Option<DigestFunction>,
    chunk: Chunk,
    /// The first line of the chunk that is not yet handed out.
    next: usize,
    keyless: Keyless,
    lines: u64,
    bytes: u64,
}

struct Thread {
    handle: JoinHandle<()>,
    chunks: Receiver<Result<Chunk, Error>>,
    used: Sender<Chunk>,
}

impl LineReader {
    /// A reader of these sources; lines longer than `max_line` bytes are an error.
    pub fn new(
        sources: Vec<Source>,
        options: &KeyOptions,
        max_line: usize,
        stop: Option<Arc<Stop>>,
    ) -> Self {
        Self {
            cutter: Some(LineCutter::new(sources, options, max_line, stop)),
            thread: None,
            strip_cr: options.strip_cr,
            cuts_keys: Cutter::new(options).is_some(),
            function: None,
            chunk: Chunk::default(),
            next: 0,
            keyless: Keyless::default(),
            lines: 0,
            bytes: 0,
        }
    }

    /// Lets the reading thread digest by this function, the one that [`Batch::digest_into`] will be
    /// asked for. To be called before the first batch.
    pub fn digest_by(&mut self, function: DigestFunction) {
        if let Some(cutter) = &mut self.cutter {
            cutter.digest_by(function);
            self.function = Some(function);
        }
    }

    /// Lines handed out so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Those of them that have no key.
    pub fn keyless(&self) -> &Keyless {
        &self.keyless
    }

    /// Bytes of the lines handed out so far, decompressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes read from the files for the chunk at hand and those before, as they stand there.
    pub fn raw_bytes(&self) -> u64 {
        self.chunk.raw_bytes
    }

    /// The next lines, of which all have a key or all have none; `None` at the end. `before_wait`
    /// is called when the next ones are not there yet.
    ///
    /// # Errors
    ///
    /// Those of [`crate::input::Input`] and of `before_wait`; [`Error::LineTooLong`].
    pub fn next_batch(
        &mut self,
        before_wait: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Option<Batch<'_>>, Error> {
        let mut before_wait = Some(before_wait);
        self.next_batch_in_pauses(|_| match before_wait.take() {
            Some(before_wait) => before_wait().map(|()| Pause::Wait),
            None => Ok(Pause::Wait),
        })
    }

    /// [`LineReader::next_batch`] that calls `in_pause` with the time that the next lines have not
    /// been there: at first 0, then again and again as long as it returns [`Pause::CallAgain`].
    ///
    /// # Errors
    ///
    /// As [`LineReader::next_batch`].
    pub fn next_batch_in_pauses(
        &mut self,
        in_pause: impl FnMut(Duration) -> Result<Pause, Error>,
    ) -> Result<Option<Batch<'_>>, Error> {
        if self.next == self.chunk.len() && !self.receive(in_pause)? {
            return Ok(None);
        }
        let first_line = self.lines + 1;
        let run = self.next_run();
        let keys = match (self.cuts_keys, self.strip_cr) {
            (true, _) if run.1 => Keys::None,
            (true, _) => Keys::Cut,
            (false, true) => Keys::StrippedLines,
            (false, false) => Keys::Lines,
        };
        Ok(Some(Batch::new(&self.chunk, run.0, keys, self.function, first_line)))
    }

    /// The next lines that all have a key or all have none, and whether they have none.
    fn next_run(&mut self) -> (std::ops::Range<usize>, bool) {
        let start = self.next;
        let mut end = self.chunk.len().min(start + BATCH_LINES);
        let mut keyless = false;
        if self.cuts_keys {
            let (run, why) = self.chunk.table.run_from(start..end);
            end = run.end;
            if let Some(why) = why {
                self.keyless.add(run.len() as u64, self.lines + 1, why);
                keyless = true;
            }
        }
        self.next = end;
        self.lines += (end - start) as u64;
        self.bytes += (self.chunk.bounds[end] - self.chunk.bounds[start]) as u64;
        (start..end, keyless)
    }

    /// Takes the next chunk over; `false` at the end.
    fn receive(
        &mut self,
        in_pause: impl FnMut(Duration) -> Result<Pause, Error>,
    ) -> Result<bool, Error> {
        if let Some(cutter) = self.cutter.take() {
            self.thread = Some(start(cutter)?);
        }
        let Some(thread) = &self.thread else { return Ok(false) };
        // A thread that has ended needs no buffer.
        let _ = thread.used.send(std::mem::take(&mut self.chunk));
        self.next = 0;
        let received = match thread.chunks.try_recv() {
            Err(TryRecvError::Empty) => wait(&thread.chunks, in_pause)?,
            received => received.ok(),
        };
        if let Some(chunk) = received {
            self.chunk = chunk?;
            return Ok(true);
        }
        // The end, unless what cannot happen has happened there.
        if let Some(Err(panic)) = self.thread.take().map(|thread| thread.handle.join()) {
            std::panic::resume_unwind(panic);
        }
        Ok(false)
    }
}

/// What to do while the next lines are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Wait for them.
    Wait,
    /// Call again if they are not there soon.
    CallAgain,
}

/// Waits for the next chunk; `None` at the end.
fn wait(
    chunks: &Receiver<Result<Chunk, Error>>,
    mut in_pause: impl FnMut(Duration) -> Result<Pause, Error>,
) -> Result<Option<Result<Chunk, Error>>, Error> {
    let (mut paused, mut pause) = (Duration::ZERO, FIRST_PAUSE);
    while in_pause(paused)? == Pause::CallAgain {
        match chunks.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => paused += pause,
            received => return Ok(received.ok()),
        }
        pause = NEXT_PAUSE;
    }
    Ok(chunks.recv().ok())
}

/// Starts the thread that reads.
fn start(cutter: LineCutter) -> Result<Thread, Error> {
    let (sender, chunks) = mpsc::sync_channel(WAITING_CHUNKS);
    let (used, empty) = mpsc::channel();
    let handle = std::thread::Builder::new()
        .name("reader".into())
        .spawn(move || read(cutter, &sender, &empty))
        .map_err(Error::io("start", "a thread"))?;
    Ok(Thread { handle, chunks, used })
}

/// Sends chunks until the end, an error, or nobody wants them.
fn read(
    mut cutter: LineCutter,
    chunks: &SyncSender<Result<Chunk, Error>>,
    empty: &Receiver<Chunk>,
) {
    loop {
        let mut chunk = empty.try_recv().unwrap_or_default();
        let next = match cutter.next(&mut chunk) {
            Ok(true) => Ok(chunk),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let failed = next.is_err();
        if chunks.send(next).is_err() || failed {
            return;
        }
    }
}
