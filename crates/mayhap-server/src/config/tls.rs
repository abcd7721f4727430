//! TLS from the files that the configuration names.

use super::{Config, ConfigError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, crypto::ring, version};
use std::path::Path;
use std::sync::Arc;

impl Config {
    /// What a TLS listener needs; `None` without a certificate. TLS 1.2 and 1.3, no client
    /// certificates.
    ///
    /// `protocols` is offered by ALPN; none for the Redis protocol.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, holds no certificate or key, or the two do not belong together.
    pub fn tls(&self, protocols: &[&[u8]]) -> Result<Option<Arc<ServerConfig>>, ConfigError> {
        let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let wrong = |name: &str, path: &Path, problem: String| {
            ConfigError::whole(format!("{name} {}: {problem}", path.display()))
        };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect)
            .map_err(|error| wrong("tls_cert", cert, error.to_string()))?;
        if certificates.is_empty() {
            return Err(wrong("tls_cert", cert, "holds no certificate in PEM".into()));
        }
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| wrong("tls_key", key, error.to_string()))?;
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map(rustls::ConfigBuilder::with_no_client_auth)
            .and_then(|builder| builder.with_single_cert(certificates, private))
            .map_err(|error| wrong("tls_cert", cert, error.to_string()))?;
        tls.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Some(Arc::new(tls)))
    }
}
