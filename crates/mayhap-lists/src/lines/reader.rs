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
/// both of which are in flight at once; and half as many again, rather than a few in the next one.
const GATHERED_LINES: usize = 32_768;
const MOST_GATHERED_LINES: usize = GATHERED_LINES + GATHERED_LINES / 2;

/// The number of their bytes after which no more are gathered.
const GATHERED_BYTES: usize = 16 << 20;

/// Chunks that may wait between the threads: one that is ready while another is worked on evens out
/// the small differences; more were no faster, and took memory.
const WAITING_CHUNKS: usize = 1;

/// The time without lines before the caller is called back, and the interval from then on.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const NEXT_PAUSE: Duration = Duration::from_millis(100);

/// Files of up to this many bytes together are read without a thread, which takes as long to start
/// as to read them.
const SMALL_BYTES: u64 = 64 << 10;

/// The same where they are gathered: a pipe delivers 64 KiB per chunk during a round trip.
const WAITING_TO_BE_GATHERED: usize = 32;

/// The lines of some sources, one after another.
///
/// The thread that reads starts with the first batch, unless the files are small. It ends with the
/// input, or with the reader (or, if it is waiting for input then, with the program).
pub struct LineReader {
    /// The work for the thread, before it starts.
    cutter: Option<LineCutter>,
    /// How many chunks may wait between the threads; `None` if there is no need of a second one.
    waiting: Option<usize>,
    thread: Option<Thread>,
    cuts_keys: bool,
    /// Called with the notes about an input before its first lines are handed out.
    on_note: Option<OnNote>,
    function: Option<DigestFunction>,
    gathers: bool,
    expects_cr: bool,
    chunk: Chunk,
    /// The next chunk, which was not gathered with the current one.
    pending: Option<Result<Chunk, Error>>,
    /// The first line of the chunk that is not yet handed out.
    next: usize,
    keyless: Keyless,
    cr_lines: u64,
    lines: u64,
    bytes: u64,
}

/// The callback for each [`Note`].
type OnNote = Box<dyn FnMut(Note) + Send>;

struct Thread {
    handle: JoinHandle<()>,
    chunks: Receiver<Result<Chunk, Error>>,
    used: Sender<Chunk>,
}

