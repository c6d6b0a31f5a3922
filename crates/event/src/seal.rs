//! Signatures over a log: a seal over a finished run, a checkpoint over an open one.

mod key;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

pub use self::key::{Revoked, SealKey, Standing};
use crate::id::{Digest, RunId};
use crate::key::KeyId;

/// What a signature vouches for: this run had exactly these events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The run, as in its headers.
    pub run_id: RunId,
    /// How many events.
    pub size: u64,
    /// Root of the RFC 9162 tree over all of them, the terminal event included.
    pub root: Digest,
    /// Hash of the last one.
    pub head: Digest,
}

impl Statement {
    /// The bytes that are signed: domain tag, length-prefixed run id, size, root, head.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        let run_id = self.run_id.as_str().as_bytes();
        let mut message = Vec::with_capacity(11 + 2 + run_id.len() + 8 + 64);
        message.extend_from_slice(b"R1-SEAL-v1\0");
        // A RunId has at most 256 bytes.
        message.extend_from_slice(&u16::try_from(run_id.len()).unwrap_or(u16::MAX).to_be_bytes());
        message.extend_from_slice(run_id);
        message.extend_from_slice(&self.size.to_be_bytes());
        message.extend_from_slice(self.root.as_bytes());
        message.extend_from_slice(self.head.as_bytes());
        message
    }

    /// Signs the statement.
    #[must_use]
    pub fn sign(self, key: &SigningKey) -> Seal {
        let signature = key.sign(&self.message());
        Seal { statement: self, key_id: KeyId::of(&key.verifying_key()), signature: signature.to_bytes() }
    }
}

/// A signed [`Statement`]. Over a finished run it is the run's seal, over an open one a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// What is vouched for.
    pub statement: Statement,
    /// Who vouches.
    pub key_id: KeyId,
    /// Ed25519 over [`Statement::message`].
    pub signature: [u8; 64],
}

impl Seal {
    /// Whether `key` made this signature: its id fits and the signature verifies strictly
    /// (canonical encodings only, no small-order keys).
    #[must_use]
    pub fn verify(&self, key: &VerifyingKey) -> bool {
        KeyId::of(key) == self.key_id
            && key.verify_strict(&self.statement.message(), &Signature::from_bytes(&self.signature)).is_ok()
    }
}
