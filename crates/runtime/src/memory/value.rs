//! What is remembered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use r1_event::Digest;
use r1_protocol::canonical;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::redact::Redactor;

/// The longest value, in bytes.
pub const MAX_VALUE: usize = 16 << 20;
/// The longest key, in bytes.
pub const MAX_KEY: usize = 512;
/// The longest value that an event holds itself; a longer one is a blob.
pub const MAX_INLINE: usize = 64 << 10;

/// What is remembered under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// JSON in its canonical spelling.
    Json(String),
    /// Anything else.
    Bytes(Bytes),
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// UTF-8.
    Text,
    /// Canonical JSON.
    Json,
    /// Any bytes.
    Bytes,
}

impl Form {
    const ALL: [Self; 3] = [Self::Text, Self::Json, Self::Bytes];

    /// As events name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Bytes => "bytes",
        }
    }
}

impl Value {
    /// A JSON value; a text is one that is its own content.
    #[must_use]
    pub fn of_json(value: &Json) -> Self {
        match value {
            Json::String(text) => Self::Text(text.clone()),
            other => Self::Json(String::from_utf8_lossy(&canonical::to_vec(other)).into_owned()),
        }
    }

    /// Content of unknown kind: text if it is UTF-8.
    #[must_use]
    pub fn of_bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes),
        }
    }

    /// What is hashed, compared and counted.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) | Self::Json(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// What it is.
    #[must_use]
    pub const fn form(&self) -> Form {
        match self {
            Self::Text(_) => Form::Text,
            Self::Json(_) => Form::Json,
            Self::Bytes(_) => Form::Bytes,
        }
    }

    /// The name of its content.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        fingerprint(self.bytes())
    }

    /// As a model or a script reads it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
            Self::Bytes(bytes) => json!({ "base64": STANDARD.encode(bytes) }),
        }
    }

    /// The value as it may be stored. What had a secret inside of JSON may be JSON no longer, and is text then.
    #[must_use]
    pub fn without_secrets(self, redactor: &Redactor) -> Self {
        match self {
            Self::Text(text) => Self::Text(redactor.text(&text).into_owned()),
            Self::Json(text) => {
                let clean = redactor.text(&text).into_owned();
                let is_canonical = clean == text
                    || serde_json::from_str(&clean)
                        .is_ok_and(|value: Json| canonical::to_vec(&value) == clean.as_bytes());
                if is_canonical { Self::Json(clean) } else { Self::Text(clean) }
            }
            Self::Bytes(bytes) => {
                let mut stream = redactor.stream();
                let mut clean = stream.push(&bytes);
                clean.extend(stream.finish());
                Self::Bytes(clean.into())
            }
        }
    }

    /// Content of a known form; `None` if it is not of that.
    pub(super) fn of_form(form: Form, bytes: Bytes) -> Option<Self> {
        let text = |bytes: &Bytes| std::str::from_utf8(bytes).ok().map(str::to_owned);
        match form {
            Form::Text => text(&bytes).map(Self::Text),
            Form::Json => text(&bytes).map(Self::Json),
            Form::Bytes => Some(Self::Bytes(bytes)),
        }
    }
}

/// A value as an event has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// In the event itself.
    Here(Value),
    /// In a blob.
    Blob {
        /// Which.
        digest: Digest,
        /// What it is.
        form: Form,
        /// How many bytes.
        size: u64,
    },
}

impl Held {
    /// Under `value` of the event.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Here(Value::Text(text)) => json!({ "text": text }),
            Self::Here(Value::Json(text)) => json!({ "json": text }),
            Self::Here(Value::Bytes(bytes)) => json!({ "base64": STANDARD.encode(bytes) }),
            Self::Blob { digest, form, size } => {
                json!({ "blob": format!("blake3:{digest}"), "form": form.word(), "size": size })
            }
        }
    }

    /// What stands under `value` of an event, if it can be read.
    #[must_use]
    pub fn from_json(value: &Json) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Json::as_str);
        if let Some(digest) = text("blob") {
            let digest = digest.strip_prefix("blake3:")?.parse().ok()?;
            let form = Form::ALL.into_iter().find(|form| Some(form.word()) == text("form"))?;
            return Some(Self::Blob { digest, form, size: value.get("size")?.as_u64()? });
        }
        let here = text("text").map(|text| Value::Text(text.to_owned()));
        let here = here.or_else(|| text("json").map(|text| Value::Json(text.to_owned())));
        let bytes = || STANDARD.decode(text("base64")?).ok().map(|bytes| Value::Bytes(bytes.into()));
        here.or_else(bytes).map(Self::Here)
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Here(value) => value.bytes().len() as u64,
            Self::Blob { size, .. } => *size,
        }
    }

    /// The blob that must be kept for it.
    #[must_use]
    pub const fn blob(&self) -> Option<Digest> {
        match self {
            Self::Here(_) => None,
            Self::Blob { digest, .. } => Some(*digest),
        }
    }
}

