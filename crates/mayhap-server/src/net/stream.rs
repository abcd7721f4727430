//! The socket of a connection, with TLS or without.

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::ServerConnection;
use std::io::{self, Read, Write};
use std::net::Shutdown;

/// The socket of a connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(mio::net::UnixStream),
    Tls(Box<Tls>),
}

/// A socket behind TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    socket: TcpStream,
    session: ServerConnection,
}

impl Stream {
    pub(super) fn tls(socket: TcpStream, session: ServerConnection) -> Self {
        Self::Tls(Box::new(Tls { socket, session }))
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(socket) => registry.register(socket, token, both),
            #[cfg(unix)]
            Self::Unix(socket) => registry.register(socket, token, both),
            Self::Tls(tls) => registry.register(&mut tls.socket, token, both),
        }
    }

    /// Reads available bytes; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            #[cfg(unix)]
            Self::Unix(socket) => socket.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }

    /// Whether a read that did not fill its buffer has emptied the socket.
    pub(super) const fn is_drained_by_a_short_read(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }

    /// Writes some of it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(bytes),
            #[cfg(unix)]
            Self::Unix(socket) => socket.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    /// Whether bytes of TLS's own wait to be written.
    pub(super) fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.session.wants_write())
    }

    /// Writes the bytes of [`Stream::wants_write`], as far as the socket accepts them; returns
    /// whether it accepted any.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Tls(tls) => tls.flush(),
            _ => Ok(false),
        }
    }

    /// Whether the TLS handshake is not complete.
    pub(super) fn is_handshaking(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.session.is_handshaking())
    }

    /// Signals the end of the output.
    pub(super) fn shut_down_write(&mut self) {
        // A client that is gone needs no goodbye.
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Write),
            #[cfg(unix)]
            Self::Unix(socket) => socket.shutdown(Shutdown::Write),
            Self::Tls(tls) => {
                tls.session.send_close_notify();
                let _ = tls.flush();
                tls.socket.shutdown(Shutdown::Write)
            }
        };
    }
}

impl Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            if self.session.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            if let Err(error) = self.session.process_new_packets() {
                // The alert with the reason.
                let _ = self.flush();
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }

    /// Writes as much as TLS and the socket accept, so that at most one buffer of TLS waits.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        loop {
            self.flush()?;
            if self.session.wants_write() || taken == bytes.len() {
                break;
            }
            let now = self.session.writer().write(&bytes[taken..])?;
            if now == 0 {
                break;
            }
            taken += now;
        }
        if taken == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<bool> {
        let mut took = false;
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => took = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(took)
    }
}
