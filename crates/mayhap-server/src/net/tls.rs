//! Certificate and key, from files.

use super::Error;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// TLS 1.2 or newer with the certificate chain and the key of these PEM files.
///
/// # Errors
///
/// [`Error::Tls`] if a file cannot be read, holds no such thing, or the two do not belong together.
pub fn tls_config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, Error> {
    let wrong = |path: &Path, message: &dyn Display| Error::Tls {
        path: path.to_owned(),
        message: message.to_string(),
    };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(cert, &error))?;
    if chain.is_empty() {
        return Err(wrong(cert, &"no certificate found; it must be PEM"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map(Arc::new)
        .map_err(|error| wrong(key, &error))
}
