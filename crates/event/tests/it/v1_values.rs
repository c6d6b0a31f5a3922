//! Single values: numbers, hashes, roots.

use r1_event::Digest;
use r1_event::cbor::{Rules, Value, write};
use r1_event::id::{from_hex, to_hex};
use r1_event::v1::hashes;
use r1_event::v1::merkle::Tree;
use r1_event::v1::request::{Message, Request, Tool, ToolResult, ToolUse};

use crate::v1_fixtures::{digest, hex, load, text};

#[test]
fn log_03_floats_take_starlings_width() {
    for row in load("floats.json") {
        let bits = u64::from_str_radix(row[0].as_str().unwrap(), 16).unwrap();
        let mut out = Vec::new();
        write::float(&mut out, f64::from_bits(bits));
        assert_eq!(to_hex(&out), row[1], "{row}");
    }
}

#[test]
fn log_03_integers_take_starlings_width() {
    for row in load("ints.json") {
        let n: i128 = row[0].as_str().unwrap().parse().unwrap();
        let mut out = Vec::new();
        match u64::try_from(n) {
            Ok(n) => write::uint(&mut out, n),
            Err(_) => write::int(&mut out, i64::try_from(n).unwrap()),
        }
        assert_eq!(to_hex(&out), row[1], "{row}");
    }
}

#[test]
fn log_03_blake3_is_plain_blake3() {
    for row in load("blake3.json") {
        let input: Vec<u8> = (0..row[0].as_u64().unwrap()).map(|i| u8::try_from(i % 251).unwrap()).collect();
        assert_eq!(Digest::blake3(&input), digest(&row[1]), "{row}");
    }
}

#[test]
fn log_03_merkle_roots_of_every_size_are_starlings() {
    for row in load("merkle.json") {
        let mut tree = Tree::default();
        for i in 0..row[0].as_u64().unwrap() {
            tree.push(Digest::blake3(format!("leaf-{i}").as_bytes()));
        }
        assert_eq!(tree.root(), digest(&row[1]), "{row}");
    }
}

#[test]
fn log_03_schema_and_registry_hashes_are_starlings() {
    let all = load("tool_schema.json");
    let tools: Vec<_> = all[0]["tools"].as_array().unwrap().iter().collect();
    let mut registry = Vec::new();
    for tool in tools {
        let hash = hashes::schema_hash(text(tool, "schema").unwrap().as_bytes());
        assert_eq!(hash, Some(digest(&tool["schema_hash"])));
        registry.push((text(tool, "name").unwrap(), hash));
    }
    assert_eq!(hashes::tool_registry_hash(&registry), Some(digest(&all[0]["registry_hash"])));
    assert_eq!(hashes::tool_registry_hash(&[]), None);
    assert_eq!(hashes::schema_hash(b""), None);
}

#[test]
fn log_03_prompt_hashes_and_token_estimates_are_starlings() {
    for row in load("prompt_hash.json") {
        let request = request(&Value::decode(&hex(&row["cbor"]), Rules::CANONICAL).unwrap());
        assert_eq!(to_hex(&request.encode()), row["cbor"], "{}", row["label"]);
        assert_eq!(request.prompt_hash(), digest(&row["prompt_hash"]), "{}", row["label"]);
        assert_eq!(request.estimated_tokens(), row["estimated_input_tokens"], "{}", row["label"]);
    }
}

fn request(value: &Value) -> Request {
    Request {
        model: string(value, "Model"),
        system_prompt: string(value, "SystemPrompt"),
        messages: list(value, "Messages", message),
        tools: list(value, "Tools", |tool| Tool {
            name: string(tool, "Name"),
            description: string(tool, "Description"),
            schema: octets(tool, "Schema"),
        }),
        tool_choice: string(value, "ToolChoice"),
        stop_sequences: list(value, "StopSequences", |stop| stop.as_text().unwrap().to_owned()),
        top_k: value.get("TopK").unwrap().as_int(),
        max_output_tokens: value.get("MaxOutputTokens").unwrap().as_int().unwrap(),
        params: Some(value.get("Params").unwrap())
            .filter(|params| **params != Value::Null)
            .map_or(Vec::new(), Value::encode),
    }
}

fn message(value: &Value) -> Message {
    let given = |key| value.get(key).filter(|found| **found != Value::Null);
    Message {
        role: string(value, "Role"),
        content: string(value, "Content"),
        tool_uses: list(value, "ToolUses", |call| ToolUse {
            call_id: string(call, "CallID"),
            name: string(call, "Name"),
            args: octets(call, "Args"),
        }),
        tool_result: given("ToolResult").map(|result| ToolResult {
            call_id: string(result, "CallID"),
            content: string(result, "Content"),
            is_error: result.get("IsError") == Some(&Value::Bool(true)),
        }),
        annotations: given("Annotations").cloned(),
    }
}

fn string(value: &Value, key: &str) -> String {
    value.get(key).unwrap().as_text().unwrap().to_owned()
}

fn octets(value: &Value, key: &str) -> Option<Vec<u8>> {
    value.get(key).unwrap().as_bytes().map(<[u8]>::to_vec)
}

fn list<T>(value: &Value, key: &str, item: impl Fn(&Value) -> T) -> Option<Vec<T>> {
    value.get(key).unwrap().as_array().map(|items| items.iter().map(item).collect())
}

#[test]
fn log_03_text_that_is_not_utf8_is_written_but_not_read() {
    let bytes = from_hex("a167636f6e74656e7462fffe").unwrap();
    assert!(r1_event::cbor::check(&bytes, Rules::WRITABLE).is_ok());
    assert!(r1_event::cbor::check(&bytes, Rules::CANONICAL).is_err());
}
