//! Checking a proof, with nothing but the proof and, if there is one, a log to compare with.

use ed25519_dalek::VerifyingKey;
use r1_event::exchange::readable_payload;
use r1_event::id::{from_hex, to_hex};
use r1_event::merkle::proof::{verify_consistency, verify_inclusion};
use r1_event::merkle::{Blake3, Frontier, Sha256};
use r1_event::seal::Standing;
use r1_event::side_record::Prune;
use r1_event::{Digest, KeyId, Record, RunId, Seal, Statement, UnixNanos, Version, projection};
use r1_receipt::export::TLOG_PROOF_START;
use r1_receipt::key::Jwk;
use serde::Serialize;

use super::tree::LogTree;
use super::{Claim, ProofFile, tlog};
use crate::control::view;
use crate::keys::Keyring;
use crate::source::{Log, SourceError};

/// What a good proof shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The run.
    pub run_id: String,
    /// How many events the root covers.
    pub size: u64,
    /// The root that must be trusted for the proof to mean anything.
    pub root: String,
    /// Which of the log's trees it is the root of.
    pub tree: Tree,
    /// What is proved, in words.
    pub statement: String,
    /// What the event says, if it is in the proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
    /// Who vouches for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Whether that key is in the keyring.
    pub key_known: bool,
    /// Whether its word counts here.
    pub key_standing: KeyStanding,
}

/// The trees over a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tree {
    /// Its own.
    Blake3,
    /// The one for stock tools.
    Sha256,
}

/// What the keyring says of the key that signed a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyStanding {
    /// Nobody signed it.
    Unsigned,
    /// Nothing.
    Unknown,
    /// That it counts.
    Counts,
    /// That it is for something else.
    WrongUse,
    /// That it had expired.
    Expired,
    /// That it was revoked.
    Revoked,
}

impl KeyStanding {
    /// Whether the key is in the keyring.
    #[must_use]
    pub const fn is_known(self) -> bool {
        match self {
            Self::Unsigned | Self::Unknown => false,
            Self::Counts | Self::WrongUse | Self::Expired | Self::Revoked => true,
        }
    }

    /// Whether the keyring speaks against the key.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        match self {
            Self::Unsigned | Self::Unknown | Self::Counts => false,
            Self::WrongUse | Self::Expired | Self::Revoked => true,
        }
    }
}

impl From<Standing> for KeyStanding {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Counts => Self::Counts,
            Standing::WrongUse => Self::WrongUse,
            Standing::Expired => Self::Expired,
            Standing::Revoked => Self::Revoked,
        }
    }
}

/// Checks everything that a proof says, of either form.
pub fn verify(bytes: &[u8], keyring: &Keyring) -> Result<Verification, VerifyError> {
    if bytes.starts_with(TLOG_PROOF_START.as_bytes()) {
        return tlog::verify(bytes, keyring);
    }
    let proof: ProofFile = serde_json::from_slice(bytes).map_err(VerifyError::NotAProof)?;
    if proof.format != ProofFile::FORMAT {
        return Err(VerifyError::Newer { found: proof.format });
    }
    let root = digest(&proof.root, "root")?;
    let path = proof.path.iter().map(|hash| digest(hash, "path")).collect::<Result<Vec<_>, _>>()?;
    if ![Version::V1, Version::V2].map(Version::number).contains(&proof.schema_version) {
        return Err(VerifyError::Field("schema_version"));
    }
    let mut at = None;
    let (statement, data) = match &proof.claim {
        Claim::Inclusion { seq, event } => {
            let record = event.record().ok_or(VerifyError::Field("event"))?;
            check_event(&proof, *seq, &record)?;
            if !verify_inclusion::<Blake3>(record.leaf(), seq - 1, proof.size, &path, &root) {
                return Err(VerifyError::NotIncluded { seq: *seq });
            }
            at = view::place(&record).filter(|_| *seq == proof.size).map(|place| place.ts);
            (format!("event {seq} is in the log of {} events", proof.size), event_data(&record))
        }
        Claim::Consistency { older_size, older_root } => {
            let older_root = digest(older_root, "older_root")?;
            if !verify_consistency::<Blake3>(*older_size, &older_root, proof.size, &root, &path) {
                return Err(VerifyError::NotConsistent { older: *older_size, newer: proof.size });
            }
            let text = format!(
                "the log of {} events extends its own first {older_size}, whose root is {older_root}",
                proof.size
            );
            (text, None)
        }
    };
    let (signed_by, key_standing) = check_signature(&proof, root, at, keyring)?;
    let ProofFile { run_id, size, root, .. } = proof;
    let (tree, key_known) = (Tree::Blake3, key_standing.is_known());
    Ok(Verification { run_id, size, root, tree, statement, data, signed_by, key_known, key_standing })
}

/// The root over the first `size` events of a log; `None` if it is shorter, or pruned beyond that. Blocks.
pub fn root_at(log: &Log, size: u64, tree: Tree) -> Result<Option<Digest>, SourceError> {
    match tree {
        Tree::Blake3 => root_of::<Blake3>(log, size),
        Tree::Sha256 => root_of::<Sha256>(log, size),
    }
}

fn root_of<H: LogTree>(log: &Log, size: u64) -> Result<Option<Digest>, SourceError> {
    let mut tree = Frontier::<H>::default();
    if let Some(prune) = Prune::furthest(log.side_records()) {
        tree = H::of_pruned(&prune.trees).clone();
    }
    for page in log.pages() {
        for record in page? {
            if tree.size() >= size {
                break;
            }
            tree.push(H::leaf_of(&record));
        }
    }
    Ok((tree.size() == size).then(|| tree.root()))
}

