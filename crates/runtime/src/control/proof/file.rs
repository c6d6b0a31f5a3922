//! A proof as a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::VerifyingKey;
use r1_event::exchange::{Encoder, Format, Item};
use r1_event::id::to_hex;
use r1_event::{Digest, Record, Seal, Version};
use r1_receipt::key::Jwk;
use serde::{Deserialize, Serialize};

/// A proof with all that is needed to check it, but for the reason to trust its root.
///
/// Nothing in it may be overlooked, so a field that is not known makes it no proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofFile {
    /// `r1-proof-1`.
    pub format: String,
    /// The run.
    pub run_id: String,
    /// 1 or 2: how leaves are made.
    pub schema_version: u32,
    /// How many events the root covers.
    pub size: u64,
    /// Root of the RFC 9162 tree (BLAKE3) over them, in hex.
    pub root: String,
    /// What is proved.
    pub claim: Claim,
    /// The hashes on the way, lowest first, in hex.
    pub path: Vec<String>,
    /// Who vouches for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureFile>,
}

/// What a proof proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Claim {
    /// This event stands at this place.
    Inclusion {
        /// Its place.
        seq: u64,
        /// The event.
        event: EventBytes,
    },
    /// The log extends its own first events.
    Consistency {
        /// How many they are.
        older_size: u64,
        /// Root over them, in hex.
        older_root: String,
    },
}

/// An event's bytes in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EventBytes {
    /// v2: header and payload apart; the payload is null once erased.
    V2 {
        /// The header.
        header: String,
        /// The payload. It must be named: a proof that lost it is not one of an erased event.
        #[serde(deserialize_with = "Option::deserialize")]
        payload: Option<String>,
    },
    /// v1: the envelope.
    V1 {
        /// The envelope.
        event: String,
    },
}

/// A signature over the root: a seal or a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureFile {
    /// `kid:…`.
    pub key_id: String,
    /// The public key, if whoever made the proof knew it. Whether to trust it is for the reader to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<Jwk>,
    /// Hash of the last event covered, in hex.
    pub head: String,
    /// Ed25519, in hex.
    pub signature: String,
}

impl ProofFile {
    /// The name of this format.
    pub const FORMAT: &'static str = "r1-proof-1";

    pub(super) fn new(
        run_id: String,
        version: Version,
        size: u64,
        root: Digest,
        path: &[Digest],
        claim: Claim,
        signature: Option<SignatureFile>,
    ) -> Self {
        Self {
            format: Self::FORMAT.into(),
            run_id,
            schema_version: version.number(),
            size,
            root: root.to_string(),
            claim,
            path: path.iter().map(ToString::to_string).collect(),
            signature,
        }
    }

    /// The file's content.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain strings and numbers: there is nothing that could fail.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }
}

impl EventBytes {
    pub(super) fn of(record: &Record) -> Self {
        match record.version() {
            Some(Version::V1) => {
                let mut event = Vec::new();
                Encoder::new(Format::Cborseq).item(&Item::Event(record.clone()), &mut event);
                Self::V1 { event: STANDARD.encode(event) }
            }
            Some(Version::V2) | None => Self::V2 {
                header: STANDARD.encode(&record.header),
                payload: record.payload.as_ref().map(|payload| STANDARD.encode(payload)),
            },
        }
    }

    pub(super) fn record(&self) -> Option<Record> {
        match self {
            Self::V2 { header, payload } => {
                let payload = payload.as_ref().map(|payload| STANDARD.decode(payload)).transpose().ok()?;
                Some(Record { header: STANDARD.decode(header).ok()?.into(), payload: payload.map(Into::into) })
            }
            Self::V1 { event } => {
                let mut decoder = r1_event::exchange::Decoder::new(Format::Cborseq);
                decoder.push(&STANDARD.decode(event).ok()?);
                decoder.end();
                match decoder.next_item() {
                    Ok(Some(Item::Event(record))) => Some(record),
                    _ => None,
                }
            }
        }
    }
}

impl SignatureFile {
    pub(super) fn new(seal: &Seal, public: Option<&VerifyingKey>) -> Self {
        Self {
            key_id: seal.key_id.to_string(),
            public: public.map(Jwk::from),
            head: seal.statement.head.to_string(),
            signature: to_hex(&seal.signature),
        }
    }
}
