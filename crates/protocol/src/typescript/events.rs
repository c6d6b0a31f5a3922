//! The events.

use super::{Source, array, quoted, type_name, union};
use crate::registry::{self, EventType, Field, Presence, Shape};

/// The file of the events: an interface per type, their union, and how to tell a known event from others.
#[must_use]
pub fn events() -> String {
    let mut source = Source::new();
    source.block(ENVELOPE);
    common(&mut source);
    for row in registry::all() {
        data(&mut source, row);
    }
    own_data(&mut source);
    identity(&mut source);
    names(&mut source);
    source.block(KNOWN);
    source.0
}

const ENVELOPE: &str = r#"
/** RFC 3339 in UTC. R1 writes nine digits of the second's fraction. */
export type Time = string;

/** One of these words; a newer producer may know others. */
export type Word<Known extends string> = Known | (string & Record<never, never>);

/** Any event, whether its type is known here or not. */
export interface Envelope {
  schema_version: "1";
  /** `evt_` and a ULID: the same event has the same id everywhere. Drop what you have already by this. */
  event_id: string;
  /** `run_` and a ULID. */
  run_id: string;
  /** `task_` and a ULID, when the run has a task. */
  task_id?: string;
  /** `chat_` and a ULID; absent on v1 logs. */
  session_id?: string;
  /** Place in the run, from 0, without gaps. Order events by this. */
  sequence: number;
  /** For display. */
  occurred_at: Time;
  type: string;
  data: Record<string, unknown>;
}

/** What is left of an event whose payload was erased. */
export interface ErasedData {
  erased: true;
  payload_hash: string;
  payload_size: number;
  redaction_event_id?: string;
}

/** What is served of reasoning to those who did not ask for it. */
export interface HiddenData {
  hidden: true;
  turn_index?: number;
  block_index?: number;
}
"#;

const KNOWN: &str = r#"
/** The types that this file knows. */
export type EventType = keyof OwnData;

/**
 * What an event of this type says, whoever wrote it: only the fields that say what it is about are sure,
 * because a foreign source, or a log of an older format, may not have told the others.
 */
export type DataOf<Type extends EventType> = Pick<OwnData[Type], Identity[Type] & keyof OwnData[Type]> &
  Partial<OwnData[Type]>;

/** An event of one type. */
export type EventOf<Type extends EventType> = Omit<Envelope, "type" | "data"> & { type: Type; data: DataOf<Type> };

/** An event of one type in a run of R1's own, where every field that R1 promises is there. */
export type OwnEventOf<Type extends EventType> = Omit<Envelope, "type" | "data"> & { type: Type; data: OwnData[Type] };

/** An event of a type that this file knows: `switch` on its `type`. */
export type KnownEvent = { [Type in EventType]: EventOf<Type> }[EventType];

const known: ReadonlySet<string> = new Set<string>(eventTypes);

/** Whether an event's payload was erased. */
export function isErased(event: Envelope): event is Envelope & { data: ErasedData & Record<string, unknown> } {
  return event.data["erased"] === true;
}

/** Whether an event is reasoning that was not asked for. */
export function isHidden(event: Envelope): event is Envelope & { data: HiddenData & Record<string, unknown> } {
  return event.data["hidden"] === true && event.type.startsWith("assistant.thinking_");
}

/**
 * Whether an event is of a known type and says what that type says. Show all others as they are: new types
 * come without a new version of the protocol.
 */
export function isKnownEvent(event: Envelope): event is Envelope & KnownEvent {
  const { type } = event;
  const isKnown = known.has(type) || eventFamilies.some((family) => type.startsWith(family));
  return isKnown && !isErased(event) && !isHidden(event);
}
"#;

fn common(source: &mut Source) {
    source.block("");
    source.comment(0, "What any event may carry.");
    source.line(0, "export interface Common {");
    members(source, registry::COMMON);
    source.line(0, "}");
    source.block("");
    source.comment(0, "Who caused an event through a control action.");
    source.line(0, "export type Actor = NonNullable<Common[\"actor\"]>;");
}

fn data(source: &mut Source, row: &EventType) {
    source.block("");
    source.comment(0, &format!("`{}`: {}", row.name, row.summary));
    let owns: Vec<_> = registry::COMMON
        .iter()
        .filter(|common| row.fields.iter().any(|field| field.name == common.name))
        .map(|field| quoted(field.name))
        .collect();
    let base = if owns.is_empty() { "Common".into() } else { format!("Omit<Common, {}>", union(owns)) };
    source.line(0, &format!("export interface {} extends {base} {{", type_name(row.name)));
    members(source, row.fields);
    if row.open {
        source.line(1, "[other: string]: unknown;");
    }
    source.line(0, "}");
}

fn members(source: &mut Source, fields: &[Field]) {
    for field in fields {
        source.comment(1, field.summary);
        source.line(1, &member(field));
    }
}

fn member(field: &Field) -> String {
    let mark = match field.presence {
        Presence::Identity | Presence::Required => "",
        Presence::Optional => "?",
    };
    format!("{}{mark}: {};", field.name, of_shape(field.shape))
}

fn of_shape(shape: Shape) -> String {
    match shape {
        Shape::Text => "string".into(),
        Shape::Words(words) => format!("Word<{}>", union(words.iter().map(|word| quoted(word)))),
        Shape::Time => "Time".into(),
        Shape::Uint | Shape::Int => "number".into(),
        Shape::Bool => "boolean".into(),
        Shape::Object => "Record<string, unknown>".into(),
        Shape::Any => "unknown".into(),
        Shape::Nullable(shape) => format!("{} | null", of_shape(*shape)),
        Shape::List(shape) => array(&of_shape(*shape)),
        Shape::Struct(fields) => {
            let members: Vec<_> = fields.iter().map(member).collect();
            format!("{{ {} }}", members.join(" "))
        }
    }
}

/// A key of a map by type: a family stands for every name that begins as it does.
fn key(row: &EventType) -> String {
    match row.name.strip_suffix('*') {
        Some(prefix) => format!("[type: `{prefix}${{string}}`]"),
        None => quoted(row.name),
    }
}

fn own_data(source: &mut Source) {
    source.block("");
    source.comment(0, "What events say in runs of R1's own, by type.");
    source.line(0, "export interface OwnData {");
    for row in registry::all() {
        source.line(1, &format!("{}: {};", key(row), type_name(row.name)));
    }
    source.line(0, "}");
}

fn identity(source: &mut Source) {
    source.block("");
    source.comment(0, "The fields of each type that are there whoever wrote the event.");
    source.line(0, "export interface Identity {");
    for row in registry::all() {
        let fields = row.fields.iter().filter(|field| field.presence == Presence::Identity);
        source.line(1, &format!("{}: {};", key(row), union(fields.map(|field| quoted(field.name)))));
    }
    source.line(0, "}");
}

fn names(source: &mut Source) {
    source.block("");
    source.comment(0, "Every known type.");
    source.line(0, "export const eventTypes = [");
    let (families, types): (Vec<&EventType>, Vec<&EventType>) = registry::all().partition(|row| row.is_family());
    for row in types {
        source.line(1, &format!("{},", quoted(row.name)));
    }
    source.line(0, "] as const;");
    source.block("");
    source.comment(0, "What the names of open families begin with.");
    let families = families.iter().map(|row| quoted(row.name.trim_end_matches('*')));
    source.line(0, &format!("export const eventFamilies = [{}] as const;", families.collect::<Vec<_>>().join(", ")));
}
