//! The API as a page for people: made from the OpenAPI document, without a script.

mod html;

use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::openapi::DOCUMENT;
use html::escaped;

/// The page: the same for every server of this version.
pub(crate) static PAGE: LazyLock<String> = LazyLock::new(|| page(&DOCUMENT));

/// How it looks.
pub(crate) const STYLE: &str = include_str!("page/style.css");

/// What each group of routes is about, in the order in which they are read.
const GROUPS: [(&str, &str); 6] = [
    ("tasks", "What is to be done. A task has runs, one after another."),
    ("runs", "One attempt at a task, and everything that it did."),
    ("events", "Every step, in order, live and resumable."),
    ("approvals", "What waits for a person."),
    ("artifacts", "Patches, outputs, files: what runs produced."),
    ("server", "The server about itself."),
];

fn page(document: &Value) -> String {
    let mut out = String::new();
    let title = document["info"]["title"].as_str().unwrap_or_default();
    let version = document["info"]["version"].as_str().unwrap_or_default();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} API</title>\n<link rel=\"stylesheet\" href=\"/docs/style.css\">\n</head>\n<body>\n\
         <header><h1>{title} <small>{version}</small></h1>\n<p>{}</p>\n",
        escaped(document["info"]["summary"].as_str().unwrap_or_default()),
    );
    out.push_str(INTRODUCTION);
    out.push_str("<nav aria-label=\"Groups\"><ul>");
    for (name, _) in GROUPS {
        let _ = write!(out, "<li><a href=\"#{name}\">{name}</a></li>");
    }
    out.push_str("<li><a href=\"#objects\">objects</a></li></ul></nav></header>\n<main>\n");
    for (name, about) in GROUPS {
        let _ = writeln!(out, "<section id=\"{name}\"><h2>{name}</h2><p>{about}</p>");
        operations(&mut out, document, name);
        out.push_str("</section>\n");
    }
    objects(&mut out, &document["components"]["schemas"]);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

const INTRODUCTION: &str = "<p>Send <code>Authorization: Bearer …</code>: the operator’s token is in the file \
     <code>token</code> of R1’s home, <code>r1 ctl token create</code> makes others. Programs of the same user need \
     none on the unix socket. For programs: <a href=\"/hecate/v1/openapi.json\">openapi.json</a>, \
     <a href=\"/hecate/v1/schemas/events/v1\">schemas of all events</a>.</p>\n";

fn operations(out: &mut String, document: &Value, group: &str) {
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            if operation["tags"][0] == group {
                write_operation(out, path, method, operation);
            }
        }
    }
}

fn write_operation(out: &mut String, path: &str, method: &str, operation: &Value) {
    let id = text(&operation["operationId"]);
    let _ = writeln!(
        out,
        "<details id=\"{id}\"><summary><span class=\"method {method}\">{}</span> <code>{}</code> \
         <span class=\"about\">{}</span></summary>",
        method.to_uppercase(),
        escaped(path),
        escaped(text(&operation["summary"])),
    );
    let _ = writeln!(out, "<p>Needs: {}</p>", escaped(text(&operation["x-r1-cap"])));
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    if !parameters.is_empty() {
        out.push_str("<table><thead><tr><th>parameter</th><th>in</th><th>what</th><th></th></tr></thead><tbody>");
        for parameter in parameters {
            let _ = write!(
                out,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(text(&parameter["name"])),
                escaped(text(&parameter["in"])),
                shape(&parameter["schema"]),
                escaped(text(&parameter["description"])),
            );
        }
        out.push_str("</tbody></table>\n");
    }
    for (kind, content) in members(&operation["requestBody"]["content"]) {
        let _ = writeln!(out, "<p>Takes <code>{}</code> {}</p>", escaped(kind), shape(&content["schema"]));
    }
    for (status, response) in members(&operation["responses"]) {
        if status == "default" {
            continue;
        }
        let mut content = members(&response["content"]).peekable();
        if content.peek().is_none() {
            let _ = writeln!(out, "<p>Answers <b>{status}</b></p>");
        }
        for (kind, content) in content {
            let schema = shape(&content["schema"]);
            let _ = writeln!(out, "<p>Answers <b>{status}</b> <code>{}</code> {schema}</p>", escaped(kind));
        }
    }
    out.push_str("</details>\n");
}

fn objects(out: &mut String, schemas: &Value) {
    out.push_str("<section id=\"objects\"><h2>objects</h2><p>What is sent and answered.</p>\n");
    for (name, schema) in members(schemas) {
        let _ = writeln!(
            out,
            "<details id=\"object-{0}\"><summary><code>{0}</code> <span class=\"about\">{1}</span></summary>",
            escaped(name),
            escaped(text(&schema["description"])),
        );
        out.push_str("<table><tbody>");
        for (member, schema) in members(&schema["properties"]) {
            let (what, about) = (shape(schema), escaped(text(&schema["description"])));
            let _ = write!(out, "<tr><td><code>{}</code></td><td>{what}</td><td>{about}</td></tr>", escaped(member));
        }
        for word in words(schema) {
            let _ = write!(out, "<tr><td><code>{}</code></td></tr>", escaped(word));
        }
        out.push_str("</tbody></table></details>\n");
    }
    out.push_str("</section>\n");
}

/// The words of a closed set, written in either of the forms that sets have.
fn words(schema: &Value) -> impl Iterator<Item = &str> {
    let plain = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let described = schema["oneOf"].as_array().into_iter().flatten().filter_map(|one| one["const"].as_str());
    plain.chain(described)
}

/// A schema in a few words, with links to the objects in it.
fn shape(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("<a href=\"#object-{0}\">{0}</a>", escaped(name));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| format!("<code>{}</code>", escaped(text(word)))).collect::<Vec<_>>().join(" ");
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return choices.iter().map(shape).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", shape(&schema["items"])),
        Value::String(kind) => escaped(kind),
        Value::Array(kinds) => kinds.iter().map(|kind| escaped(text(kind))).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
