//! A run's first event.

use bytes::Bytes;
use r1_event::payload::{Raw, RunStarted, ToolSchemaRef};
use r1_event::v1::hashes;
use r1_event::{Digest, Payload};

use super::Judgement;

/// Judges a first event; `None` if no log begins so.
pub(super) fn judge(payload: &Payload) -> Option<Judgement> {
    let Payload::RunStarted(started) = payload else { return None };
    Some(match &started.tool_schemas {
        Some(tools) => Judgement::Writes(Payload::RunStarted(Box::new(hashed(started, tools)))),
        None => Judgement::Takes(payload.clone()),
    })
}

/// The event with all that follows from the rest of it worked out anew.
fn hashed(started: &RunStarted, tools: &[ToolSchemaRef]) -> RunStarted {
    let mut tools = tools.to_vec();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    RunStarted {
        schema_version: 1,
        params_hash: params_hash(started),
        system_prompt_hash: bytes(hashes::system_prompt_hash(&started.system_prompt)),
        tool_registry_hash: registry_hash(&tools),
        tool_schemas: Some(tools),
        ..started.clone()
    }
}

/// Of no parameters there is no hash; but null is also how none are written.
fn params_hash(started: &RunStarted) -> Option<Bytes> {
    if started.params == Raw::default() && started.params_hash.is_none() {
        return None;
    }
    bytes(hashes::params_hash(started.params.bytes()))
}

fn registry_hash(tools: &[ToolSchemaRef]) -> Option<Bytes> {
    let digest = |hash: &Bytes| <[u8; 32]>::try_from(&hash[..]).ok().map(Digest::new);
    let tools = tools.iter().map(|tool| (tool.name.as_str(), tool.schema_hash.as_ref().and_then(digest)));
    bytes(hashes::tool_registry_hash(&tools.collect::<Vec<_>>()))
}

fn bytes(digest: Option<Digest>) -> Option<Bytes> {
    digest.map(|digest| Bytes::copy_from_slice(digest.as_bytes()))
}
