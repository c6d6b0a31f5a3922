//! Secrets are replaced before anything is hashed, stored or sent to a model.
//!
//! A [`Redactor`] is made once per process from what is known to be secret ([`Secrets`]) and the
//! store's [`RedactionKey`]. Where a secret was stands `[redacted:<detector>:<8 hex>]`; the digits are
//! the same for equal secrets and tell nothing to who lacks the key.
//!
//! Invariants: redacting twice changes nothing more; a text redacted whole and in pieces is the same;
//! what holds no secret keeps its bytes.

mod anchor;
mod assignment;
mod custom;
mod engine;
mod entropy;
mod key;
mod known;
mod look;
mod name;
mod payload;
mod plausible;
mod stream;
mod token;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use r1_event::Payload;
use serde_json::Value;

use engine::{Engine, Which};
pub use key::{RedactionKey, RedactionKeyError};
pub use known::Secrets;
pub use stream::StreamRedactor;

/// Finds secrets and replaces them. Clones share what they look for.
#[derive(Clone, Debug)]
pub struct Redactor {
    engine: Arc<Engine>,
}

impl Redactor {
    /// Looks for these secrets, and for everything that looks like one.
    pub fn new(key: RedactionKey, secrets: &Secrets) -> Result<Self, RedactorError> {
        Ok(Self { engine: Arc::new(Engine::new(key, secrets)?) })
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replaced(text, Which::All).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Takes secrets out of every text in a JSON value.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(entries) => entries.values_mut().for_each(|entry| self.json(entry)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The payload without secrets; the places are named in its `redacted_paths`. One without secrets
    /// keeps its bytes.
    ///
    /// Pieces of streams (`tool.shell.output_chunk`, `assistant.text_delta`) must have come through
    /// [`Self::stream`]: what is a secret in the whole may not look like one in a piece.
    #[must_use]
    pub fn payload(&self, payload: Payload) -> Payload {
        payload::redact(self, payload)
    }

    /// Whether there is a secret in it: for content that must stay as it is, such as patches.
    #[must_use]
    pub fn contains_secret(&self, content: &[u8]) -> bool {
        self.engine.finds(content, Which::All)
    }

    /// Where the secrets stand in a whole content, in their order; those that touch count as one.
    #[must_use]
    pub fn findings(&self, content: &[u8]) -> Vec<Finding> {
        self.engine.findings(content)
    }

    /// For content that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(Arc::clone(&self.engine), Which::All)
    }

    /// The text without secrets, if it has one.
    fn replaced(&self, text: &str, which: Which) -> Option<String> {
        if !self.engine.finds(text.as_bytes(), which) {
            return None;
        }
        let mut stream = StreamRedactor::new(Arc::clone(&self.engine), which);
        let mut whole = stream.push(text.as_bytes());
        whole.extend(stream.finish());
        // Only a secret of raw bytes, or an operator's expression, can cut through a character.
        Some(String::from_utf8(whole).unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned()))
    }
}

impl Default for Redactor {
    /// One that knows no secret by its value and has no key of its own: its marks can be guessed. For
    /// tests, and for looking without storing.
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "the built-in detectors are constants, and tests build them")]
        Self::new(RedactionKey::new([0; 32]), &Secrets::default()).expect("the built-in detectors are sound")
    }
}

/// A secret in a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: Range<usize>,
    /// What gave it away: `known`, `token`, `custom`, `assignment` or `entropy`.
    pub detector: &'static str,
}

/// A redactor cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RedactorError {
    /// An expression of the operator cannot be used.
    #[error("`{pattern}` is not a usable regular expression; correct it in `[redaction]`")]
    Pattern {
        /// Which.
        pattern: String,
        /// Why.
        #[source]
        source: regex::Error,
    },
}
