//! A public key that a verifier was given, in whatever form.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, VerifyingKey};
use r1_event::KeyId;
use serde::Deserialize;

use super::{Entry, KeyError};

/// A public key, and what is said of it. A weak key is known too: it has a verdict of its own.
#[derive(Clone, Debug)]
pub struct KnownKey {
    kid: KeyId,
    public: [u8; 32],
    entry: Option<Entry>,
}

/// The DER in front of the 32 bytes of an Ed25519 public key (RFC 8410).
pub const SPKI_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl KnownKey {
    /// Reads a keyring entry, a JWK or an SPKI PEM file. Only an entry says for whom and until when it counts.
    pub fn from_file(content: &[u8]) -> Result<Self, KeyError> {
        let text = std::str::from_utf8(content).map_err(|_| KeyError::NotAPublicKey)?;
        if text.trim_start().starts_with("-----BEGIN") {
            return Self::from_pem(text).ok_or(KeyError::NotAPublicKey);
        }
        #[derive(Deserialize)]
        struct Kind {
            kty: Option<String>,
        }
        match serde_json::from_slice(content) {
            Ok(Kind { kty: Some(_) }) => Self::from_jwk(content),
            Ok(Kind { kty: None }) => Self::from_entry_file(content),
            Err(_) => Err(KeyError::NotAPublicKey),
        }
    }

    /// Reads a keyring entry, also one whose key is weak.
    pub fn from_entry_file(content: &[u8]) -> Result<Self, KeyError> {
        #[derive(Deserialize)]
        struct Weak {
            kid: String,
            public: serde_json::Value,
        }
        match Entry::from_json(content) {
            Ok(entry) => Self::of_entry(entry).ok_or(KeyError::NotAPublicKey),
            Err(refused @ KeyError::BadPublicKey { .. }) => {
                let Ok(Weak { kid, public }) = serde_json::from_slice(content) else { return Err(refused) };
                let known = Self::from_jwk(public.to_string().as_bytes())?;
                if known.kid.to_string() == kid { Ok(known) } else { Err(refused) }
            }
            Err(refused) => Err(refused),
        }
    }

    fn from_jwk(content: &[u8]) -> Result<Self, KeyError> {
        #[derive(Deserialize)]
        struct Jwk {
            kty: String,
            crv: String,
            x: String,
        }
        let Jwk { kty, crv, x } = serde_json::from_slice(content).map_err(|_| KeyError::NotAPublicKey)?;
        let bytes = URL_SAFE_NO_PAD.decode(x).ok().and_then(|bytes| bytes.try_into().ok());
        match bytes {
            Some(public) if kty == "OKP" && crv == "Ed25519" => Ok(Self::bare(public)),
            _ => Err(KeyError::NotAPublicKey),
        }
    }

    fn from_pem(text: &str) -> Option<Self> {
        let body = text.trim().strip_prefix("-----BEGIN PUBLIC KEY-----")?.strip_suffix("-----END PUBLIC KEY-----")?;
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body).ok()?;
        der.strip_prefix(SPKI_PREFIX)?.try_into().ok().map(Self::bare)
    }

    /// The key of an entry; `None` if keys of that kind cannot sign receipts.
    #[must_use]
    pub fn of_entry(entry: Entry) -> Option<Self> {
        let public = *entry.public().ed25519()?.as_bytes();
        Some(Self { kid: entry.kid().clone(), public, entry: Some(entry) })
    }

    /// A key of which nothing is said.
    #[must_use]
    pub fn bare(public: [u8; 32]) -> Self {
        Self { kid: KeyId::of_bytes(&public), public, entry: None }
    }

    /// The key's name.
    #[must_use]
    pub const fn kid(&self) -> &KeyId {
        &self.kid
    }

    /// What the keyring says of it.
    #[must_use]
    pub const fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// The key, unless it is weak: of small order, not a point, or spelled in a way that is not the only one.
    #[must_use]
    pub fn strong(&self) -> Option<VerifyingKey> {
        VerifyingKey::from_bytes(&self.public).ok().filter(|key| is_canonical(&self.public) && !key.is_weak())
    }

    /// Whether the key made this signature, checked strictly.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.strong().is_some_and(|key| key.verify_strict(message, &signature).is_ok())
    }
}

/// Whether the y coordinate is below the field's prime, 2^255 − 19: the decoder takes larger ones too.
fn is_canonical(point: &[u8; 32]) -> bool {
    let [first, middle @ .., last] = point;
    !(*first >= 0xed && middle.iter().all(|byte| *byte == 0xff) && last & 0x7f == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stoke_10_keys_of_small_order_or_in_other_spellings_are_weak() {
        let mut zero = [0; 32];
        assert!(KnownKey::bare(zero).strong().is_none(), "y = 0");
        zero[0] = 1;
        assert!(KnownKey::bare(zero).strong().is_none(), "y = 1");
        let mut large = [0xff; 32];
        large[31] = 0x7f;
        for first in 0xed..=0xff {
            large[0] = first;
            assert!(KnownKey::bare(large).strong().is_none(), "y = p + {}", first - 0xed);
        }
    }

    #[test]
    fn a_public_key_is_read_in_every_form() {
        let key = crate::key::SecretKey::from_seed([7; 32]);
        let x = URL_SAFE_NO_PAD.encode(key.public().as_bytes());
        let jwk = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
        let der = STANDARD.encode([SPKI_PREFIX, key.public().as_bytes()].concat());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
        let entry = Entry::new(key.public(), crate::key::Scope::Team, "team:x", 0).to_json();
        for file in [jwk, pem, entry] {
            assert_eq!(KnownKey::from_file(file.as_bytes()).unwrap().kid(), &key.kid(), "{file}");
        }
        for refused in
            ["", "{}", "hello", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", r#"{"kty":"RSA"}"#]
        {
            assert!(KnownKey::from_file(refused.as_bytes()).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_weak_entry_is_known_as_such() {
        let x = URL_SAFE_NO_PAD.encode([0_u8; 32]);
        let kid = KeyId::of_bytes(&[0; 32]);
        let public = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
        let entry = format!(
            r#"{{"v":1,"kid":"{kid}","public":{public},"use":"receipt","scope":"agent","subject":"a","not_before":"2026-01-01T00:00:00Z"}}"#
        );
        let known = KnownKey::from_file(entry.as_bytes()).unwrap();
        assert!(known.strong().is_none() && known.kid() == &kid);
    }
}
