//! Hashes that v1 payloads name. An empty input has no hash: null.

use crate::cbor::write;
use crate::id::Digest;

/// `params_hash`: of the sampling parameters' CBOR.
#[must_use]
pub fn params_hash(params: &[u8]) -> Option<Digest> {
    unless_empty(params)
}

/// `system_prompt_hash`.
#[must_use]
pub fn system_prompt_hash(prompt: &str) -> Option<Digest> {
    unless_empty(prompt.as_bytes())
}

/// `schema_hash`: of a tool's JSON schema as it is spelled.
#[must_use]
pub fn schema_hash(schema: &[u8]) -> Option<Digest> {
    unless_empty(schema)
}

/// `tool_registry_hash`: of all tools' names and schema hashes, sorted by name.
#[must_use]
pub fn tool_registry_hash(tools: &[(&str, Option<Digest>)]) -> Option<Digest> {
    let tools: Vec<_> =
        tools.iter().map(|(name, hash)| (name.as_bytes(), hash.as_ref().map(|hash| &hash.as_bytes()[..]))).collect();
    registry_hash_of(&tools)
}

pub(super) fn registry_hash_of(tools: &[(&[u8], Option<&[u8]>)]) -> Option<Digest> {
    (!tools.is_empty()).then(|| Digest::blake3(&registry(tools)))
}

fn registry(tools: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
    let mut sorted = tools.to_vec();
    sorted.sort_by_key(|(name, _)| *name);
    let mut out = Vec::new();
    write::array(&mut out, sorted.len());
    for (name, hash) in sorted {
        write::map(&mut out, 2);
        write::text(&mut out, "name");
        write::text(&mut out, &String::from_utf8_lossy(name));
        write::text(&mut out, "schema_hash");
        match hash {
            Some(hash) => write::bytes(&mut out, hash),
            None => write::null(&mut out),
        }
    }
    out
}

fn unless_empty(bytes: &[u8]) -> Option<Digest> {
    (!bytes.is_empty()).then(|| Digest::blake3(bytes))
}
