//! Listeners for clients.

use super::inbox::Arrival;
use super::stream::Stream;
use super::{Error, Listen};
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use rustls::{ServerConfig, ServerConnection};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Connections that wait to be accepted; 128 turn a burst of ten thousand into half a minute.
const BACKLOG: i32 = 4096;

/// A listener for clients.
#[derive(Debug)]
pub(crate) struct Listener {
    kind: Kind,
    keepalive: Duration,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener, Option<Arc<ServerConfig>>),
    #[cfg(unix)]
    Unix(mio::net::UnixListener, std::path::PathBuf),
}

impl Listener {
    /// Listens at an address or path, one of `all`.
    pub(crate) fn bind(place: &Listen, all: &[Listen], keepalive: Duration) -> Result<Self, Error> {
        let addresses = all.iter().filter_map(|place| match place {
            Listen::Tcp(address) | Listen::Tls(address, _) => Some(*address),
            Listen::Unix(_) => None,
        });
        let tcp = |address: &SocketAddr, tls: Option<&Arc<ServerConfig>>| {
            let socket = listen(*address, addresses, BACKLOG).map(TcpListener::from_std);
            (socket.map(|socket| Kind::Tcp(socket, tls.cloned())), address.to_string())
        };
        let (kind, place) = match place {
            Listen::Tcp(address) => tcp(address, None),
            Listen::Tls(address, config) => tcp(address, Some(config)),
            #[cfg(unix)]
            Listen::Unix(path) => {
                let kind = unix(path).map(|socket| Kind::Unix(socket, path.clone()));
                (kind, path.display().to_string())
            }
            #[cfg(not(unix))]
            Listen::Unix(path) => {
                (Err(io::ErrorKind::Unsupported.into()), path.display().to_string())
            }
        };
        let kind = kind.map_err(|source| Error::Listen { place, source })?;
        Ok(Self { kind, keepalive })
    }

    /// The address, with the port that the system chose for port 0.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Tcp(socket, _) => socket.local_addr().ok(),
            #[cfg(unix)]
            Kind::Unix(..) => None,
        }
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp(socket, _) => registry.register(socket, token, Interest::READABLE),
            #[cfg(unix)]
            Kind::Unix(socket, _) => registry.register(socket, token, Interest::READABLE),
        }
    }

    /// Accepts one connection, if there is `room`; otherwise it gets an error and this returns
    /// `None`.
    pub(super) fn accept(
        &self,
        room: impl FnOnce(Option<SocketAddr>) -> bool,
    ) -> io::Result<Option<Arrival>> {
        match &self.kind {
            Kind::Tcp(listener, tls) => {
                let (mut socket, address) = listener.accept()?;
                let address = canonical(address);
                let session = tls.as_ref().map(|tls| ServerConnection::new(Arc::clone(tls)));
                let session = session.transpose().map_err(io::Error::other)?;
                if !room(Some(address)) {
                    refuse(&mut socket, tls.is_none());
                    return Ok(None);
                }
                self.prepare(&socket);
                let stream = match session {
                    None => Stream::Tcp(socket),
                    Some(session) => Stream::tls(socket, session),
                };
                Ok(Some(Arrival { stream, address: Some(address) }))
            }
            #[cfg(unix)]
            Kind::Unix(listener, _) => {
                let (mut socket, _) = listener.accept()?;
                if !room(None) {
                    refuse(&mut socket, true);
                    return Ok(None);
                }
                Ok(Some(Arrival { stream: Stream::Unix(socket), address: None }))
            }
        }
    }

    /// Answers are sent at once, and lost clients are detected. A client can do without either.
    fn prepare(&self, socket: &TcpStream) {
        let _ = socket.set_nodelay(true);
        keep_little_unsent(socket);
        let keepalive = TcpKeepalive::new().with_time(self.keepalive);
        let _ = SockRef::from(socket).set_tcp_keepalive(&keepalive);
    }
}

/// Bytes that the system buffers for a client before it accepts more, not counting those in flight.
#[cfg(any(target_os = "android", target_os = "linux"))]
const UNSENT_BYTES: u32 = 128 << 10;

/// Makes the system report soon that a client has read something, and buffer little for one that
/// does not read: by default it buffers megabytes, and waits until a third of them is free. A
/// client can do without.
pub(crate) fn keep_little_unsent<'a, S>(socket: &'a S)
where
    SockRef<'a>: From<&'a S>,
{
    #[cfg(any(target_os = "android", target_os = "linux"))]
    let _ = SockRef::from(socket).set_tcp_notsent_lowat(UNSENT_BYTES);
    #[cfg(not(any(target_os = "android", target_os = "linux")))]
    let _ = SockRef::from(socket);
}

#[cfg(unix)]
impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.kind {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn refuse(socket: &mut impl Write, plain: bool) {
    if plain {
        // A new socket has room for it, and a client that is gone needs no error.
        let _ = socket.write(b"-ERR max number of clients reached\r\n");
    }
}

/// The address of a client in its own family: a socket for `::` reports an IPv4 address as IPv6,
/// and all of those would be taken for neighbours.
pub(crate) const fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Listens on an address, one of `all`, without blocking.
///
/// `::` accepts IPv4 too, as in most programs, unless the list has `0.0.0.0` for that.
pub(crate) fn listen(
    address: SocketAddr,
    all: impl IntoIterator<Item = SocketAddr>,
    backlog: i32,
) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Otherwise the connections of the last process keep the port for a minute. On Windows it would
    // let another process in.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        let is_v4 = |other: SocketAddr| {
            other.is_ipv4() && other.ip().is_unspecified() && other.port() == address.port()
        };
        let is_shared = address.ip().is_unspecified() && all.into_iter().any(is_v4);
        socket.set_only_v6(is_shared)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::from(address))?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

#[cfg(unix)]
fn unix(path: &std::path::Path) -> io::Result<mio::net::UnixListener> {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::UnixStream;

    // Left by a process that was killed, if connecting to it fails.
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if is_socket {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)?;
            }
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    // Nobody can connect before it listens, so other users never can.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    socket.listen(BACKLOG)?;
    Ok(mio::net::UnixListener::from_std(std::os::fd::OwnedFd::from(socket).into()))
}
