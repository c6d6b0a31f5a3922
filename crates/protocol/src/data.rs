//! What events say: a type for each event type of the protocol.

use r1_event::Payload;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The `data` of one event type that R1 writes as a Typed event.
pub trait EventData: Serialize + DeserializeOwned {
    /// The event type.
    const TYPE: &'static str;

    /// The payload to append.
    fn to_payload(&self) -> Payload;
}

/// Families of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after their word in the log")]
pub enum ToolKind {
    Shell,
    Git,
    Edit,
    MultiEdit,
    FileRead,
    FileWrite,
    Glob,
    Grep,
    TodoWrite,
    Http,
    WebFetch,
    WebSearch,
    Mcp,
    Agent,
    Memory,
    Builtin,
    External,
}
