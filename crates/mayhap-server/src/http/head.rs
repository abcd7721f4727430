//! Heads of requests before they are parsed: how long one may take to arrive, and the answer to an
//! invalid one.
//!
//! hyper has one timeout for both, an idle connection and an unfinished head, and answers an
//! unreadable head with only a status. Both are distinguished here by the requests that the
//! connection's [`Caller`] has counted.

use super::Failure;
use super::admission::Caller;
use axum::http::StatusCode;
use mayhap_dashboard::caller::HEADERS;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The most bytes of a head. hyper stops reading there, but accepts a longer one that is complete
/// by then, which `guard` refuses.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;
/// The most header lines; hyper's own number, which costs no allocation.
const MAX_HEAD_LINES: usize = 100;
/// Bytes kept of a head, to report its error.
const KEPT_BYTES: usize = 8 << 10;

/// Timeouts of a head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// From its first byte to its last; for the first head, from the start of the connection.
    pub(super) head: Duration,
    /// From one request to the next.
    pub(super) keep_alive: Duration,
}

/// The next event of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// None: a request is in progress.
    Nothing,
    /// Another request: it is idle.
    Next,
    /// The rest of a head.
    Head,
}

/// The bytes of a connection, as HTTP sees them.
#[derive(Debug)]
pub(super) struct Heads<S> {
    stream: S,
    caller: Arc<Caller>,
    times: Times,
    /// Requests seen so far.
    seen: u64,
    wait: Wait,
    deadline: Pin<Box<Sleep>>,
    /// The bytes of a head so far.
    head: Vec<u8>,
    /// Whether the system holds bytes that the client has not read.
    is_full: bool,
    /// Our answer in place of an empty one, and how much of it is sent.
    answer: Vec<u8>,
    sent: usize,
}

impl<S> Heads<S> {
    pub(super) fn new(stream: S, caller: Arc<Caller>, times: Times) -> Self {
        Self {
            stream,
            caller,
            times,
            seen: 0,
            wait: Wait::Head,
            deadline: Box::pin(tokio::time::sleep(times.head)),
            head: Vec::new(),
            is_full: false,
            answer: Vec::new(),
            sent: 0,
        }
    }

    /// Whether a head is awaited; detects a new request, and an answered one.
    fn waits(&mut self) -> bool {
        let (seen, asks) = self.caller.requests();
        if seen != self.seen {
            self.seen = seen;
            self.wait = Wait::Nothing;
            self.head = Vec::new();
        }
        if asks {
            return false;
        }
        if self.wait == Wait::Nothing {
            self.await_next();
        }
        true
    }

    fn await_next(&mut self) {
        self.wait = Wait::Next;
        self.deadline.as_mut().reset(Instant::now() + self.times.keep_alive);
    }

    fn came(&mut self, bytes: &[u8]) {
        if self.wait == Wait::Next {
            self.wait = Wait::Head;
            self.deadline.as_mut().reset(Instant::now() + self.times.head);
        }
        let room = KEPT_BYTES - self.head.len().min(KEPT_BYTES);
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Replaces these bytes if they are hyper's own answer to a head; returns whether they are.
    fn own_answer(&mut self, bytes: &[u8]) -> bool {
        if !self.waits() || !self.answer.is_empty() {
            return false;
        }
        let Some(status) = bare_status(bytes) else { return false };
        self.answer = answer(status, &self.head);
        true
    }

    fn wrote(&mut self, taken: &Poll<io::Result<usize>>) {
        self.is_full = taken.is_pending();
        if self.wait == Wait::Next {
            self.await_next();
        }
    }
}

/// The status of an answer without a body, which none of our handlers sends.
fn bare_status(bytes: &[u8]) -> Option<StatusCode> {
    let text = std::str::from_utf8(bytes).ok()?;
    let head = text.strip_suffix("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.get(2..5)?;
    let is_bare = !head.contains("\r\n\r\n") && !head.contains(HEADERS[0].0.as_str());
    let status = status.parse::<StatusCode>().ok()?;
    (is_bare && status.is_client_error()).then_some(status)
}

/// The failure of a head above the limits.
pub(super) fn too_long_head() -> Failure {
    let kib = MAX_HEAD_BYTES >> 10;
    let problem = format!(
        "the head of the request is above the limit of {MAX_HEAD_LINES} header lines or {kib} KiB"
    );
    Failure::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, problem)
}

/// The answer to a head that hyper has refused with this status.
fn answer(status: StatusCode, head: &[u8]) -> Vec<u8> {
    let failure = match status {
        _ if has_absurd_length(head) => {
            let problem = "Content-Length is above the limit of any body; see docs/http.md";
            Failure::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => too_long_head(),
        StatusCode::URI_TOO_LONG => {
            Failure::new(status, "the path is above the limit of 65,534 bytes")
        }
        _ => Failure::new(status, "the head of the request is malformed; send HTTP/1.1"),
    };
    failure.to_bytes()
}

/// Whether it announces a body length beyond hyper's range.
fn has_absurd_length(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').any(|line| {
        let Some(at) = line.iter().position(|&byte| byte == b':') else { return false };
        let value = line[at + 1..].trim_ascii();
        line[..at].eq_ignore_ascii_case(b"content-length")
            && !value.is_empty()
            && value.iter().all(u8::is_ascii_digit)
            && std::str::from_utf8(value)
                .is_ok_and(|text| text.parse().map_or(true, |length: u64| length >= u64::MAX - 1))
    })
}

impl<S: AsyncWrite + Unpin> Heads<S> {
    /// Sends the rest of our answer.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.answer.len() {
            let rest = &self.answer[self.sent..];
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                taken => self.sent += taken,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heads<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let waits = this.waits();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if !waits {
            return read;
        }
        if read.is_pending() && !this.is_full {
            ready!(this.deadline.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if buffer.filled().len() > before {
            this.came(&buffer.filled()[before..]);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heads<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.own_answer(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(this.poll_answer(cx))?;
        let taken = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.wrote(&taken);
        taken
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let mut filled = parts.iter().filter(|part| !part.is_empty());
        if let (Some(only), None) = (filled.next(), filled.next())
            && this.own_answer(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        ready!(this.poll_answer(cx))?;
        let taken = Pin::new(&mut this.stream).poll_write_vectored(cx, parts);
        this.wrote(&taken);
        taken
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_answer(cx))?;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_answer(cx))?;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}
