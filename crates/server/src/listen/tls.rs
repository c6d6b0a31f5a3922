//! TLS, with certificates from files.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those that vouch for it, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// A certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {} as PEM", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// There is nothing in it.
    #[error("there is no certificate in {}", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// Certificate and key do not do together.
    #[error("the certificate and the key cannot be used together")]
    Refused(#[source] rustls::Error),
}

impl TlsFiles {
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let unread = |path: &PathBuf| {
            let path = path.clone();
            move |source| TlsError::Pem { path, source }
        };
        let certificates = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(unread(&self.certificate))?;
        if certificates.is_empty() {
            return Err(TlsError::Empty { path: self.certificate.clone() });
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(unread(&self.key))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Refused)?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(TlsError::Refused)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
