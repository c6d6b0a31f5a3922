//! What a payload alone shows: does it look as Starling writes it?

use bytes::Bytes;

use super::examine::Body;
use super::fields::Fields;
use super::hashes;
use super::kind::KindName;
use super::lenient;
use super::table::{Shape, Table};
use crate::cbor::{self, Rules, write};
use crate::finding::{Finding, Part};
use crate::id::{Digest, to_hex};

/// What Starling writes, which knows no limits.
pub(super) const CANONICAL: Rules = Rules { canonical: true, utf8: true, ..Rules::WRITABLE };

/// Everything about one payload that Starling accepts although it did not write it so.
pub(super) fn notices(seq: u64, kind: u8, body: &Body, payload: &Bytes) -> Vec<Finding> {
    let mut notices = Notices { seq, kind: KindName(kind), found: Vec::new() };
    match &body.fields {
        None => notices.unknown_kind(body, payload),
        Some(Ok(fields)) => {
            if !body.as_written {
                notices.form(fields, payload);
            }
            notices.hash_sizes(fields);
            match kind {
                1 => notices.run_started(fields),
                7 => notices.call_duration(fields),
                8 => {
                    notices.call_duration(fields);
                    notices.word(fields, "call_error_type", "error_type", &["panic", "cancelled", "tool"]);
                }
                10 => notices.budget(fields),
                _ => {}
            }
        }
        // Starling reads these itself and says so.
        Some(Err(_)) if matches!(kind, 1 | 3 | 5 | 6 | 7 | 8 | 10 | 12 | 13 | 14) => {}
        Some(Err(why)) => {
            notices.add("payload_unreadable", format!("the payload of {} cannot be read: {why}", notices.kind))
        }
    }
    notices.found
}

struct Notices {
    seq: u64,
    kind: KindName,
    found: Vec<Finding>,
}

impl Notices {
    fn add(&mut self, code: &'static str, message: String) {
        self.found.push(Finding::new(Part::Notice, code, Some(self.seq), message));
    }

    fn add_with(
        &mut self,
        code: &'static str,
        message: String,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) {
        self.found.push(Finding::new(Part::Notice, code, Some(self.seq), message).with(expected, found));
    }

    fn unknown_kind(&mut self, body: &Body, payload: &[u8]) {
        self.add("unknown_kind", format!("Starling has no kind {}, and cannot export or resume this run", self.kind.0));
        if !body.as_written && body.writable.is_ok() {
            self.not_canonical(payload);
        }
    }

    fn not_canonical(&mut self, payload: &[u8]) {
        if let Err(malformed) = cbor::check(payload, CANONICAL) {
            self.add("payload_not_canonical", format!("the payload is not as Starling writes it: {malformed}"));
        }
    }

    fn form(&mut self, fields: &Fields, payload: &[u8]) {
        let before = self.found.len();
        let table = fields.table();
        self.not_canonical(payload);
        if let Some(key) = lenient::unknown_key(table, payload) {
            self.add("payload_unknown_key", format!("{} has no key {key}", self.kind));
        }
        if self.found.len() == before && !same_form(table, payload) {
            self.add("payload_form", format!("a value of {} has not the type that Starling writes", self.kind));
        }
        let mut missing = Vec::new();
        for (position, field) in table.fields.iter().enumerate() {
            match fields.item_at(position) {
                None if !field.optional => missing.push(field.name),
                Some(item) if field.optional && is_empty(&field.shape, item) => {
                    self.add("payload_form", format!("`{}` is written although it is empty", field.name));
                }
                Some(_) | None => {}
            }
        }
        if !missing.is_empty() {
            self.add(
                "payload_missing_key",
                format!("{} always has, and here lacks: {}", self.kind, missing.join(", ")),
            );
        }
    }

    fn hash_sizes(&mut self, fields: &Fields) {
        for (position, field) in fields.table().fields.iter().enumerate() {
            if !matches!(field.shape, Shape::Bytes) || field.name == "signature" {
                continue;
            }
            // A head of two bytes and 32 bytes.
            let fits = fields.item_at(position).is_none_or(|item| item.len() == 34 || item == [write::NULL]);
            if !fits {
                self.add("hash_size", format!("`{}` is not a hash of 32 bytes", field.name));
            }
        }
    }

    fn call_duration(&mut self, fields: &Fields) {
        let duration = fields.int("duration_ms");
        if duration < 0 {
            let message = "the call claims to have ended before it began".into();
            self.add_with("call_duration", message, ">= 0", duration);
        }
    }

    fn budget(&mut self, fields: &Fields) {
        self.word(fields, "budget_limit", "limit", &["input_tokens", "output_tokens", "usd", "wall_clock"]);
        self.word(fields, "budget_where", "where", &["pre_call", "mid_stream"]);
        let (cap, actual) = (fields.float("cap"), fields.float("actual"));
        // Whoever started the run may stop it by the clock before its own limit is reached.
        if fields.text("limit") != b"wall_clock" && (actual < cap || actual.is_nan() || cap.is_nan()) {
            let message = "the budget that is said to be exceeded is not".into();
            self.add_with("budget_not_exceeded", message, format_args!(">= {cap}"), actual);
        }
    }

    /// A key under which Starling writes one of a few words.
    fn word(&mut self, fields: &Fields, code: &'static str, key: &str, words: &[&str]) {
        let found = fields.text(key);
        if !words.iter().any(|word| word.as_bytes() == found) {
            let message = format!("Starling never writes this as `{key}` of {}", self.kind);
            self.add_with(code, message, words.join(", "), String::from_utf8_lossy(found));
        }
    }

    /// RunStarted names hashes of what it holds itself.
    fn run_started(&mut self, fields: &Fields) {
        let params = fields.item("params").filter(|item| *item != [write::NULL]).unwrap_or_default();
        let system_prompt = std::str::from_utf8(fields.text("system_prompt")).unwrap_or_default();
        let schemas = fields.list("tool_schemas");
        let tools: Vec<_> = schemas.iter().map(|tool| (tool.text("name"), tool.bytes("schema_hash"))).collect();
        for (key, expected) in [
            ("params_hash", hashes::params_hash(params)),
            ("system_prompt_hash", hashes::system_prompt_hash(system_prompt)),
            ("tool_registry_hash", hashes::registry_hash_of(&tools)),
        ] {
            let found = fields.bytes(key).filter(|hash| !hash.is_empty());
            if found != expected.as_ref().map(|hash| &hash.as_bytes()[..]) {
                let shown = |hash: Option<&[u8]>| hash.map_or_else(|| "null".to_owned(), to_hex);
                let expected = shown(expected.as_ref().map(Digest::as_bytes).map(|bytes| &bytes[..]));
                let message = format!("`{key}` is not the hash of what RunStarted holds");
                self.add_with("run_started_hash", message, expected, shown(found));
            }
        }
    }
}

fn is_empty(shape: &Shape, item: &[u8]) -> bool {
    match shape {
        Shape::Raw => false,
        Shape::Float => matches!(item, [0xf9, 0x00 | 0x80, 0x00]),
        Shape::Struct(_) => item == [write::NULL],
        Shape::Bool | Shape::Uint(_) | Shape::Int | Shape::Text | Shape::Bytes | Shape::List(_) => {
            matches!(item, [0xf4 | 0x00 | 0x60 | 0x40 | 0x80 | write::NULL])
        }
    }
}

/// Whether the payload is its own plain form.
fn same_form(table: &'static Table, payload: &[u8]) -> bool {
    lenient::plain(table, payload, Rules::READABLE).is_ok_and(|plain| plain == payload)
}
