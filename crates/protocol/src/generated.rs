//! The files of this project that are made from the protocol's tables: schemas, TypeScript, fixtures.
//!
//! `cargo run -p r1-protocol --example generate` writes them; a test fails when they are not what would be
//! written today.

use serde_json::Value;

use crate::registry::{self, EventType};
use crate::schema::{self, Strictness};
use crate::{example, typescript};

/// Where the schemas are. Nothing else is in there.
pub const SCHEMAS: &str = "docs/schemas/events/v1";

/// A file: its path in the repository, and what it holds.
pub type File = (String, String);

/// Every generated file.
#[must_use]
pub fn files() -> Vec<File> {
    let mut files = vec![
        (format!("{SCHEMAS}/envelope.json"), pretty(&schema::any_envelope(Strictness::Open))),
        (format!("{SCHEMAS}/strict/envelope.json"), pretty(&schema::any_envelope(Strictness::Strict))),
        ("sdk/typescript/src/events.ts".into(), typescript::events()),
        ("sdk/typescript/src/api.ts".into(), typescript::api()),
        ("crates/protocol/tests/fixtures/events/most.ndjson".into(), lines(example::most)),
        ("crates/protocol/tests/fixtures/events/least.ndjson".into(), lines(example::least)),
    ];
    for row in registry::all() {
        let name = row.file_stem();
        files.push((format!("{SCHEMAS}/{name}.json"), pretty(&schema::schema(row, Strictness::Open))));
        files.push((format!("{SCHEMAS}/strict/{name}.json"), pretty(&schema::schema(row, Strictness::Strict))));
    }
    files
}

fn lines(example: fn(&EventType) -> crate::Envelope) -> String {
    let lines = registry::all().map(|row| String::from_utf8_lossy(&example(row).to_bytes()).into_owned() + "\n");
    lines.collect()
}

fn pretty(schema: &Value) -> String {
    format!("{schema:#}\n")
}
