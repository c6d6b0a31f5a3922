//! The receipt file: reading it within limits, and writing it.

use std::borrow::Cow;

use ed25519_dalek::Signer as _;
use r1_event::{Digest, KeyId};
use sha2::Digest as _;

use crate::json::walk::{Reader, read_checked};
use crate::json::{self, Object, Value, write_text};
use crate::key::SecretKey;
use crate::node::{Node, NodeId, Stub};
use crate::order;
use crate::verdict::Reason;

/// The format that this R1 reads and writes.
pub const SPEC_VERSION: &str = "1.0";
/// The longest file.
pub const MAX_FILE: usize = 256 << 20;
/// The most events.
pub const MAX_EVENTS: usize = 1_000_000;
/// The most predecessors of one event.
pub const MAX_PREDS: usize = 10_000;
/// The longest canonical body.
pub const MAX_BODY: usize = 1 << 20;

/// A receipt as it stands in its file, which is canonical.
#[derive(Debug)]
pub struct Receipt<'a> {
    /// The events in the order of the file.
    pub events: Vec<RawEvent<'a>>,
    /// The signature, whatever it is.
    pub signature: Cow<'a, str>,
    /// The name of the signing key, whatever it is.
    pub signing_key_id: Cow<'a, str>,
    digest: Digest,
}

/// One item of `events`.
#[derive(Debug)]
pub struct RawEvent<'a> {
    /// What it consists of; `None` if it is no event at all.
    pub parts: Option<Parts<'a>>,
}

/// The four keys of an event.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The id that it claims.
    pub id: NodeId,
    /// The type, whatever it is.
    pub type_name: Cow<'a, str>,
    /// What it follows, sorted.
    pub preds: Vec<NodeId>,
    /// The canonical body.
    pub body: &'a str,
}

impl<'a> Parts<'a> {
    /// Why the body is not there, if it is not.
    #[must_use]
    pub fn stub(&self) -> Option<Stub> {
        Stub::from_body(self.body)
    }

    /// What the event says.
    #[must_use]
    pub fn body(&self) -> Object<'a> {
        match read_checked(self.body) {
            Value::Object(body) => body,
            Value::Bool(_) | Value::Int(_) | Value::Text(_) | Value::Array(_) => Object::default(),
        }
    }
}

impl<'a> Receipt<'a> {
    /// Reads a file; refuses whatever is not in the form of a receipt.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Reason> {
        if bytes.len() > MAX_FILE {
            return Err(Reason::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Reason::BadUtf8)?;
        json::syntax::check(text).map_err(|_| Reason::BadJson)?;
        Form::read(text)
    }

    /// What is signed.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// The canonical bytes of a file whose form is right in all but its spelling.
pub fn canonicalise(bytes: &[u8]) -> Result<Vec<u8>, Reason> {
    match Receipt::read(bytes) {
        Ok(_) => Ok(bytes.to_vec()),
        Err(Reason::NotCanonical) => {
            let text = std::str::from_utf8(bytes).map_err(|_| Reason::BadUtf8)?;
            Ok(read_checked(text).to_text().into_bytes())
        }
        Err(reason) => Err(reason),
    }
}

/// The members of a receipt as they are met.
#[derive(Default)]
struct Form<'a> {
    events: Option<Vec<RawEvent<'a>>>,
    signature: Option<Cow<'a, str>>,
    signing_key_id: Option<Cow<'a, str>>,
    spec_version: Option<Cow<'a, str>>,
    members: usize,
    /// Where the member `signature` begins, and where the one behind it does.
    unsigned: (usize, usize),
}

