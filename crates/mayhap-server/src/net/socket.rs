//! The socket of a connection, with the answers that it has not accepted yet.

use super::stream::Stream;
use mio::event::Event;
use std::io;
use std::time::Duration;

/// The memory of unsent answers beyond their bytes: this fraction for sent ones, and as much for
/// growth. Small, so that memory keeps to its limit; not zero, so that answers that arrive one by
/// one are not copied each time.
const SPARE: usize = 8;

/// Checks within the time after which a client that reads no answers is disconnected.
const LOOKS: u128 = 8;

/// Bytes that a client may still send while its connection is being closed.
const MAX_LINGER_BYTES: usize = 4 << 20;

/// A socket, and the answers that it has not accepted yet.
#[derive(Debug)]
pub(super) struct Socket {
    stream: Stream,
    /// Answers that the socket did not accept.
    unsent: Vec<u8>,
    /// How many of their bytes it has accepted since.
    sent: usize,
    /// When it last accepted answers.
    progress_ms: u64,
    /// Whether there may be something to read.
    readable: bool,
    /// The client sends no more, or is gone: a short read is not the last one.
    half_closed: bool,
    lingered: usize,
}

impl Socket {
    pub(super) const fn new(stream: Stream, now_ms: u64) -> Self {
        Self {
            stream,
            unsent: Vec::new(),
            sent: 0,
            progress_ms: now_ms,
            // Data may have arrived before the socket was registered.
            readable: true,
            half_closed: false,
            lingered: 0,
        }
    }

    /// Whether there may be something to read.
    pub(super) const fn is_readable(&self) -> bool {
        self.readable
    }

    /// Whether the TLS handshake is not complete.
    pub(super) fn is_handshaking(&self) -> bool {
        self.stream.is_handshaking()
    }

    /// Takes over the events of the system; returns whether answers may be accepted now.
    pub(super) fn note(&mut self, event: &Event) -> bool {
        let ended = event.is_read_closed() || event.is_error();
        self.half_closed |= ended;
        self.readable |= event.is_readable() || ended;
        event.is_writable() || ended
    }

    /// Reads available bytes; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer);
        match &read {
            Ok(0) => self.readable = false,
            Ok(bytes) => {
                let drained = *bytes < buffer.len() && !self.half_closed;
                self.readable = !(drained && self.stream.is_drained_by_a_short_read());
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
            Err(_) => {}
        }
        read
    }

    /// Whether answers, or bytes of TLS, wait for the socket.
    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.unsent.len() || self.wants_write()
    }

    /// Whether bytes of TLS wait for the socket.
    pub(super) fn wants_write(&self) -> bool {
        self.stream.wants_write()
    }

    /// Bytes of answers that the socket did not accept.
    pub(super) const fn unsent_bytes(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Bytes of memory in addition to the struct itself.
    pub(super) const fn footprint(&self) -> usize {
        self.unsent.capacity()
    }

    /// Sends answers after the unsent ones.
    pub(super) fn send(&mut self, bytes: &[u8], now_ms: u64) -> io::Result<()> {
        if self.has_unsent() {
            // By itself it would double its size.
            if self.unsent.capacity() - self.unsent.len() < bytes.len() {
                self.unsent.reserve_exact(bytes.len() + self.unsent.len() / SPARE);
            }
            self.unsent.extend_from_slice(bytes);
            return self.flush(now_ms);
        }
        let taken = write_all(&mut self.stream, bytes)?;
        self.progress_ms = now_ms;
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Sends unsent answers, as far as the socket accepts them.
    pub(super) fn flush(&mut self, now_ms: u64) -> io::Result<()> {
        let took = self.stream.flush()?;
        let taken = write_all(&mut self.stream, &self.unsent[self.sent..])?;
        if took || taken > 0 {
            self.progress_ms = now_ms;
        }
        self.sent += taken;
        if self.sent == self.unsent.len() {
            (self.unsent, self.sent) = (Vec::new(), 0);
        } else if self.sent > self.unsent.len() / SPARE {
            // Fewer than SPARE bytes are moved per sent byte.
            self.unsent.drain(..self.sent);
            self.sent = 0;
            self.unsent.shrink_to(self.unsent.len() + self.unsent.len() / SPARE);
        }
        Ok(())
    }

    /// Whether the socket has accepted nothing of unsent answers for this time.
    pub(super) fn is_stalled(&self, now_ms: u64, most: Duration) -> bool {
        self.has_accepted_nothing_for(now_ms, most.as_millis())
    }

    /// Whether it is time to check whether the client has read something: the system only reports
    /// it once a good part of its buffer is free, which takes long with a slow reader.
    pub(super) fn is_to_be_tried(&self, now_ms: u64, most: Duration) -> bool {
        self.has_accepted_nothing_for(now_ms, most.as_millis() / LOOKS)
    }

    fn has_accepted_nothing_for(&self, now_ms: u64, millis: u128) -> bool {
        self.has_unsent() && u128::from(now_ms.saturating_sub(self.progress_ms)) >= millis
    }

    /// Ends the output; what still arrives is only to be discarded.
    pub(super) fn begin_linger(&mut self) {
        self.stream.shut_down_write();
        self.readable = true;
    }

    /// Discards received input; true once the connection can be closed.
    pub(super) fn throw_away(&mut self, buffer: &mut [u8]) -> bool {
        match self.stream.read(buffer) {
            Ok(0) => true,
            Ok(bytes) => {
                self.lingered += bytes;
                self.lingered > MAX_LINGER_BYTES
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                false
            }
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        }
    }
}

/// Writes until the socket is full; returns the number of bytes accepted.
fn write_all(stream: &mut Stream, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match stream.write(&bytes[taken..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(now) => taken += now,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}
