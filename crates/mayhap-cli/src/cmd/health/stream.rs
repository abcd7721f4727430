//! A connection with a deadline, with TLS if required.

use super::target::Target;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// A stream that is read and written.
pub(super) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A connection with one deadline for all of its parts.
pub(super) fn connect(target: &Target, until: Instant) -> io::Result<Box<dyn Stream>> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in addresses(target, until)? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(socket) => {
                let stream = Timed { socket, until };
                return if target.is_tls { with_tls(target, stream) } else { Ok(Box::new(stream)) };
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The addresses of a name, which may take the system longer than there is time.
fn addresses(target: &Target, until: Instant) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = (target.host.clone(), target.port);
    let (found, addresses) = sync_channel(1);
    std::thread::spawn(move || {
        let all = (host.as_str(), port).to_socket_addrs();
        let _ = found.send(all.map(Iterator::collect));
    });
    let found = addresses.recv_timeout(left(until)?);
    found.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A socket whose reads and writes share one deadline.
struct Timed {
    socket: TcpStream,
    until: Instant,
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(left(self.until)?))?;
        self.socket.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(left(self.until)?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn with_tls(target: &Target, stream: Timed) -> io::Result<Box<dyn Stream>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let anybody = Arc::new(Anybody(provider));
    let config =
        builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth();
    let name = ServerName::try_from(target.host.clone()).map_err(io::Error::other)?;
    let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(session, stream)))
}

/// Takes any certificate: a probe goes to the address of the container, which no certificate names,
/// and sends nothing secret.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _own: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
