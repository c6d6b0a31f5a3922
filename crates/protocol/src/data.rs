//! What events say: a struct for each type that R1 writes as a Typed event.
//!
//! Named after the type: `tool.shell.exited` is [`ToolShellExited`]. A field that a struct does not know
//! is ignored on reading and stays in the log. Types of the log's own kinds (`turn.started`, …) are
//! structs of [`r1_event::payload`]; here they have only their rows of the [`crate::registry`].

mod api;
mod approval;
mod artifact;
mod cortex;
mod cost;
mod edit;
mod error;
mod gap;
mod gate;
mod kinds;
mod lane;
mod lookup;
mod memory;
mod mission;
mod policy;
mod recorded;
mod redaction;
mod run;
mod shell;
mod skill;
mod stoke;
mod time;
mod tool;
mod turn;
mod web;
mod words;

pub use api::*;
pub use approval::*;
pub use artifact::*;
pub use cortex::*;
pub use cost::*;
pub use edit::*;
pub use error::*;
pub use gap::*;
pub use gate::*;
pub use kinds::*;
pub use lane::*;
pub use lookup::*;
pub use memory::*;
pub use mission::*;
pub use policy::*;
pub use recorded::*;
pub use redaction::*;
pub use run::*;
pub use shell::*;
pub use skill::*;
pub use stoke::*;
pub use time::Time;
pub use tool::*;
pub use turn::*;
pub use web::*;
pub use words::*;

use r1_event::Payload;
use r1_event::payload::Typed;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json;
use crate::registry::EventType;

/// A JSON object.
pub type Object = serde_json::Map<String, serde_json::Value>;

/// The `data` of one event type that R1 writes as a Typed event.
pub trait EventData: Serialize + DeserializeOwned {
    /// The event type.
    const TYPE: &'static str;

    /// The payload to append.
    fn to_payload(&self) -> Payload {
        Payload::Typed(Typed { r#type: Self::TYPE.into(), data: json::to_raw(self), ..Typed::default() })
    }

    /// The data of a Typed event, if it is of this type and its known fields hold what they should.
    fn read(event: &Typed) -> Option<Self> {
        if event.r#type != Self::TYPE {
            return None;
        }
        json::read(&event.data)
    }
}

/// A Typed event of any type; `data` should be an object.
#[must_use]
pub fn typed(type_name: &str, data: &serde_json::Value) -> Typed {
    Typed { r#type: type_name.into(), data: json::to_raw(data), ..Typed::default() }
}

/// The rows of the registry, by file.
pub(crate) const FAMILIES: &[&[EventType]] = &[
    run::EVENTS,
    kinds::ROWS,
    turn::EVENTS,
    turn::ROWS,
    tool::EVENTS,
    shell::EVENTS,
    edit::EVENTS,
    edit::ROWS,
    lookup::EVENTS,
    web::EVENTS,
    approval::EVENTS,
    artifact::EVENTS,
    cost::EVENTS,
    policy::EVENTS,
    error::EVENTS,
    gap::EVENTS,
    lane::EVENTS,
    lane::ROWS,
    cortex::EVENTS,
    cortex::ROWS,
    mission::EVENTS,
    api::EVENTS,
    memory::EVENTS,
    gate::EVENTS,
    skill::EVENTS,
    stoke::EVENTS,
    redaction::EVENTS,
    recorded::EVENTS,
    recorded::ROWS,
];
