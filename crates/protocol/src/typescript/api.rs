//! The objects of the HTTP API, from the schemas that describe them in its OpenAPI document.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{Source, array, quoted, union};
use crate::api;

/// The file of the API's objects: what it answers, and what it takes.
#[must_use]
pub fn api() -> String {
    let mut answers = SchemaSettings::draft2020_12().for_serialize().into_generator();
    answers.subschema_for::<api::Task>();
    answers.subschema_for::<api::Run>();
    answers.subschema_for::<api::Approval>();
    answers.subschema_for::<api::Artifact>();
    answers.subschema_for::<api::ApiErrorBody>();
    answers.subschema_for::<api::Object<Item>>();
    answers.subschema_for::<api::List<Item>>();
    answers.subschema_for::<api::EventList<Item>>();
    let mut requests = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    requests.subschema_for::<api::NewTask>();
    requests.subschema_for::<api::PatchTask>();
    requests.subschema_for::<api::ExternalEvent>();
    requests.subschema_for::<api::MessageRequest>();
    requests.subschema_for::<api::CancelRequest>();
    requests.subschema_for::<api::RetryRequest>();
    requests.subschema_for::<api::ResumeRequest>();
    requests.subschema_for::<api::ForkRequest>();
    requests.subschema_for::<api::ResolveRequest>();
    requests.subschema_for::<api::PatchRequest>();

    // What is both taken and given is described as it is taken: a reader loses only that a key is sure.
    let answers = answers.take_definitions(true).into_iter();
    let mut definitions: BTreeMap<String, Value> =
        answers.map(|(name, schema)| (own_name(name, &schema), schema)).collect();
    definitions.extend(requests.take_definitions(true));
    let mut source = Source::new();
    for (name, schema) in definitions.iter().filter(|(name, _)| *name != Item::NAME) {
        definition(&mut source, name, schema);
    }
    source.0
}

/// Stands for whatever a list holds: TypeScript has type parameters, JSON Schema has not.
struct Item;

impl Item {
    const NAME: &str = "Item";
}

impl JsonSchema for Item {
    fn schema_name() -> Cow<'static, str> {
        Self::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

fn definition(source: &mut Source, name: &str, schema: &Value) {
    let parameter = if holds_items(schema) { format!("<{}>", Item::NAME) } else { String::new() };
    let name = format!("{name}{parameter}");
    source.block("");
    source.comment(0, schema["description"].as_str().unwrap_or_default());
    let Some(properties) = schema["properties"].as_object() else {
        source.line(0, &format!("export type {name} = {};", type_of(schema)));
        return;
    };
    source.line(0, &format!("export interface {name} {{"));
    for (key, property) in properties {
        source.comment(1, property["description"].as_str().unwrap_or_default());
        let mark = if is_required(schema, key) { "" } else { "?" };
        source.line(1, &format!("{key}{mark}: {};", type_of(property)));
    }
    source.line(0, "}");
}

/// What a wrapper is called without what it wraps, for that is a parameter here.
fn own_name(name: String, schema: &Value) -> String {
    match name.strip_prefix(Item::NAME).filter(|_| holds_items(schema)) {
        Some(own) => own.to_owned(),
        None => name,
    }
}

/// Whether one of its members is whatever it is a list of, or a list of that.
fn holds_items(schema: &Value) -> bool {
    let is_item = |schema: &Value| schema["$ref"].as_str().is_some_and(|name| name.ends_with("/Item"));
    let members = schema["properties"].as_object().into_iter().flatten();
    members.map(|(_, member)| member).any(|member| is_item(member) || is_item(&member["items"]))
}

fn is_required(schema: &Value, key: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == key))
}

fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or(reference).to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return union(values.iter().map(Value::to_string));
    }
    if let Some(choices) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        return union(choices.iter().map(type_of));
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => union(names.iter().filter_map(Value::as_str).map(|name| named(name, schema))),
        _ => "unknown".into(),
    }
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "integer" | "number" => "number".into(),
        "array" => array(&type_of(&schema["items"])),
        "object" => object(schema),
        // string, boolean, null: the same words.
        other => other.to_owned(),
    }
}

fn object(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return "Record<string, unknown>".into();
    };
    let members = properties.iter().map(|(key, property)| {
        let mark = if is_required(schema, key) { "" } else { "?" };
        format!("{}{mark}: {};", quoted(key), type_of(property))
    });
    format!("{{ {} }}", members.collect::<Vec<_>>().join(" "))
}
