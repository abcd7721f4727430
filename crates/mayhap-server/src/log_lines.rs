//! Lines of the log on their way to a reader who may have stopped reading.
//!
//! A caller puts a line into a bounded queue and continues; one thread writes them. If the queue is
//! full, lines are dropped and counted, and a line reports the number once there is room. So a full
//! pipe, a stopped terminal or a blocking driver of containers delays no thread, even if an
//! unauthenticated client causes the lines, as it can with wrong passwords.

use crate::lock::lock;
use mayhap_engine::Count;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes of queued lines; beyond them lines are dropped.
const MAX_QUEUED_BYTES: usize = 1 << 20;
/// Memory of a line in addition to its bytes, so that empty ones are bounded too.
const LINE_BYTES: usize = 64;
/// Pause between two attempts on a stream that accepts nothing and does not block either.
const RETRY: Duration = Duration::from_millis(10);

/// Lines that were dropped since the start of the process.
static DROPPED: Count = Count::new(0);

/// How many lines were dropped since the start of the process, by all its queues.
pub fn dropped_lines() -> u64 {
    DROPPED.get()
}

/// A bounded queue of lines, and the thread that writes them.
///
/// # Examples
///
/// ```
/// use mayhap_server::LogLines;
/// use std::time::Duration;
///
/// let file = tempfile::NamedTempFile::new()?;
/// let dropped = |lines| format!("{lines} lines were dropped\n");
/// let lines = LogLines::begin(file.reopen()?, dropped)?;
/// lines.put("a line\n".to_owned());
/// assert!(lines.flush(Duration::from_secs(10)));
/// assert_eq!(std::fs::read_to_string(file.path())?, "a line\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LogLines(Arc<Queue>);

/// The state that the thread shares with callers.
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
    /// Makes the line that reports how many were dropped.
    notice: Box<dyn Fn(u64) -> String + Send + Sync>,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    bytes: usize,
    /// Lines dropped since the last notice.
    dropped: u64,
    /// Whether the thread is still writing a line.
    writing: bool,
    /// Whether no more lines will follow.
    ended: bool,
}

impl LogLines {
    /// Starts a thread that writes to `out`; `notice` makes the line that reports how many were
    /// dropped. A failed write loses its line.
    ///
    /// # Errors
    ///
    /// The system's, if it has no thread left.
    pub fn begin(
        out: impl Write + Send + 'static,
        notice: impl Fn(u64) -> String + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (state, changed, notice) = (Mutex::default(), Condvar::new(), Box::new(notice));
        let queue = Arc::new(Queue { state, changed, notice });
        let ours = queue.clone();
        // Not joined: it may block in a write for ever.
        thread::Builder::new().name("mayhap-log".into()).spawn(move || ours.write_all(out))?;
        Ok(Self(queue))
    }

    /// Appends a line, with its end, to the queue; drops it if there is no room. Never waits for
    /// the reader.
    pub fn put(&self, line: String) {
        let queue = &*self.0;
        let mut state = lock(&queue.state);
        if state.dropped > 0 && state.has_room(line.len() + LINE_BYTES) {
            // In place of the dropped lines.
            let notice = queue.take_notice(&mut state);
            state.push(notice);
        }
        if state.has_room(line.len()) {
            state.push(line);
        } else {
            state.dropped += 1;
            DROPPED.add(1);
        }
        drop(state);
        queue.changed.notify_all();
    }

