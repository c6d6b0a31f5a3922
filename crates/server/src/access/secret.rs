//! Words that let somebody in: made of chance, kept as hashes, compared without telling how far they agree.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use r1_runtime::world::{self, NoRandomness};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-256 of a secret: all that is kept of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hashed([u8; 32]);

impl Hashed {
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Whether it is the hash of this secret.
    pub(crate) fn is_of(self, secret: &str) -> bool {
        self.0.ct_eq(&Self::of(secret).0).into()
    }

    pub(crate) fn to_hex(self) -> String {
        r1_event::id::to_hex(&self.0)
    }
}

/// A new secret of 256 bits that begins with `prefix`.
pub(crate) fn mint(prefix: &str) -> Result<String, NoRandomness> {
    Ok(format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(world::random::<32>()?)))
}
