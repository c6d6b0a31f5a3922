//! What a line leaves out: a key that says nothing is not said.

use serde_json::Value;

use crate::data::Object;

/// Keys of content: what people, models and tools gave. It is told as it is, and an empty text is an answer.
const CONTENT: [&str; 8] =
    ["answer", "content_block", "edited_input", "input", "new_value", "old_value", "output", "value"];

/// The same body without `null` anywhere, and without texts that are empty, except in content.
pub(super) fn without_blanks(body: Object) -> Object {
    let told = body.into_iter().filter_map(|(key, value)| {
        let value = match value {
            Value::Null => return None,
            value if CONTENT.contains(&key.as_str()) => value,
            Value::String(text) if text.is_empty() => return None,
            value => inner(value),
        };
        Some((key, value))
    });
    told.collect()
}

/// Places in a list say something, also those that are empty.
fn inner(value: Value) -> Value {
    match value {
        Value::Object(object) => without_blanks(object).into(),
        Value::Array(items) => items.into_iter().map(inner).collect(),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stoke_01_what_says_nothing_is_left_out_and_content_is_told_as_it_is() {
        let cases = [
            (json!({ "approval_id": "a", "comment": "" }), json!({ "approval_id": "a" })),
            (json!({ "old_value": null, "new_value": "" }), json!({ "new_value": "" })),
            (json!({ "metadata": { "signal": null, "exit_code": 0 } }), json!({ "metadata": { "exit_code": 0 } })),
            (json!({ "options": [{ "id": "x", "hint": "" }, ""] }), json!({ "options": [{ "id": "x" }, ""] })),
            (
                json!({ "edited_input": { "text": "", "at": null } }),
                json!({ "edited_input": { "text": "", "at": null } }),
            ),
            (
                json!({ "output": "", "passed": false, "n": 0, "list": [] }),
                json!({ "output": "", "passed": false, "n": 0, "list": [] }),
            ),
        ];
        for (body, told) in cases {
            let Value::Object(body) = body else { panic!("no object") };
            assert_eq!(Value::Object(without_blanks(body)), told);
        }
    }
}
