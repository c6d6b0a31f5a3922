//! A private key for statements that third-party verifiers read.

use std::fmt;

use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, LineEnding};
use zeroize::Zeroizing;

use super::{KeyError, PublicKey};

/// An ECDSA private key on P-256. It is wiped from memory when dropped, and never printed.
///
/// Its signatures are deterministic (RFC 6979): the same statement always gives the same bytes.
#[derive(Clone)]
pub struct AttestKey(SigningKey);

impl AttestKey {
    /// The key that these random bytes are; `None` for the few that are none.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        SigningKey::from_slice(seed).ok().map(Self)
    }

    /// Reads a PKCS#8 PEM file.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        SigningKey::from_pkcs8_pem(pem).map(Self).map_err(KeyError::NotPkcs8)
    }

    /// The PKCS#8 PEM form.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        self.0.to_pkcs8_pem(LineEnding::LF).map_err(KeyError::NotPkcs8)
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey::P256(*self.0.verifying_key())
    }

    /// Signs the SHA-256 of a message; gives DER, as OpenSSL reads it.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature: DerSignature = self.0.sign(message);
        signature.as_bytes().to_vec()
    }
}

impl fmt::Debug for AttestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttestKey({})", self.public().kid())
    }
}