/// The name of a content.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// Names what changed from one content to the other; what is not there counts as empty.
///
/// Both are taken apart into the longest beginning that they share, the longest end that they share of the rest,
/// and what is between. So the same change has the same name, whoever works it out.
#[must_use]
pub fn diff_hash(old: &[u8], new: &[u8]) -> Digest {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (&old[prefix..], &new[prefix..]);
    let suffix = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |rest: &[u8]| fingerprint(&rest[..rest.len() - suffix]);
    // The keys in their canonical order; there is nothing in it that could be spelled in two ways.
    let text = format!(
        r#"{{"del":"{}","ins":"{}","new_len":{},"old_len":{},"prefix":{prefix},"suffix":{suffix}}}"#,
        middle(rest_old),
        middle(rest_new),
        new.len(),
        old.len(),
    );
    fingerprint(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, read aloud: every split is tried.
    fn naive(old: &[u8], new: &[u8]) -> Digest {
        let shortest = old.len().min(new.len());
        let prefix = (0..=shortest).rev().find(|n| old[..*n] == new[..*n]).unwrap();
        let most = shortest - prefix;
        let suffix = (0..=most).rev().find(|n| old[old.len() - n..] == new[new.len() - n..]).unwrap();
        let hex = |bytes: &[u8]| r1_event::id::to_hex(&Sha256::digest(bytes));
        let value = json!({
            "prefix": prefix, "suffix": suffix, "old_len": old.len(), "new_len": new.len(),
            "ins": hex(&new[prefix..new.len() - suffix]), "del": hex(&old[prefix..old.len() - suffix]),
        });
        Digest::new(Sha256::digest(canonical::to_vec(&value)).into())
    }

    #[test]
    fn stoke_26_a_difference_is_hashed_as_published() {
        // Of `printf '{"del":…}' | sha256sum`, by hand.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let text = format!(
            r#"{{"del":"{empty}","ins":"{}","new_len":3,"old_len":2,"prefix":1,"suffix":1}}"#,
            r1_event::id::to_hex(&Sha256::digest(b"x"))
        );
        assert_eq!(diff_hash(b"ab", b"axb"), Digest::new(Sha256::digest(text).into()));
    }

    proptest! {
        #[test]
        fn stoke_26_diff_hash_equals_an_independent_computation(
            old in proptest::collection::vec(0_u8..3, 0..40),
            new in proptest::collection::vec(0_u8..3, 0..40),
        ) {
            prop_assert_eq!(diff_hash(&old, &new), naive(&old, &new));
        }

        #[test]
        fn a_value_comes_back_from_its_event(text in ".*", bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
            let json = Value::of_json(&json!({ "b": text, "a": [1, 2.5, null] }));
            for value in [Value::Text(text), json, Value::Bytes(bytes.into())] {
                let held = Held::Here(value);
                prop_assert_eq!(Held::from_json(&held.to_json()), Some(held));
            }
        }
    }

    #[test]
    fn a_value_without_secrets_stays_as_it_is_when_it_is_redacted_again() {
        let redactor = Redactor::default();
        let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        let values = [
            Value::Text(format!("the token is {secret}")),
            Value::of_json(&json!({ "password": "correct horse battery staple 42", "token": secret })),
            Value::Bytes([b"\xff\xfe".as_slice(), secret.as_bytes()].concat().into()),
        ];
        for value in values {
            let clean = value.clone().without_secrets(&redactor);
            assert_ne!(clean, value);
            assert!(!String::from_utf8_lossy(clean.bytes()).contains(secret));
            assert_eq!(clean.clone().without_secrets(&redactor), clean);
        }
    }
}