    /// Waits until everything is written, for no longer than `most`; returns whether it was.
    pub fn flush(&self, most: Duration) -> bool {
        let is_writing =
            |state: &mut Waiting| state.writing || state.dropped > 0 || !state.lines.is_empty();
        let waited = self.0.changed.wait_timeout_while(lock(&self.0.state), most, is_writing);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for LogLines {
    fn drop(&mut self) {
        lock(&self.0.state).ended = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for LogLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogLines").finish_non_exhaustive()
    }
}

impl Waiting {
    /// A line that is longer than the whole queue has room if nothing else waits.
    fn has_room(&self, bytes: usize) -> bool {
        self.lines.is_empty() || self.bytes + bytes + LINE_BYTES <= MAX_QUEUED_BYTES
    }

    fn push(&mut self, line: String) {
        self.bytes += line.len() + LINE_BYTES;
        self.lines.push_back(line);
    }
}

impl Queue {
    fn take_notice(&self, state: &mut Waiting) -> String {
        (self.notice)(std::mem::take(&mut state.dropped))
    }

    /// Writes lines until no more will follow.
    fn write_all(&self, mut out: impl Write) {
        while let Some(line) = self.next() {
            write_line(&mut out, line.as_bytes());
        }
    }

    /// The next line; `None` at the end.
    fn next(&self) -> Option<String> {
        let mut state = lock(&self.state);
        if state.writing {
            state.writing = false;
            self.changed.notify_all();
        }
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.len() + LINE_BYTES;
                state.writing = true;
                return Some(line);
            }
            if state.dropped > 0 {
                state.writing = true;
                return Some(self.take_notice(&mut state));
            }
            if state.ended {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Writes a line, even to a stream that another process has made non-blocking: a partial line is
/// worse than a late one.
fn write_line(out: &mut impl Write, mut line: &[u8]) {
    while !line.is_empty() {
        match out.write(line) {
            Ok(0) => return,
            Ok(bytes) => line = line.get(bytes..).unwrap_or_default(),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock => thread::sleep(RETRY),
                _ => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// For events in another thread.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A reader that accepts a write each time that it is allowed one.
    struct Slow {
        allowed: Receiver<()>,
        taken: Sender<String>,
        most: usize,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.allowed.recv().is_err() {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let bytes = &bytes[..bytes.len().min(self.most)];
            let _ = self.taken.send(String::from_utf8(bytes.to_vec()).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow(most: usize) -> (LogLines, Sender<()>, Receiver<String>) {
        let ((allow, allowed), (taken, said)) = (channel(), channel());
        let out = Slow { allowed, taken, most };
        let notice = |lines| format!("{lines} lines were dropped\n");
        (LogLines::begin(out, notice).unwrap(), allow, said)
    }

    #[test]
    fn a_stopped_reader_blocks_no_caller_and_gets_the_number_of_dropped_lines() {
        let (lines, allow, said) = slow(usize::MAX);
        let long = "x".repeat(1023) + "\n";
        for _ in 0..5000 {
            lines.put(long.clone());
        }
        assert!(!lines.flush(Duration::from_millis(1)), "they are unread");
        for _ in 0..10 {
            allow.send(()).unwrap();
            said.recv_timeout(PATIENCE).unwrap();
        }
        // In place of the dropped lines, before the lines that follow them.
        lines.put("the next\n".into());
        for _ in 0..5000 {
            let _ = allow.send(());
        }
        assert!(lines.flush(PATIENCE));
        let rest: Vec<String> = said.try_iter().collect();
        assert_eq!(rest[rest.len() - 1], "the next\n");
        // One more notice if the thread has begun with the queue full.
        let notices: Vec<u64> =
            rest.iter().filter(|line| !is_long(line)).map(|line| number(line)).collect();
        let dropped: u64 = notices.iter().sum();
        assert!((3900..4100).contains(&dropped), "{dropped}");
        assert_eq!(rest.len() as u64 + 10, 5000 - dropped + notices.len() as u64 + 1);
        // Other tests may count concurrently.
        assert!(dropped_lines() >= dropped);
    }

    fn is_long(line: &str) -> bool {
        line.starts_with('x') || line == "the next\n"
    }

    /// The number in the notice.
    fn number(line: &str) -> u64 {
        line.strip_suffix(" lines were dropped\n").unwrap().parse().unwrap()
    }

    #[test]
    fn dropped_lines_are_reported_even_if_no_line_follows() {
        let (lines, allow, said) = slow(usize::MAX);
        for _ in 0..40_000 {
            lines.put(String::from("\n"));
        }
        for _ in 0..40_000 {
            let _ = allow.send(());
        }
        assert!(lines.flush(PATIENCE));
        let dropped = number(&said.try_iter().last().unwrap());
        assert!(dropped > 10_000, "empty lines are bounded too: {dropped}");
    }

    #[test]
    fn a_line_is_whole_though_the_stream_takes_parts_of_it() {
        let (lines, allow, said) = slow(3);
        lines.put("abcdefg\n".into());
        for _ in 0..3 {
            allow.send(()).unwrap();
        }
        assert!(lines.flush(PATIENCE));
        assert_eq!(said.try_iter().collect::<String>(), "abcdefg\n");
        // A closed stream loses lines and nothing else.
        drop(allow);
        lines.put("lost\n".into());
        assert!(lines.flush(PATIENCE));
    }

    #[test]
    fn a_stream_that_does_not_block_loses_nothing() {
        struct Stubborn(u32, Sender<u8>);
        impl Write for Stubborn {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 % 3 {
                    0 => Err(ErrorKind::WouldBlock.into()),
                    1 => Err(ErrorKind::Interrupted.into()),
                    _ => self.1.send(bytes[0]).map(|()| 1).map_err(io::Error::other),
                }
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (taken, said) = channel();
        let lines = LogLines::begin(Stubborn(0, taken), |_| String::new()).unwrap();
        lines.put("whole\n".into());
        assert!(lines.flush(PATIENCE));
        assert_eq!(said.try_iter().collect::<Vec<u8>>(), b"whole\n");
    }
}
