//! Chunks from the reading thread, as batches.

use super::batch::{Batch, Keys};
use super::chunk::Chunk;
use super::cut::LineCutter;
use crate::input::{self, Error, Note, Reading, Source, Stop};
use mayhap::DigestFunction;
use mayhap_keys::{Cutter, KeyOptions, Keyless};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lines in a batch: many cache misses of the filter in flight, the batch's bytes still in L2.
const BATCH_LINES: usize = 1024;

/// Lines of a batch that waits for a round trip: two times the 16,384 keys that go into a pipeline,
/// both of which are on their way at once; and half as many again rather than few in the next one.
const GATHERED_LINES: usize = 32_768;
const MOST_GATHERED_LINES: usize = GATHERED_LINES + GATHERED_LINES / 2;

/// Bytes of them after which no more are gathered.
const GATHERED_BYTES: usize = 16 << 20;

/// Chunks that may wait between the threads: one that is ready while one is worked on evens out
/// what little the two differ; more took as long, and memory.
const WAITING_CHUNKS: usize = 1;

/// How long lines may not be there before the caller is called back, and how often from then on.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const NEXT_PAUSE: Duration = Duration::from_millis(100);

/// Where they are gathered: what a pipe brings, 64 KiB a chunk, while a round trip is waited for.
const WAITING_TO_BE_GATHERED: usize = 32;

/// The lines of some sources, one after another.
///
/// The thread that reads starts with the first batch. It ends with the input, and with the reader
/// (or, if it waits for input then, with the program).
pub struct LineReader {
    /// What the thread is to do, before it does.
    cutter: Option<LineCutter>,
    thread: Option<Thread>,
    cuts_keys: bool,
    /// Called with what there is to say of an input before its first lines are handed out.
    on_note: Option<OnNote>,
    function: Option<DigestFunction>,
    gathers: bool,
    expects_cr: bool,
    chunk: Chunk,
    /// What came behind the chunk and was not gathered with it.
    pending: Option<Result<Chunk, Error>>,
    /// The first line of the chunk that is not yet handed out.
    next: usize,
    keyless: Keyless,
    cr_lines: u64,
    lines: u64,
    bytes: u64,
}

/// What is called with each [`Note`].
type OnNote = Box<dyn FnMut(Note) + Send>;

struct Thread {
    handle: JoinHandle<()>,
    chunks: Receiver<Result<Chunk, Error>>,
    used: Sender<Chunk>,
}

impl LineReader {
    /// A reader of these sources, of which the files are seen to be lists.
    ///
    /// # Errors
    ///
    /// Those of [`input::look`].
    pub fn new(
        sources: Vec<Source>,
        options: &KeyOptions,
        reading: Reading,
        stop: Option<Arc<Stop>>,
    ) -> Result<Self, Error> {
        input::look(&sources, options, &reading)?;
        Ok(Self {
            cutter: Some(LineCutter::new(sources, options, reading, stop)),
            thread: None,
            cuts_keys: Cutter::new(options).is_some(),
            on_note: None,
            function: None,
            gathers: reading.gathers,
            expects_cr: reading.expects_cr,
            chunk: Chunk::default(),
            pending: None,
            next: 0,
            keyless: Keyless::default(),
            cr_lines: 0,
            lines: 0,
            bytes: 0,
        })
    }

    /// Lets the reading thread digest by this function, the one that [`Batch::digest_into`] will be
    /// called with. To be called before the first batch.
    pub fn digest_by(&mut self, function: DigestFunction) {
        if let Some(cutter) = &mut self.cutter {
            cutter.digest_by(function);
            self.function = Some(function);
        }
    }

    /// Calls `on_note` with what there is to say of each input; without it nobody learns of
    /// byte-order marks and of what follows compressed data.
    pub fn on_note(&mut self, on_note: impl FnMut(Note) + Send + 'static) {
        self.on_note = Some(Box::new(on_note));
    }

    /// Lines handed out so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Those of them that have no key.
    pub fn keyless(&self) -> &Keyless {
        &self.keyless
    }

    /// Lines read so far that end with a carriage return which is no part of their keys.
    pub fn cr_lines(&self) -> u64 {
        self.cr_lines
    }

