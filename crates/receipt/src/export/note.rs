//! Signed notes and checkpoints, as C2SP writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use r1_event::Digest;
use sha2::Digest as _;

use super::base64;
use crate::key::SecretKey;

/// The signature type of Ed25519.
const ED25519: u8 = 1;

/// A key under the name of the log that it signs for.
#[derive(Debug)]
pub struct NoteKey<'a> {
    name: String,
    key: &'a SecretKey,
}

/// How far a log goes: what its checkpoints say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name.
    pub origin: String,
    /// How many leaves.
    pub size: u64,
    /// The root over them, with SHA-256.
    pub root: Digest,
}

impl<'a> NoteKey<'a> {
    /// A key for the log `name`.
    pub fn new(name: impl Into<String>, key: &'a SecretKey) -> Result<Self, InvalidName> {
        let name = name.into();
        if is_name(&name) { Ok(Self { name, key }) } else { Err(InvalidName { name }) }
    }

    /// The name of a log whose keeper gave it none: it follows from the key.
    #[must_use]
    pub fn default_name(key: &SecretKey) -> String {
        let hash = sha2::Sha256::digest(key.public().as_bytes());
        format!("local/{}", r1_event::id::to_hex(&hash[..8]))
    }

    /// The log's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key that verifies.
    #[must_use]
    pub fn public(&self) -> VerifyingKey {
        self.key.public()
    }

    /// The hash that names key and log together; its first four bytes are the note's key id.
    #[must_use]
    pub fn log_id(&self) -> [u8; 32] {
        log_id(&self.name, &self.public())
    }

    /// The public key as verifiers of notes take it.
    #[must_use]
    pub fn vkey(&self) -> String {
        vkey(&self.name, &self.public())
    }

    /// Signs the checkpoint of this log at a size.
    #[must_use]
    pub fn checkpoint(&self, size: u64, root: Digest) -> String {
        let text = Checkpoint { origin: self.name.clone(), size, root }.to_text();
        let signature = self.key.signing_key().sign(text.as_bytes());
        let signature = base64([&self.log_id()[..4], &signature.to_bytes()].concat());
        format!("{text}\n\u{2014} {} {signature}\n", self.name)
    }

    /// Reads a checkpoint that this key signed for this log; `None` for any other.
    #[must_use]
    pub fn read_checkpoint(&self, note: &str) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::of_note(note).filter(|checkpoint| checkpoint.origin == self.name)?;
        (checkpoint.is_signed(note, &self.public()) == Some(true)).then_some(checkpoint)
    }
}

impl Checkpoint {
    /// What a note says; whether anyone signed it is another question.
    #[must_use]
    pub fn of_note(note: &str) -> Option<Self> {
        let (text, _) = note.split_once("\n\n")?;
        Self::from_text(&format!("{text}\n"))
    }

    /// Whether `key` signed this checkpoint's note for its log; `None` if no line of the note says so.
    #[must_use]
    pub fn is_signed(&self, note: &str, key: &VerifyingKey) -> Option<bool> {
        let (text, id) = (self.to_text(), log_id(&self.origin, key));
        let is_good = |bytes: &[u8]| {
            Signature::from_slice(bytes).is_ok_and(|signature| key.verify_strict(text.as_bytes(), &signature).is_ok())
        };
        let of_key = self.signatures(note).into_iter().filter_map(|line| line.strip_prefix(&id[..4]).map(is_good));
        of_key.reduce(|one, other| one || other)
    }

    /// Whether the log itself signed the note, by a key of whomever: without that it is no checkpoint.
    #[must_use]
    pub fn is_of_its_log(&self, note: &str) -> bool {
        !self.signatures(note).is_empty()
    }

    /// Key ids and signatures under the log's name; witnesses may have signed beside it.
    fn signatures(&self, note: &str) -> Vec<Vec<u8>> {
        let lines = note.split_once("\n\n").map_or("", |(_, lines)| lines).lines();
        let name = format!("\u{2014} {} ", self.origin);
        lines.filter_map(|line| STANDARD.decode(line.strip_prefix(&name)?).ok()).collect()
    }

    fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, base64(self.root.as_bytes()))
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let root: [u8; 32] = STANDARD.decode(root).ok()?.try_into().ok()?;
        let checkpoint = Self { origin: origin.into(), size: size.parse().ok()?, root: Digest::new(root) };
        // One spelling only.
        (checkpoint.to_text() == text).then_some(checkpoint)
    }
}

/// The line by which verifiers of notes know a key: name, key id, key.
#[must_use]
pub fn vkey(name: &str, public: &VerifyingKey) -> String {
    let id = r1_event::id::to_hex(&log_id(name, public)[..4]);
    format!("{name}+{id}+{}", base64([&[ED25519], &public.as_bytes()[..]].concat()))
}

fn log_id(name: &str, public: &VerifyingKey) -> [u8; 32] {
    let mut hash = sha2::Sha256::new();
    hash.update(name);
    hash.update([b'\n', ED25519]);
    hash.update(public.as_bytes());
    hash.finalize().into()
}

/// Whether notes can be signed under this name: something without space, plus and control characters.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

/// A name under which no note can be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot name a log: spaces and + are not allowed")]
pub struct InvalidName {
    /// The name.
    pub name: String,
}
