//! A private key of either kind.

use zeroize::Zeroizing;

use super::{AttestKey, KeyError, PublicKey, SecretKey};

/// A private key: Ed25519 for R1's own signatures and for notes, P-256 for statements that others read.
#[derive(Clone, Debug)]
pub enum PrivateKey {
    /// For receipts, seals, checkpoints and notes.
    Ed25519(SecretKey),
    /// For attestations.
    P256(AttestKey),
}

impl PrivateKey {
    /// Reads a PKCS#8 PEM file.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        match SecretKey::from_pem(pem) {
            Ok(key) => Ok(Self::Ed25519(key)),
            Err(_) => AttestKey::from_pem(pem).map(Self::P256),
        }
    }

    /// The PKCS#8 PEM form.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        match self {
            Self::Ed25519(key) => key.to_pem(),
            Self::P256(key) => key.to_pem(),
        }
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        match self {
            Self::Ed25519(key) => key.public().into(),
            Self::P256(key) => key.public(),
        }
    }
}