/// Whether the event in the proof is what it says it is.
fn check_event(proof: &ProofFile, seq: u64, record: &Record) -> Result<(), VerifyError> {
    let place = view::place(record).ok_or(VerifyError::Field("event"))?;
    if record.version().map(Version::number) != Some(proof.schema_version) {
        return Err(VerifyError::Field("schema_version"));
    }
    if seq == 0 || place.run_id != proof.run_id || place.seq != seq {
        return Err(VerifyError::OtherEvent { run_id: place.run_id, seq: place.seq });
    }
    // A v1 event's own hash covers its payload.
    let is_v2 = record.version() == Some(Version::V2);
    if is_v2 && record.payload.is_some() && !record.has_its_payload() {
        return Err(VerifyError::Payload { seq });
    }
    Ok(())
}

fn event_data(record: &Record) -> Option<serde_json::Value> {
    let place = view::place(record)?;
    let payload = record.payload.as_ref()?;
    let type_name = projection::type_of(record.version()?, place.kind, Some(payload));
    Some(serde_json::json!({ "type": type_name, "data": readable_payload(place.kind, payload) }))
}

/// Who signed the root, and what the keyring says of them. `at` is when the last event under it happened, if known.
fn check_signature(
    proof: &ProofFile,
    root: Digest,
    at: Option<UnixNanos>,
    keyring: &Keyring,
) -> Result<(Option<String>, KeyStanding), VerifyError> {
    let Some(signature) = &proof.signature else { return Ok((None, KeyStanding::Unsigned)) };
    let key_id: KeyId = signature.key_id.parse().map_err(|_| VerifyError::Field("key_id"))?;
    let seal = Seal {
        statement: Statement {
            run_id: proof.run_id.parse::<RunId>().map_err(|_| VerifyError::Field("run_id"))?,
            size: proof.size,
            root,
            head: digest(&signature.head, "head")?,
        },
        key_id: key_id.clone(),
        signature: from_lower_hex(&signature.signature)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(VerifyError::Field("signature"))?,
    };
    let known = keyring.seal_key(&key_id);
    let given = signature.public.as_ref().map(|public| given_key(public, &key_id)).transpose()?;
    match known.map(|key| key.public).or(given) {
        // Nobody here knows the key: the signature says nothing either way.
        None => Ok((None, KeyStanding::Unknown)),
        Some(key) if seal.verify(&key) => {
            Ok((Some(key_id.to_string()), known.map_or(KeyStanding::Unknown, |key| key.standing(at).into())))
        }
        Some(_) => Err(VerifyError::Signature { key_id }),
    }
}

/// The public key that a proof carries: the one that its signature names, spelled in the one way there is.
fn given_key(public: &Jwk, key_id: &KeyId) -> Result<VerifyingKey, VerifyError> {
    let key = VerifyingKey::try_from(public).ok();
    key.filter(|key| KeyId::of(key) == *key_id && Jwk::from(key) == *public).ok_or(VerifyError::Field("public"))
}

fn digest(text: &str, field: &'static str) -> Result<Digest, VerifyError> {
    from_lower_hex(text).and_then(|bytes| Digest::from_slice(&bytes)).ok_or(VerifyError::Field(field))
}

/// As R1 writes it: a hash has one spelling, so that a proof cannot be changed at all.
fn from_lower_hex(text: &str) -> Option<Vec<u8>> {
    from_hex(text).filter(|bytes| to_hex(bytes) == text)
}

/// A proof does not hold, or is none.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Not the JSON of a proof.
    #[error("this is not a proof that r1 wrote")]
    NotAProof(#[source] serde_json::Error),
    /// Not the text of a tlog-proof.
    #[error("this is not a tlog-proof that r1 wrote: a line of it cannot be read")]
    NotATlogProof,
    /// A tlog-proof of something else.
    #[error("this proof is about an entry of the log {origin}, not about an event of a run")]
    NotOfARun {
        /// The log.
        origin: String,
    },
    /// Another format.
    #[error("the proof has the format `{found}`; this r1 knows `{}`", ProofFile::FORMAT)]
    Newer {
        /// Its format.
        found: String,
    },
    /// A field holds nothing that could be checked.
    #[error("`{0}` in the proof cannot be read")]
    Field(&'static str),
    /// The event is another one.
    #[error("the proof does not hold: its event is event {seq} of run {run_id}")]
    OtherEvent {
        /// The run.
        run_id: String,
        /// The place.
        seq: u64,
    },
    /// The payload is another one.
    #[error("the proof does not hold: the payload is not the one that event {seq} had")]
    Payload {
        /// The event.
        seq: u64,
    },
    /// The hashes do not lead to the root.
    #[error("the proof does not hold: event {seq} is not under this root")]
    NotIncluded {
        /// The event.
        seq: u64,
    },
    /// The hashes do not lead from root to root.
    #[error("the proof does not hold: the log of {newer} events does not extend the one of {older}")]
    NotConsistent {
        /// Size of the alleged prefix.
        older: u64,
        /// Size of the log.
        newer: u64,
    },
    /// The signature is false.
    #[error("the proof does not hold: the root is not signed by {key_id}")]
    Signature {
        /// The key.
        key_id: KeyId,
    },
}
