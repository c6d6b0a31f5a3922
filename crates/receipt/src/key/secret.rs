//! A private key.

use std::fmt;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, KeypairBytes};
use ed25519_dalek::{SigningKey, VerifyingKey};
use r1_event::KeyId;
use zeroize::Zeroizing;

use super::KeyError;

/// An Ed25519 private key. It is wiped from memory when dropped, and never printed.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The key that grows from 32 random bytes.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(SigningKey::from_bytes(&seed))
    }

    /// Reads a PKCS#8 PEM file, also one that has the public half beside the private one.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        SigningKey::from_pkcs8_pem(pem).map(Self).map_err(KeyError::NotPkcs8)
    }

    /// The PKCS#8 PEM form, without the public half: OpenSSL 3.0 and others do not read the newer form that has it.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        let private = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        private.to_pkcs8_pem(LineEnding::LF).map_err(KeyError::NotPkcs8)
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> VerifyingKey {
        self.0.verifying_key()
    }

    /// The key's name.
    #[must_use]
    pub fn kid(&self) -> KeyId {
        KeyId::of(&self.public())
    }

    /// For signing.
    #[must_use]
    pub const fn signing_key(&self) -> &SigningKey {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.kid())
    }
}
