//! A public key as RFC 8037 writes it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

use super::KeyError;

/// A JSON Web Key of type `OKP`, curve `Ed25519`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    kty: String,
    crv: String,
    x: String,
}

impl From<&VerifyingKey> for Jwk {
    fn from(key: &VerifyingKey) -> Self {
        Self { kty: "OKP".into(), crv: "Ed25519".into(), x: URL_SAFE_NO_PAD.encode(key.as_bytes()) }
    }
}

impl TryFrom<&Jwk> for VerifyingKey {
    type Error = KeyError;

    fn try_from(jwk: &Jwk) -> Result<Self, KeyError> {
        let bad = |reason| KeyError::BadPublicKey { reason };
        if jwk.kty != "OKP" || jwk.crv != "Ed25519" {
            return Err(bad("`kty` must be OKP and `crv` Ed25519"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(&jwk.x).map_err(|_| bad("`x` is not base64url"))?;
        let bytes = bytes.try_into().map_err(|_| bad("`x` is not 32 bytes"))?;
        let key = Self::from_bytes(&bytes).map_err(|_| bad("`x` is not a point of the curve"))?;
        if key.is_weak() { Err(bad("`x` is of small order: anyone could sign for it")) } else { Ok(key) }
    }
}
