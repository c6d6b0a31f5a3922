//! Envelope and proof of its place in a log, as Sigstore's tools take them.

use jiff::Timestamp;
use r1_event::Digest;

use super::{Envelope, Inclusion, NoteKey, base64, object};
use crate::json::Value;
use crate::key::PublicKey;

/// A statement, and the proof that a log has it.
#[derive(Clone, Copy, Debug)]
pub struct Bundle<'a> {
    /// The signed statement.
    pub envelope: &'a Envelope,
    /// Where the log has it.
    pub inclusion: &'a Inclusion,
    /// The log's signature over the root.
    pub checkpoint: &'a str,
}

impl Bundle<'_> {
    /// The content of the file, for the log that `log` signs for.
    #[must_use]
    pub fn to_json(&self, log: &NoteKey<'_>) -> String {
        let Inclusion { index, size, root, path } = self.inclusion;
        let hash = |hash: &Digest| Value::text(base64(hash.as_bytes()));
        let proof = object([
            ("logIndex", Value::text(index.to_string())),
            ("rootHash", hash(root)),
            ("treeSize", Value::text(size.to_string())),
            ("hashes", Value::Array(path.iter().map(hash).collect())),
            ("checkpoint", object([("envelope", Value::text(self.checkpoint.to_owned()))])),
        ]);
        let entry = object([
            ("logIndex", Value::text(index.to_string())),
            ("logId", log_id(log)),
            ("kindVersion", object([("kind", Value::text("dsse")), ("version", Value::text("0.0.2"))])),
            ("inclusionProof", proof),
            ("canonicalizedBody", Value::text(base64(self.envelope.to_log_entry()))),
        ]);
        let hint = Value::text(self.envelope.key_id.thumbprint().to_owned());
        let material = object([("publicKey", object([("hint", hint)])), ("tlogEntries", Value::Array(vec![entry]))]);
        object([
            ("mediaType", Value::text("application/vnd.dev.sigstore.bundle.v0.3+json")),
            ("verificationMaterial", material),
            ("dsseEnvelope", self.envelope.to_value()),
        ])
        .to_text()
    }
}

/// The log as a root of trust, from `since` (unix seconds) on.
#[must_use]
pub fn trusted_root(log: &NoteKey<'_>, since: i64) -> String {
    let since = Timestamp::from_second(since).unwrap_or_default();
    let key = object([
        ("keyDetails", Value::text("PKIX_ED25519")),
        ("rawBytes", Value::text(base64(PublicKey::from(log.public()).to_spki()))),
        ("validFor", object([("start", Value::text(since.to_string()))])),
    ]);
    let tlog = object([
        ("baseUrl", Value::text(format!("https://{}", log.name()))),
        ("hashAlgorithm", Value::text("SHA2_256")),
        ("logId", log_id(log)),
        ("publicKey", key),
    ]);
    object([
        ("mediaType", Value::text("application/vnd.dev.sigstore.trustedroot+json;version=0.1")),
        ("tlogs", Value::Array(vec![tlog])),
        ("certificateAuthorities", Value::Array(Vec::new())),
        ("ctlogs", Value::Array(Vec::new())),
        ("timestampAuthorities", Value::Array(Vec::new())),
    ])
    .to_text()
}

fn log_id(log: &NoteKey<'_>) -> Value<'static> {
    object([("keyId", Value::text(base64(log.log_id())))])
}
