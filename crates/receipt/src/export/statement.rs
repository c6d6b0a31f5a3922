//! An in-toto statement about a receipt.

use std::collections::{BTreeMap, BTreeSet};

use r1_event::id::to_hex;
use sha2::Digest as _;

use super::object;
use crate::claims::DOES_NOT_PROVE;
use crate::file::{Receipt, SPEC_VERSION};
use crate::json::{Object, Value};
use crate::verdict::Reason;

/// Kinds whose content is not the file that their path names, but something about it: a diff, or the lines that
/// were read. Under the file's name their hash would be a wrong one.
const ABOUT_A_FILE: [&str; 2] = ["patch", "file_snapshot"];

/// What a receipt says in short: the files and commits that its run made, and numbers about how.
#[derive(Clone, Debug)]
pub struct Statement {
    receipt_sha256: String,
    receipt_digest: String,
    signing_key_id: String,
    log: Object<'static>,
    run_id: String,
    /// Files and commits by name: the seq of the newest, the kind of digest and the digest.
    products: BTreeMap<String, (i64, &'static str, String)>,
    counts: BTreeMap<String, u64>,
    stubs: BTreeMap<&'static str, u64>,
    transitions: u64,
    decisions: u64,
    overrides: u64,
    approved: u64,
    denied: u64,
    models: BTreeSet<String>,
    tools: BTreeSet<String>,
}

impl Statement {
    /// Reads a receipt, which must be whole; nothing of it is verified here.
    pub fn of(bytes: &[u8]) -> Result<Self, Reason> {
        let receipt = Receipt::read(bytes)?;
        let mut statement = Self {
            receipt_sha256: to_hex(&sha2::Sha256::digest(bytes)),
            receipt_digest: receipt.digest().to_string(),
            signing_key_id: receipt.signing_key_id.to_string(),
            log: Object::default(),
            run_id: String::new(),
            products: BTreeMap::new(),
            counts: BTreeMap::new(),
            stubs: BTreeMap::new(),
            transitions: 0,
            decisions: 0,
            overrides: 0,
            approved: 0,
            denied: 0,
            models: BTreeSet::new(),
            tools: BTreeSet::new(),
        };
        for parts in receipt.events.iter().filter_map(|event| event.parts.as_ref()) {
            *statement.counts.entry(parts.type_name.to_string()).or_default() += 1;
            match parts.stub() {
                Some(stub) => *statement.stubs.entry(stub.word()).or_default() += 1,
                None => statement.take(&parts.type_name, &parts.body()),
            }
        }
        if statement.log.is_empty() { Err(Reason::RunUnbound) } else { Ok(statement) }
    }

    fn take(&mut self, type_name: &str, body: &Object<'_>) {
        match type_name {
            "THOUGHT" => self.models.extend(body.text("model").map(Into::into)),
            "TOOL_CALL" => {
                self.tools.extend(body.text("tool").map(Into::into));
                match body.get("approval").and_then(Value::as_object).and_then(|given| given.text("decision")) {
                    Some("approved") => self.approved += 1,
                    Some(_) => self.denied += 1,
                    None => {}
                }
            }
            "GATE_DECISION" if body.get("override").is_some() => self.overrides += 1,
            "GATE_DECISION" => self.decisions += 1,
            "PHASE_TRANSITION" => self.transitions += 1,
            "ARTIFACT" if body.text("kind") == Some("run_log") => {
                self.run_id = body.text("run_id").unwrap_or_default().into();
                self.log = owned(body);
            }
            "ARTIFACT" => self.product(body),
            _ => {}
        }
    }

    fn product(&mut self, body: &Object<'_>) {
        let seq = body.int("seq").unwrap_or(0);
        if let Some(commit) = body.text("commit") {
            self.products.insert(format!("git:{commit}"), (seq, "gitCommit", commit.into()));
        }
        let is_the_file = body.text("kind").is_none_or(|kind| !ABOUT_A_FILE.contains(&kind));
        if let (Some(path), Some(hash)) = (body.text("path").filter(|_| is_the_file), body.text("content_hash")) {
            let newest = self.products.get(path).is_none_or(|(known, ..)| *known <= seq);
            if newest {
                self.products.insert(path.into(), (seq, "sha256", hash.into()));
            }
        }
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The canonical statement.
    #[must_use]
    pub fn to_json(&self) -> String {
        let receipt = subject(format!("{}.receipt.json", self.run_id), "sha256", self.receipt_sha256.clone());
        let products = self.products.iter();
        let products = products.map(|(name, (_, algorithm, digest))| subject(name.clone(), algorithm, digest.clone()));
        object([
            ("_type", Value::text("https://in-toto.io/Statement/v1")),
            ("subject", Value::Array(std::iter::once(receipt).chain(products).collect())),
            ("predicateType", Value::text("urn:r1:stoke-run:v1")),
            ("predicate", self.predicate()),
        ])
        .to_text()
    }

    fn predicate(&self) -> Value<'static> {
        let list = |names: &BTreeSet<String>| Value::Array(names.iter().cloned().map(Value::text).collect());
        object([
            ("run_id", Value::text(self.run_id.clone())),
            ("spec_version", Value::text(SPEC_VERSION)),
            ("receipt_digest", Value::text(self.receipt_digest.clone())),
            ("signing_key_id", Value::text(self.signing_key_id.clone())),
            ("log", Value::Object(self.log.clone())),
            ("counts", numbers(&self.counts)),
            (
                "gates",
                object([
                    ("transitions", Value::uint(self.transitions)),
                    ("decisions", Value::uint(self.decisions)),
                    ("overrides", Value::uint(self.overrides)),
                ]),
            ),
            ("approvals", object([("approved", Value::uint(self.approved)), ("denied", Value::uint(self.denied))])),
            ("stubs", numbers(&self.stubs)),
            ("models", list(&self.models)),
            ("tools", list(&self.tools)),
            ("not_proved", Value::Array(DOES_NOT_PROVE.iter().map(|line| Value::text(*line)).collect())),
        ])
    }
}

fn subject(name: String, algorithm: &'static str, digest: String) -> Value<'static> {
    object([("name", Value::text(name)), ("digest", object([(algorithm, Value::text(digest))]))])
}

fn numbers<K: AsRef<str>>(counts: &BTreeMap<K, u64>) -> Value<'static> {
    let mut numbers = Object::default();
    counts.iter().for_each(|(name, count)| numbers.put(name.as_ref().to_owned(), Value::uint(*count)));
    Value::Object(numbers)
}

/// The same flat object, on its own.
fn owned(body: &Object<'_>) -> Object<'static> {
    let mut copy = Object::default();
    for (key, value) in body.iter() {
        copy.put(key.to_owned(), own(value));
    }
    copy
}

fn own(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Bool(value) => Value::Bool(*value),
        Value::Int(number) => Value::Int(*number),
        Value::Text(text) => Value::text(text.clone().into_owned()),
        Value::Array(items) => Value::Array(items.iter().map(own).collect()),
        Value::Object(object) => Value::Object(owned(object)),
    }
}