impl<'a> Form<'a> {
    fn read(text: &'a str) -> Result<Receipt<'a>, Reason> {
        let mut reader = Reader::new(text);
        let mut form = Self::default();
        if reader.peek() == b'{' {
            reader.object(|reader, key, began| form.member(reader, key, began))?;
        } else {
            reader.walk()?;
        }
        if form.members != 4 || form.spec_version.is_none() {
            reader.note(Reason::BadShape);
        }
        match (reader.flaw(), form.events, form.signature, form.signing_key_id, form.spec_version) {
            (Some(flaw), ..) => Err(flaw),
            (None, Some(events), Some(signature), Some(signing_key_id), Some(version)) => {
                if version != SPEC_VERSION {
                    return Err(Reason::UnknownSpecVersion);
                }
                if !reader.is_canonical() {
                    return Err(Reason::NotCanonical);
                }
                let (from, to) = form.unsigned;
                let digest = digest_of(&[&text[..from], &text[to..]]);
                Ok(Receipt { events, signature, signing_key_id, digest })
            }
            (None, ..) => Err(Reason::BadShape),
        }
    }

    fn member(&mut self, reader: &mut Reader<'a>, key: &str, began: usize) -> Result<(), Reason> {
        self.members += 1;
        let first = reader.peek();
        match (key, first) {
            ("events", b'[') => {
                let events = self.events.insert(Vec::new());
                reader.array(|reader| {
                    if events.len() == MAX_EVENTS {
                        return Err(Reason::TooLarge);
                    }
                    events.push(read_event(reader)?);
                    Ok(())
                })?;
            }
            ("signature", b'"') => {
                self.signature = Some(reader.string()?);
                // Canonical text has one comma here and no space.
                self.unsigned = (began, reader.position() + 1);
            }
            ("signing_key_id", b'"') => self.signing_key_id = Some(reader.string()?),
            ("spec_version", b'"') => self.spec_version = Some(reader.string()?),
            _ => reader.walk()?,
        }
        Ok(())
    }
}

/// Reads one item of `events`.
fn read_event<'a>(reader: &mut Reader<'a>) -> Result<RawEvent<'a>, Reason> {
    let (mut id, mut type_name, mut preds, mut body) = (None, None, None, None);
    let mut members = 0;
    if reader.peek() != b'{' {
        reader.walk()?;
        return Ok(RawEvent { parts: None });
    }
    reader.object(|reader, key, _| {
        members += 1;
        let first = reader.peek();
        match (&**key, first) {
            ("id", b'"') => id = reader.string()?.parse::<NodeId>().ok(),
            ("type", b'"') => type_name = Some(reader.string()?),
            ("preds", b'[') => preds = read_preds(reader)?,
            ("body", first) => {
                let (from, before) = (reader.position(), reader.length());
                reader.walk()?;
                if reader.length() - before > MAX_BODY {
                    return Err(Reason::TooLarge);
                }
                body = (first == b'{').then(|| reader.slice(from, reader.position()));
            }
            _ => reader.walk()?,
        }
        Ok(())
    })?;
    let parts = match (id, type_name, preds, body) {
        (Some(id), Some(type_name), Some(preds), Some(body)) if members == 4 => {
            Some(Parts { id, type_name, preds, body })
        }
        _ => None,
    };
    Ok(RawEvent { parts })
}

/// The ids of `preds`, if they are ids in ascending order.
fn read_preds(reader: &mut Reader<'_>) -> Result<Option<Vec<NodeId>>, Reason> {
    let mut preds: Vec<NodeId> = Vec::new();
    let (mut sound, mut count) = (true, 0);
    reader.array(|reader| {
        count += 1;
        if count > MAX_PREDS {
            return Err(Reason::TooLarge);
        }
        if reader.peek() != b'"' {
            sound = false;
            return reader.walk();
        }
        match reader.string()?.parse() {
            Ok(id) if preds.last().is_none_or(|last| *last < id) => preds.push(id),
            _ => sound = false,
        }
        Ok(())
    })?;
    Ok(sound.then_some(preds))
}

fn digest_of(parts: &[&str]) -> Digest {
    let mut hash = sha2::Sha256::new_with_prefix(b"STOKE-RECEIPT-v1\0");
    parts.iter().for_each(|part| hash.update(part));
    Digest::new(hash.finalize().into())
}

/// A receipt that was just made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// What was signed: the receipt digest.
    pub digest: Digest,
    /// Who signed.
    pub key_id: KeyId,
}

/// Puts nodes into their order and signs them.
#[must_use]
pub fn sign(nodes: &[Node], key: &SecretKey) -> Signed {
    let order = order::canonical(nodes.iter().map(|node| (node.id(), &node.skeleton.preds[..])));
    let size = nodes.iter().map(|node| node.body.len() + 128 + 74 * node.skeleton.preds.len()).sum::<usize>();
    let mut head = String::with_capacity(size + 512);
    head.push_str("{\"events\":[");
    for (index, at) in order.into_iter().enumerate() {
        if index > 0 {
            head.push(',');
        }
        nodes[at].write(&mut head);
    }
    head.push_str("],");
    let mut tail = String::from("\"signing_key_id\":");
    write_text(&mut tail, &key.kid().to_string());
    tail.push_str(",\"spec_version\":");
    write_text(&mut tail, SPEC_VERSION);
    tail.push('}');
    let digest = digest_of(&[&head, &tail]);
    let signature = key.signing_key().sign(digest.as_bytes());
    head.push_str("\"signature\":");
    write_text(&mut head, &signature_text(&signature.to_bytes()));
    head.push(',');
    head.push_str(&tail);
    Signed { bytes: head.into_bytes(), digest, key_id: key.kid() }
}

/// A signature as receipts spell it.
pub(crate) fn signature_text(signature: &[u8; 64]) -> String {
    format!("ed25519:{}", r1_event::id::to_hex(signature))
}

/// The signature that a text spells.
pub(crate) fn read_signature(text: &str) -> Option<[u8; 64]> {
    text.strip_prefix("ed25519:").and_then(crate::node::read_hex)
}
