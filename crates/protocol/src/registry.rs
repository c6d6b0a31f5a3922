//! Every event type of the protocol, as a table.
//!
//! The rows stand beside the structs in [`crate::data`] and are made by the same macro, so a field
//! cannot be written that its schema does not know.

use std::collections::HashMap;
use std::sync::LazyLock;

use r1_event::Kind;

use crate::data;

/// One event type.
#[derive(Clone, Copy, Debug)]
pub struct EventType {
    /// Its name; a family ends in `.*`.
    pub name: &'static str,
    /// What it tells.
    pub summary: &'static str,
    /// How settled it is.
    pub status: Status,
    /// The kinds of log events that are served as this type.
    pub kinds: &'static [Kind],
    /// What its `data` holds, without the keys that every event may carry.
    pub fields: &'static [Field],
    /// Whether its `data` may hold anything else.
    pub open: bool,
}

/// How settled an event type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Candidate for the shared core.
    Core,
    /// Makes sense only with artifacts, which R1 has.
    Artifact,
    /// May change.
    Experimental,
    /// R1's own.
    Added,
}

/// One key of an event's `data`.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What it means; empty where the name says it.
    pub summary: &'static str,
    /// What stands under it.
    pub shape: Shape,
    /// When it stands there.
    pub presence: Presence,
}

/// When a key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always, whoever wrote the event: it says what the event is about.
    Identity,
    /// Always, in events that R1 writes itself.
    Required,
    /// Where there is something to say.
    Optional,
}

/// What stands under a key.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any text.
    Text,
    /// A word; readers accept others than these.
    Words(&'static [&'static str]),
    /// RFC 3339.
    Time,
    /// An integer from 0.
    Uint,
    /// An integer.
    Int,
    /// A boolean.
    Bool,
    /// Any object.
    Object,
    /// Anything.
    Any,
    /// That, or null.
    Nullable(&'static Self),
    /// An array.
    List(&'static Self),
    /// An object with these keys.
    Struct(&'static [Field]),
}

/// A Rust type that can stand under a key.
pub trait Shaped {
    /// How its JSON looks.
    const SHAPE: Shape;
}

macro_rules! shaped {
    ($($rust:ty => $shape:expr,)+) => {$(
        impl Shaped for $rust {
            const SHAPE: Shape = $shape;
        }
    )+};
}

shaped! {
    String => Shape::Text,
    u64 => Shape::Uint,
    i64 => Shape::Int,
    bool => Shape::Bool,
    data::Object => Shape::Object,
    serde_json::Value => Shape::Any,
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = Shape::Nullable(&T::SHAPE);
}

/// The keys that the `data` of any event may carry.
pub const COMMON: &[Field] = &[
    Field { name: "lane_id", summary: "Absent on the main lane.", shape: Shape::Text, presence: Presence::Optional },
    Field {
        name: "redacted_paths",
        summary: "JSON Pointers to what a redactor replaced.",
        shape: Shape::List(&Shape::Text),
        presence: Presence::Optional,
    },
    Field {
        name: "actor",
        summary: "Who caused it through a control action.",
        shape: <data::Actor as Shaped>::SHAPE,
        presence: Presence::Optional,
    },
    Field {
        name: "origin",
        summary: "The foreign record it was derived from.",
        shape: Shape::Object,
        presence: Presence::Optional,
    },
];

impl EventType {
    /// All keys of its `data`: its own, then those common ones that it does not define itself.
    pub fn all_fields(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        let own = self.fields;
        let common = COMMON.iter().filter(|common| own.iter().all(|field| field.name != common.name));
        own.iter().chain(common)
    }

    /// Whether it stands for every type that begins as it does.
    #[must_use]
    pub fn is_family(&self) -> bool {
        self.name.ends_with('*')
    }

    /// What its schemas are called as files: its name, without the star of a family.
    #[must_use]
    pub fn file_stem(&self) -> &'static str {
        self.name.strip_suffix(".*").unwrap_or(self.name)
    }

    fn covers(&self, type_name: &str) -> bool {
        let prefix = self.name.strip_suffix('*');
        prefix.is_some_and(|prefix| type_name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
    }
}

/// Every row, by family.
pub fn all() -> impl Iterator<Item = &'static EventType> {
    data::FAMILIES.iter().copied().flatten()
}

/// The row of an event type: its own, or else its family's.
#[must_use]
pub fn find(type_name: &str) -> Option<&'static EventType> {
    static BY_NAME: LazyLock<HashMap<&str, &EventType>> = LazyLock::new(|| all().map(|row| (row.name, row)).collect());
    BY_NAME.get(type_name).copied().or_else(|| all().find(|row| row.covers(type_name)))
}

/// The longest name of an event type.
pub const MAX_TYPE_NAME: usize = 128;

/// Sequences stay below this, so that every number of JavaScript holds them exactly.
pub const MAX_SEQUENCE: u64 = 1 << 53;

/// The longest id of a tool call, which is the model's own.
pub const MAX_CALL_ID: usize = 256;

/// What an id begins with that R1 mints and that stands under this key, as in `child_run_id`.
#[must_use]
pub fn id_prefix(key: &str) -> Option<&'static str> {
    const PREFIXES: &[(&str, &str)] = &[
        ("run_id", "run"),
        ("approval_id", "appr"),
        ("artifact_id", "art"),
        ("artifact_ids", "art"),
        ("checkpoint_id", "ckpt"),
        ("event_id", "evt"),
        ("lane_id", "lane"),
        ("note_id", "note"),
        ("mission_id", "mis"),
        ("worktree_id", "wt"),
    ];
    let is_one = |name: &str| key.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    PREFIXES.iter().find_map(|(name, prefix)| is_one(name).then_some(*prefix))
}
