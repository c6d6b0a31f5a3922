//! The name of a signing key.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;
use sha2::Digest as _;

/// `kid:` + the RFC 7638 thumbprint of a public key: 43 characters of base64url.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// The id of `key`.
    #[must_use]
    pub fn of(key: &VerifyingKey) -> Self {
        Self::of_bytes(key.as_bytes())
    }

    /// The id of the key that these bytes are, or would be if they were a point of the curve.
    #[must_use]
    pub fn of_bytes(key: &[u8; 32]) -> Self {
        let x = URL_SAFE_NO_PAD.encode(key);
        Self::of_jwk(&format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#))
    }

    /// The id of a key of another kind, by its JSON Web Key as RFC 7638 hashes it: the required members in
    /// lexicographic order, no white space.
    #[must_use]
    pub fn of_jwk(jwk: &str) -> Self {
        Self(URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(jwk)))
    }

    /// The 43 characters without `kid:`, as file names use them.
    #[must_use]
    pub fn thumbprint(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kid:{}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = InvalidKeyId;

    fn from_str(text: &str) -> Result<Self, InvalidKeyId> {
        let thumbprint = text.strip_prefix("kid:").ok_or(InvalidKeyId)?;
        match URL_SAFE_NO_PAD.decode(thumbprint) {
            Ok(bytes) if bytes.len() == 32 => Ok(Self(thumbprint.into())),
            _ => Err(InvalidKeyId),
        }
    }
}

/// A text that is not `kid:` and 43 characters of base64url.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `kid:` followed by 43 characters of base64url")]
pub struct InvalidKeyId;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_the_rfc_8032_key_is_known() {
        let public = crate::id::from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a").unwrap();
        let key = VerifyingKey::from_bytes(&public.try_into().unwrap()).unwrap();
        let id = KeyId::of(&key);
        assert_eq!(id.to_string(), "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}
