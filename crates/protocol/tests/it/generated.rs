//! Files that are made from the protocol's tables.

#[path = "../../examples/generate/tree.rs"]
mod tree;

use r1_protocol::{generated, registry};

/// Names, fields and words are forever: a change shows in these files before it reaches anyone's parser.
#[test]
fn ep_05_schemas_types_and_examples_are_what_would_be_written_today() {
    assert_eq!(tree::stale(), [""; 0], "write them with `cargo run -p r1-protocol --example generate`");
}

#[test]
fn ep_05_every_type_has_two_schemas_a_typescript_type_and_two_examples() {
    let files = generated::files();
    let text = |path: &str| files.iter().find(|(name, _)| name == path).map(|(_, text)| text.as_str()).unwrap();
    let (most, least) = ("events/most.ndjson", "events/least.ndjson");
    for row in registry::all() {
        let name = row.name.replace('*', "example");
        for examples in [most, least] {
            let lines = text(&format!("crates/protocol/tests/fixtures/{examples}")).lines();
            assert_eq!(lines.filter(|line| line.contains(&format!("\"type\":\"{name}\""))).count(), 1, "{name}");
        }
        for folder in ["", "strict/"] {
            let schema = text(&format!("docs/schemas/events/v1/{folder}{}.json", row.file_stem()));
            assert!(schema.contains(&format!("\"title\": \"{}\"", row.name)), "{name}");
        }
        let key = row.name.strip_suffix('*').map_or(format!("\"{name}\": "), |prefix| format!("`{prefix}${{string}}`"));
        assert!(text("sdk/typescript/src/events.ts").contains(&key), "{name}");
    }
}
