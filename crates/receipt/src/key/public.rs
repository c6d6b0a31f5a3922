//! A public key of either kind.

use ed25519_dalek::VerifyingKey;
use p256::ecdsa::VerifyingKey as P256Key;
use r1_event::KeyId;

use super::{Jwk, SPKI_PREFIX};

/// A public key: Ed25519 for R1's own signatures and for notes, P-256 for statements that others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// For receipts, seals, checkpoints and notes.
    Ed25519(VerifyingKey),
    /// For attestations.
    P256(P256Key),
}

/// The DER in front of an uncompressed point on P-256 (RFC 5480).
const P256_SPKI_PREFIX: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

impl PublicKey {
    /// The key's name: its RFC 7638 thumbprint.
    #[must_use]
    pub fn kid(&self) -> KeyId {
        match self {
            Self::Ed25519(key) => KeyId::of(key),
            Self::P256(_) => KeyId::of_jwk(&Jwk::from(self).thumbprint_input()),
        }
    }

    /// The key, if it can sign receipts and notes.
    #[must_use]
    pub const fn ed25519(&self) -> Option<&VerifyingKey> {
        match self {
            Self::Ed25519(key) => Some(key),
            Self::P256(_) => None,
        }
    }

    /// The DER form that OpenSSL and all others read.
    #[must_use]
    pub fn to_spki(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => [SPKI_PREFIX, key.as_bytes()].concat(),
            Self::P256(key) => [P256_SPKI_PREFIX, key.to_sec1_point(false).as_bytes()].concat(),
        }
    }
}

impl From<&VerifyingKey> for PublicKey {
    fn from(key: &VerifyingKey) -> Self {
        Self::Ed25519(*key)
    }
}

impl From<VerifyingKey> for PublicKey {
    fn from(key: VerifyingKey) -> Self {
        Self::Ed25519(key)
    }
}
