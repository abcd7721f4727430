//! Certificate and key, from files; read again while the server runs.

use super::{Error, TlsError};
use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::path::Path;
use std::sync::Arc;

/// A certificate chain and its key, which can be reloaded: new connections get the new one.
#[derive(Debug)]
pub struct Certificate(ArcSwap<CertifiedKey>);

impl Certificate {
    /// The certificate chain and the key of these PEM files.
    ///
    /// # Errors
    ///
    /// [`Error::Tls`] if a file cannot be read, has no such content, or the two do not belong
    /// together.
    pub fn open(cert: &Path, key: &Path) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self(ArcSwap::from_pointee(certified(cert, key)?))))
    }

    /// Reads the files again; returns whether the certificate is another one.
    ///
    /// # Errors
    ///
    /// As [`Certificate::open`]; the previous one is kept.
    pub fn read(&self, cert: &Path, key: &Path) -> Result<bool, Error> {
        let read = certified(cert, key)?;
        // A chain has one key.
        let is_other = self.0.load().cert != read.cert;
        self.0.store(Arc::new(read));
        Ok(is_other)
    }

    /// TLS 1.2 or newer with this certificate.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the provider has no such versions.
    pub fn tls_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, Error> {
        let no_versions = |error: rustls::Error| Error::System {
            action: "set TLS up",
            source: std::io::Error::other(error),
        };
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(no_versions)?;
        Ok(Arc::new(builder.with_no_client_auth().with_cert_resolver(self.clone())))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

fn certified(cert: &Path, key: &Path) -> Result<CertifiedKey, Error> {
    let wrong = |path: &Path, source| Error::Tls { path: path.to_owned(), source };
    let not_pem = |path| move |error| wrong(path, TlsError::NotPem(error));
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(not_pem(cert))?;
    if chain.is_empty() {
        return Err(wrong(cert, TlsError::NoCertificate));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(not_pem(key))?;
    CertifiedKey::from_der(chain, private, &default_provider())
        .map_err(|error| wrong(key, TlsError::Unusable(error)))
}
