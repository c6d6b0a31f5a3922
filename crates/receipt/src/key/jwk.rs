//! A public key as RFC 7518 and RFC 8037 write it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;
use p256::ecdsa::VerifyingKey as P256Key;
use serde::{Deserialize, Serialize};

use super::{KeyError, PublicKey};

/// A JSON Web Key: type `OKP` with curve `Ed25519`, or type `EC` with curve `P-256`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    kty: String,
    crv: String,
    x: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    y: Option<String>,
}

impl Jwk {
    /// What RFC 7638 hashes: the required members in lexicographic order, no white space.
    pub(super) fn thumbprint_input(&self) -> String {
        let Self { kty, crv, x, y } = self;
        match y {
            Some(y) => format!(r#"{{"crv":"{crv}","kty":"{kty}","x":"{x}","y":"{y}"}}"#),
            None => format!(r#"{{"crv":"{crv}","kty":"{kty}","x":"{x}"}}"#),
        }
    }
}

impl From<&VerifyingKey> for Jwk {
    fn from(key: &VerifyingKey) -> Self {
        Self { kty: "OKP".into(), crv: "Ed25519".into(), x: URL_SAFE_NO_PAD.encode(key.as_bytes()), y: None }
    }
}

impl From<&PublicKey> for Jwk {
    fn from(key: &PublicKey) -> Self {
        match key {
            PublicKey::Ed25519(key) => Self::from(key),
            PublicKey::P256(key) => {
                // 0x04 ‖ x ‖ y: an uncompressed point always has both.
                let point = key.to_sec1_point(false);
                let (x, y) = point.as_bytes()[1..].split_at(32);
                let text = |coordinate: &[u8]| URL_SAFE_NO_PAD.encode(coordinate);
                Self { kty: "EC".into(), crv: "P-256".into(), x: text(x), y: Some(text(y)) }
            }
        }
    }
}

impl TryFrom<&Jwk> for VerifyingKey {
    type Error = KeyError;

    fn try_from(jwk: &Jwk) -> Result<Self, KeyError> {
        if jwk.kty != "OKP" || jwk.crv != "Ed25519" {
            return Err(bad("`kty` must be OKP and `crv` Ed25519"));
        }
        let key = Self::from_bytes(&coordinate(&jwk.x)?).map_err(|_| bad("`x` is not a point of the curve"))?;
        if key.is_weak() { Err(bad("`x` is of small order: anyone could sign for it")) } else { Ok(key) }
    }
}

impl TryFrom<&Jwk> for PublicKey {
    type Error = KeyError;

    fn try_from(jwk: &Jwk) -> Result<Self, KeyError> {
        let ("EC", Some(y)) = (jwk.kty.as_str(), &jwk.y) else { return VerifyingKey::try_from(jwk).map(Self::Ed25519) };
        if jwk.crv != "P-256" {
            return Err(bad("`crv` must be Ed25519 or P-256"));
        }
        let point = [&[4][..], &coordinate(&jwk.x)?, &coordinate(y)?].concat();
        P256Key::from_sec1_bytes(&point).map(Self::P256).map_err(|_| bad("`x` and `y` are not a point of the curve"))
    }
}

fn coordinate(text: &str) -> Result<[u8; 32], KeyError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad("a coordinate is not base64url"))?;
    bytes.try_into().map_err(|_| bad("a coordinate is not 32 bytes"))
}

const fn bad(reason: &'static str) -> KeyError {
    KeyError::BadPublicKey { reason }
}
