//! A socket whose client reads its answers, however slowly, or is disconnected.
//!
//! The system reports a socket as writable once a good part of its buffer is free, which takes a
//! slow reader a minute. So the only way to know whether anything was read is to write.

use socket2::SockRef;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// Number of checks within the time after which a client is disconnected.
const LOOKS: u32 = 8;
/// The shortest pause between two checks.
const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// A socket whose client reads its answers, or is disconnected.
#[derive(Debug)]
pub(super) struct Taking {
    stream: TcpStream,
    /// A client that reads nothing for this time is disconnected; never if `None`.
    most: Option<Duration>,
    stalled: Option<Stalled>,
}

/// The state while the client does not read.
#[derive(Debug)]
struct Stalled {
    since: Instant,
    look: Pin<Box<Sleep>>,
}

impl Taking {
    pub(super) fn new(stream: TcpStream, most: Option<Duration>) -> Self {
        Self { stream, most, stalled: None }
    }

    /// The system accepts nothing now: checks again in a while, although nothing wakes us.
    fn look(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(most) = self.most else { return Poll::Pending };
        let pause = (most / LOOKS).max(LEAST_PAUSE);
        let now = Instant::now();
        let stalled = self.stalled.get_or_insert_with(|| Stalled {
            since: now,
            look: Box::pin(tokio::time::sleep(pause)),
        });
        loop {
            ready!(stalled.look.as_mut().poll(cx));
            let now = Instant::now();
            match SockRef::from(&self.stream).send(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                taken => {
                    self.stalled = None;
                    return Poll::Ready(taken);
                }
            }
            let waited = now.saturating_duration_since(stalled.since);
            if waited >= most {
                let peer = self.stream.peer_addr().map_or_else(|_| "?".into(), |at| at.to_string());
                log::warn!(
                    "HTTP client {peer} closed: it has taken nothing of its response for {} s \
                     (output_timeout)",
                    waited.as_secs_f64().round()
                );
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            stalled.look.as_mut().reset(now + pause.min(most.saturating_sub(waited)));
        }
    }

    fn after(
        &mut self,
        cx: &mut Context<'_>,
        taken: Poll<io::Result<usize>>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if taken.is_pending() && !bytes.is_empty() {
            return self.look(cx, bytes);
        }
        self.stalled = None;
        taken
    }
}

impl AsyncRead for Taking {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Taking {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let taken = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.after(cx, taken, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let taken = Pin::new(&mut this.stream).poll_write_vectored(cx, parts);
        let first = parts.iter().find(|part| !part.is_empty());
        this.after(cx, taken, first.map_or(&[], |part| part))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
