//! DSSE: a payload with its type, signed; and the entry that a log keeps of it.

use r1_event::KeyId;
use sha2::Digest as _;

use super::{base64, object};
use crate::json::Value;
use crate::key::AttestKey;

/// The type of every payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A signed payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The canonical statement.
    pub payload: String,
    /// DER of the ECDSA signature.
    pub signature: Vec<u8>,
    /// Who signed.
    pub key_id: KeyId,
    /// The public key in DER.
    spki: Vec<u8>,
}

impl Envelope {
    /// Signs a payload.
    #[must_use]
    pub fn sign(payload: String, key: &AttestKey) -> Self {
        let public = key.public();
        let signature = key.sign(&pre_authentication(&payload));
        Self { payload, signature, key_id: public.kid(), spki: public.to_spki() }
    }

    /// The content of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_value().to_text()
    }

    pub(super) fn to_value(&self) -> Value<'static> {
        let signature = object([
            ("keyid", Value::text(self.key_id.thumbprint().to_owned())),
            ("sig", Value::text(base64(&self.signature))),
        ]);
        object([
            ("payload", Value::text(base64(&self.payload))),
            ("payloadType", Value::text(PAYLOAD_TYPE)),
            ("signatures", Value::Array(vec![signature])),
        ])
    }

    /// The entry of a transparency log: what was signed by its hash, the signature, and the key.
    #[must_use]
    pub fn to_log_entry(&self) -> String {
        let payload_hash = object([
            ("algorithm", Value::text("SHA2_256")),
            ("digest", Value::text(base64(sha2::Sha256::digest(&self.payload)))),
        ]);
        let verifier = object([
            ("keyDetails", Value::text("PKIX_ECDSA_P256_SHA_256")),
            ("publicKey", object([("rawBytes", Value::text(base64(&self.spki)))])),
        ]);
        let signature = object([("content", Value::text(base64(&self.signature))), ("verifier", verifier)]);
        let spec = object([("payloadHash", payload_hash), ("signatures", Value::Array(vec![signature]))]);
        object([
            ("apiVersion", Value::text("0.0.2")),
            ("kind", Value::text("dsse")),
            ("spec", object([("dsseV002", spec)])),
        ])
        .to_text()
    }
}

/// What is signed: type and payload with their lengths, so that neither can pass for the other.
fn pre_authentication(payload: &str) -> Vec<u8> {
    format!("DSSEv1 {} {PAYLOAD_TYPE} {} {payload}", PAYLOAD_TYPE.len(), payload.len()).into_bytes()
}