    /// [`LineReader::cr_lines`] if there are any and they may surprise: [`Reading::expects_cr`] is
    /// not set.
    pub fn surprising_cr_lines(&self) -> Option<u64> {
        Some(self.cr_lines).filter(|&lines| lines > 0 && !self.expects_cr)
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
    /// Those of [`Input`](input::Input) and of `before_wait`; [`Error::LineTooLong`].
    pub fn next_batch<E: From<Error>>(
        &mut self,
        before_wait: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Batch<'_>>, E> {
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
    pub fn next_batch_in_pauses<E: From<Error>>(
        &mut self,
        in_pause: impl FnMut(Duration) -> Result<Pause, E>,
    ) -> Result<Option<Batch<'_>>, E> {
        if self.next == self.chunk.len() && !self.receive(in_pause)? {
            return Ok(None);
        }
        let first_line = self.lines + 1;
        let run = self.next_run();
        let keys = match self.cuts_keys {
            true if run.1 => Keys::None,
            true => Keys::Cut,
            false => Keys::Lines,
        };
        Ok(Some(Batch::new(&self.chunk, run.0, keys, self.function, first_line)))
    }

    /// The next lines that all have a key or all have none, and whether they have none.
    fn next_run(&mut self) -> (std::ops::Range<usize>, bool) {
        let start = self.next;
        let left = self.chunk.len() - start;
        let lines = match self.gathers {
            false => BATCH_LINES,
            true if left <= MOST_GATHERED_LINES => left,
            true => GATHERED_LINES,
        };
        let mut end = self.chunk.len().min(start + lines);
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
    fn receive<E: From<Error>>(
        &mut self,
        mut in_pause: impl FnMut(Duration) -> Result<Pause, E>,
    ) -> Result<bool, E> {
        if let Some(cutter) = self.cutter.take() {
            let waiting = if self.gathers { WAITING_TO_BE_GATHERED } else { WAITING_CHUNKS };
            self.thread = Some(start(cutter, waiting)?);
        }
        // One without lines only has something to say.
        while self.receive_chunk(&mut in_pause)? {
            if self.chunk.len() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the next chunk over, or one that has only notes; `false` at the end.
    fn receive_chunk<E: From<Error>>(
        &mut self,
        in_pause: impl FnMut(Duration) -> Result<Pause, E>,
    ) -> Result<bool, E> {
        let Some(thread) = &self.thread else { return Ok(false) };
        // A thread that has ended needs no buffer.
        let _ = thread.used.send(std::mem::take(&mut self.chunk));
        self.next = 0;
        let received = match self.pending.take() {
            Some(pending) => Some(pending),
            None => match thread.chunks.try_recv() {
                Err(TryRecvError::Empty) => wait(&thread.chunks, in_pause)?,
                received => received.ok(),
            },
        };
        if let Some(chunk) = received {
            self.chunk = chunk?;
            if self.gathers {
                self.pending = gather(&mut self.chunk, thread);
            }
            self.cr_lines += self.chunk.cr_lines;
            let notes = self.chunk.notes.drain(..);
            match &mut self.on_note {
                Some(on_note) => notes.for_each(on_note),
                None => drop(notes),
            }
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
fn wait<E>(
    chunks: &Receiver<Result<Chunk, Error>>,
    mut in_pause: impl FnMut(Duration) -> Result<Pause, E>,
) -> Result<Option<Result<Chunk, Error>>, E> {
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

/// Appends to a chunk those that come behind it, until it has lines enough: of a file all the next
/// ones, of a pipe those that are there. Returns the first that is no continuation.
fn gather(chunk: &mut Chunk, thread: &Thread) -> Option<Result<Chunk, Error>> {
    while chunk.len() < GATHERED_LINES && chunk.line_bytes() < GATHERED_BYTES {
        let next = if chunk.is_stream {
            thread.chunks.try_recv().ok()?
        } else {
            thread.chunks.recv().ok()?
        };
        match next {
            Ok(next) if next.is_continuation() => {
                chunk.append(&next);
                // A thread that has ended needs no buffer.
                let _ = thread.used.send(next);
            }
            next => return Some(next),
        }
    }
    None
}

/// Starts the thread that reads.
fn start(cutter: LineCutter, waiting: usize) -> Result<Thread, Error> {
    let (sender, chunks) = mpsc::sync_channel(waiting);
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
            Ok(false) => {
                let notes = cutter.take_notes();
                if !notes.is_empty() {
                    // If nobody wants it, nobody reads.
                    let _ = chunks.send(Ok(Chunk { notes, ..Chunk::default() }));
                }
                return;
            }
            Err(error) => Err(error),
        };
        let failed = next.is_err();
        if chunks.send(next).is_err() || failed {
            return;
        }
    }
}
