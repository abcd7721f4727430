//! Certificates for TLS beside those of the machine.

use crate::Error;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A bundle of all authorities that browsers trust is a quarter of this.
const MAX_BYTES: u64 = 1 << 20;

/// Certificates for `rediss://`: an authority of one's own, and a client's certificate with its
/// key, each as PEM. Without an authority those of the machine are trusted.
///
/// [`fmt::Debug`] shows none of them.
///
/// # Examples
///
/// ```
/// use mayhap_redis::{Certificates, Error};
///
/// assert!(Certificates::default().is_empty());
/// let error = Certificates::from_pem(Some(b"no certificate".to_vec()), None).unwrap_err();
/// assert!(matches!(error, Error::Certificates { .. }));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Certificates {
    authority: Option<Arc<[u8]>>,
    client: Option<Arc<Client>>,
}

/// A client's certificate and its key.
#[derive(PartialEq, Eq)]
struct Client {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Certificates {
    /// Reads the files of an authority, and of a client's certificate and its key.
    ///
    /// # Errors
    ///
    /// [`Error::Certificates`] for a file that cannot be read, is larger than 1 MiB, or has no
    /// certificate or key.
    pub fn open(authority: Option<&Path>, client: Option<(&Path, &Path)>) -> Result<Self, Error> {
        let client = match client {
            Some((certificate, key)) => Some((read(certificate)?, read(key)?)),
            None => None,
        };
        Self::from_pem(authority.map(read).transpose()?, client)
    }

    /// Takes the PEM of an authority, and of a client's certificate and its key.
    ///
    /// # Errors
    ///
    /// [`Error::Certificates`] where one has no certificate, or the key is none.
    pub fn from_pem(
        authority: Option<Vec<u8>>,
        client: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Self, Error> {
        let client = client.map(|(certificate, key)| Arc::new(Client { certificate, key }));
        let certificates = Self { authority: authority.map(Into::into), client };
        certificates.check()?;
        Ok(certificates)
    }

    /// Whether there are none: those of the machine are used, and no client's.
    pub fn is_empty(&self) -> bool {
        self.authority.is_none() && self.client.is_none()
    }

    #[cfg(feature = "tls")]
    fn check(&self) -> Result<(), Error> {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let bad = |what: &str, reason: &str| {
            Err(Error::Certificates { reason: format!("{what} {reason}") })
        };
        let client = self.client.as_ref();
        let parts = [
            ("the authority", self.authority.as_deref()),
            ("the client", client.map(|it| &it.certificate[..])),
        ];
        for (what, pem) in parts {
            let Some(pem) = pem else { continue };
            let mut found = 0;
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let Ok(certificate) = certificate else {
                    return bad(what, "has a certificate that is no PEM");
                };
                if rustls::RootCertStore::empty().add(certificate).is_err() {
                    return bad(what, "has a certificate that cannot be read");
                }
                found += 1;
            }
            if found == 0 {
                return bad(what, "has no certificate (-----BEGIN CERTIFICATE-----)");
            }
        }
        if client.is_some_and(|it| PrivateKeyDer::from_pem_slice(&it.key).is_err()) {
            return bad("the client", "has no key in PEM (-----BEGIN PRIVATE KEY-----)");
        }
        Ok(())
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, reason = "there is no TLS")]
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A client of the crate `redis` that uses them.
    pub(super) fn client(&self, info: redis::ConnectionInfo) -> redis::RedisResult<redis::Client> {
        #[cfg(feature = "tls")]
        if !self.is_empty() && matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. }) {
            let client_tls = self.client.as_ref().map(|it| redis::ClientTlsConfig {
                client_cert: it.certificate.clone(),
                client_key: it.key.clone(),
            });
            let root_cert = self.authority.as_ref().map(|pem| pem.to_vec());
            return redis::Client::build_with_tls(
                info,
                redis::TlsCertificates { client_tls, root_cert },
            );
        }
        redis::Client::open(info)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let bad = |reason: String| Error::Certificates { reason };
    let file = std::fs::File::open(path);
    let mut pem = Vec::new();
    file.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut pem))
        .map_err(|error| bad(format!("{}: {error}", path.display())))?;
    if pem.len() as u64 > MAX_BYTES {
        return Err(bad(format!("{} has more than {MAX_BYTES} bytes", path.display())));
    }
    Ok(pem)
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates")
    }
}