impl LineReader {
    /// A reader of these sources; checks that the files are lists.
    ///
    /// # Errors
    ///
    /// The errors of [`input::look`].
    pub fn new(
        sources: Vec<Source>,
        options: &KeyOptions,
        reading: Reading,
        stop: Option<Arc<Stop>>,
    ) -> Result<Self, Error> {
        input::look(&sources, options, &reading)?;
        let waiting = if reading.gathers { WAITING_TO_BE_GATHERED } else { WAITING_CHUNKS };
        let is_small = !reading.gathers
            && !sources.contains(&Source::Stdin)
            && Source::total_size(&sources)?.is_some_and(|bytes| bytes <= SMALL_BYTES);
        Ok(Self {
            waiting: (!is_small).then_some(waiting),
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

    /// Calls `on_note` with the notes about each input; without it, byte-order marks and bytes
    /// after compressed data are not reported.
    pub fn on_note(&mut self, on_note: impl FnMut(Note) + Send + 'static) {
        self.on_note = Some(Box::new(on_note));
    }

    /// Lines handed out so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The lines without a key.
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

    /// The number of bytes read from the files up to the current chunk, before decompression.
    pub fn raw_bytes(&self) -> u64 {
        self.chunk.raw_bytes
    }

    /// The next lines, which either all have a key or all have none; `None` at the end.
    /// `before_wait` is called when the next ones have not arrived yet.
    ///
    /// # Errors
    ///
    /// The errors of [`Input`](input::Input) and of `before_wait`; [`Error::LineTooLong`].
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

    /// Like [`LineReader::next_batch`], but calls `in_pause` with the time waited for the next
    /// lines: at first 0, then repeatedly as long as it returns [`Pause::CallAgain`].
    ///
    /// # Errors
    ///
    /// Same as [`LineReader::next_batch`].
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
        if let Some(waiting) = self.waiting
            && let Some(cutter) = self.cutter.take()
        {
            self.thread = Some(start(cutter, waiting)?);
        }
        // A chunk without lines only has notes.
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
        let chunk = std::mem::take(&mut self.chunk);
        self.next = 0;
        let received = match (&mut self.cutter, &self.thread) {
            (Some(cutter), _) => next_of(cutter, chunk),
            (None, Some(thread)) => {
                // A thread that has ended needs no buffer.
                let _ = thread.used.send(chunk);
                match self.pending.take() {
                    Some(pending) => Some(pending),
                    None => match thread.chunks.try_recv() {
                        Err(TryRecvError::Empty) => wait(&thread.chunks, in_pause)?,
                        received => received.ok(),
                    },
                }
            }
            (None, None) => None,
        };
        if !matches!(received, Some(Ok(_))) {
            self.cutter = None;
        }
        if let Some(chunk) = received {
            self.chunk = chunk?;
            if let (true, Some(thread)) = (self.gathers, &self.thread) {
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
        // The end, unless the thread has panicked.
        if let Some(Err(panic)) = self.thread.take().map(|thread| thread.handle.join()) {
            std::panic::resume_unwind(panic);
        }
        Ok(false)
    }
}

/// The reaction while the next lines are not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Wait for them.
    Wait,
    /// Call again if they do not arrive soon.
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

/// Appends the following chunks to a chunk, until it has lines enough: of a file all the next ones,
/// of a pipe the available ones. Returns the first that is no continuation.
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

/// Sends chunks until the end, an error, or the receiver is gone.
fn read(
    mut cutter: LineCutter,
    chunks: &SyncSender<Result<Chunk, Error>>,
    empty: &Receiver<Chunk>,
) {
    while let Some(next) = next_of(&mut cutter, empty.try_recv().unwrap_or_default()) {
        let failed = next.is_err();
        // If the receiver is gone, no lines are read.
        if chunks.send(next).is_err() || failed {
            return;
        }
    }
}

/// The next chunk, in the memory of this one; after the last lines one that has only notes, if any
/// remain; then `None`.
fn next_of(cutter: &mut LineCutter, mut chunk: Chunk) -> Option<Result<Chunk, Error>> {
    match cutter.next(&mut chunk) {
        Ok(true) => Some(Ok(chunk)),
        Ok(false) => {
            let notes = cutter.take_notes();
            (!notes.is_empty()).then(|| Ok(Chunk { notes, ..Chunk::default() }))
        }
        Err(error) => Some(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The output of a reader: the lines and keys of each batch, the notes and counts; then how it
    /// ended.
    fn all(mut reader: LineReader) -> (Vec<String>, String) {
        let (sender, notes) = mpsc::channel();
        reader.on_note(move |note| sender.send(format!("{note:?}")).unwrap());
        let mut read = Vec::new();
        let end = loop {
            match reader.next_batch(|| Ok::<(), Error>(())) {
                Ok(Some(batch)) => {
                    let lines = batch.lines(0..batch.len()).escape_ascii();
                    let keys = batch.keys().map(|key| key.escape_ascii().to_string());
                    let keys = if batch.is_keyless() { Vec::new() } else { keys.collect() };
                    read.push(format!("{} {lines} {keys:?}", batch.first_line()));
                }
                Ok(None) => break String::new(),
                Err(error) => break error.to_string(),
            }
        };
        // After the end, too.
        assert!(matches!(reader.next_batch(|| Ok::<(), Error>(())), Ok(None)));
        read.extend(notes.try_iter());
        let counts = (reader.lines(), reader.bytes(), reader.raw_bytes(), reader.cr_lines());
        read.push(format!("{counts:?} {:?}", reader.keyless()));
        (read, end)
    }

    #[test]
    fn small_files_are_read_alike_with_a_thread_and_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let long = [b"a\n".as_slice(), &[b'x'; 3_000], b"\nb\n"].concat();
        let lists: [&[u8]; 6] =
            [b"", b"a,b\nc\n\nd,e", b"\xEF\xBB\xBFa\r\nb\n", b"\xEF\xBB\xBF", b"1,\"2\n3", &long];
        let paths = (0..lists.len()).map(|at| folder.path().join(at.to_string()));
        let paths: Vec<_> = paths.collect();
        for (path, list) in paths.iter().zip(lists) {
            fs::write(path, list).unwrap();
        }
        let csv = KeyOptions { csv: true, ..KeyOptions::default() };
        let short = Reading { max_line: 2_000, ..Reading::default() };
        for options in [KeyOptions::default(), csv.clone()] {
            for reading in [Reading::default(), short] {
                let sources = Source::from_paths(&paths);
                let reader = || LineReader::new(sources.clone(), &options, reading, None).unwrap();
                let (here, mut threaded) = (reader(), reader());
                assert_eq!(threaded.waiting.replace(WAITING_CHUNKS), None);
                let (read, end) = all(here);
                assert_eq!((read.clone(), end.clone()), all(threaded));
                assert!(read.len() > 4 && end.is_empty() == (reading.max_line > 3_000), "{end}");
            }
        }
        let many = vec![paths[5].clone(); 30];
        let reader = LineReader::new(Source::from_paths(&many), &csv, short, None).unwrap();
        assert_eq!(reader.waiting, Some(WAITING_CHUNKS));
    }
}
