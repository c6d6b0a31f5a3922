//! One line's bytes: canonical, nothing in them that ends a line for some reader, and of bounded length.

use serde_json::Value;

use crate::canonical;
use crate::data::Object;

/// The longest line, its end included.
pub const MAX_LINE: usize = 1_000_000;

/// Names what was cut from a line, as JSON Pointers.
pub(super) const TRUNCATED: &str = "_stoke.dev/truncated";

/// Longer strings are cut when a line is too long, and half as long ones when it still is, and so on.
const FIRST_BOUND: usize = 200_000;
/// Nothing as short as this is cut: ids and names are not.
const LAST_BOUND: usize = 300;

/// The line of an object. `fixed` are the keys that say what the line is; they are never cut.
pub(super) fn line(mut object: Object, fixed: &[&str]) -> Vec<u8> {
    let whole = written(&object);
    if whole.len() <= MAX_LINE {
        return whole;
    }
    let mut bound = FIRST_BOUND;
    while bound > LAST_BOUND {
        let mut cut = object.clone();
        let mut pointers = Vec::new();
        for (key, value) in cut.iter_mut().filter(|(key, _)| !fixed.contains(&key.as_str())) {
            shorten(value, bound, &format!("/{}", escaped(key)), &mut pointers);
        }
        bound /= 2;
        if pointers.is_empty() {
            continue;
        }
        let line = named(cut, pointers);
        if line.len() <= MAX_LINE {
            return line;
        }
    }
    // No string is to blame, but the number of things: what holds most of them is emptied.
    let mut pointers = Vec::new();
    loop {
        let line = named(object.clone(), pointers.clone());
        if line.len() <= MAX_LINE {
            return line;
        }
        match largest(&mut object, fixed) {
            Some(pointer) => pointers.push(pointer),
            None => {
                object.retain(|key, _| fixed.contains(&key.as_str()));
                object.insert("data".into(), Object::new().into());
                return named(object, vec!["/data".into()]);
            }
        }
    }
}

fn named(mut object: Object, pointers: Vec<String>) -> Vec<u8> {
    if !pointers.is_empty() {
        object.insert(TRUNCATED.into(), pointers.into());
    }
    written(&object)
}

fn written(object: &Object) -> Vec<u8> {
    let mut canonical = Vec::with_capacity(512);
    canonical::write_object(&mut canonical, object);
    let mut line = escape_line_ends(canonical);
    line.push(b'\n');
    line
}

/// Escapes U+0085, U+2028 and U+2029: JSON allows them in strings, and there are readers that break lines there.
fn escape_line_ends(text: Vec<u8>) -> Vec<u8> {
    let ends_line = |at: usize| match &text[at..] {
        [0xc2, 0x85, ..] => Some((2, &b"\\u0085"[..])),
        [0xe2, 0x80, 0xa8, ..] => Some((3, &b"\\u2028"[..])),
        [0xe2, 0x80, 0xa9, ..] => Some((3, &b"\\u2029"[..])),
        _ => None,
    };
    let Some(first) = (0..text.len()).find(|at| ends_line(*at).is_some()) else { return text };
    let mut out = Vec::with_capacity(text.len() + 64);
    out.extend_from_slice(&text[..first]);
    let mut at = first;
    while at < text.len() {
        match ends_line(at) {
            Some((length, escape)) => {
                out.extend_from_slice(escape);
                at += length;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}

/// Cuts every string over `bound` bytes between two characters, and names it.
fn shorten(value: &mut Value, bound: usize, pointer: &str, pointers: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() > bound => {
            text.truncate(text.floor_char_boundary(bound));
            pointers.push(pointer.into());
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                shorten(item, bound, &format!("{pointer}/{index}"), pointers);
            }
        }
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                shorten(value, bound, &format!("{pointer}/{}", escaped(key)), pointers);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Empties the array, object or string that holds most of the line, and gives its place.
fn largest(object: &mut Object, fixed: &[&str]) -> Option<String> {
    let candidates = object.iter_mut().filter(|(key, _)| !fixed.contains(&key.as_str()));
    let (key, value) =
        candidates.filter(|(_, value)| weight(value) > LAST_BOUND).max_by_key(|(_, value)| weight(value))?;
    let mut pointer = format!("/{}", escaped(key));
    let mut heavy = value;
    loop {
        let half = weight(heavy) / 2;
        let inner = match heavy {
            Value::Array(items) => items.iter().position(|item| weight(item) > half).map(|index| index.to_string()),
            Value::Object(object) => object.iter().find(|(_, value)| weight(value) > half).map(|(key, _)| key.clone()),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
        };
        let Some(inner) = inner else { break };
        pointer = format!("{pointer}/{}", escaped(&inner));
        // The key was found in it just now.
        heavy = match heavy {
            Value::Array(items) => items.get_mut(inner.parse::<usize>().ok()?)?,
            Value::Object(object) => object.get_mut(&inner)?,
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => break,
        };
    }
    *heavy = match heavy {
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(_) => Value::Object(Object::new()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Value::String(String::new()),
    };
    Some(pointer)
}

/// How many bytes a value takes, about.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum::<usize>() + 2,
        Value::Object(object) => object.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum::<usize>() + 2,
    }
}

/// A key as a part of a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        let Value::Object(object) = value else { panic!("no object") };
        object
    }

    fn read(line: &[u8]) -> Value {
        assert!(line.len() <= MAX_LINE && line.ends_with(b"\n"), "{} bytes", line.len());
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn no_character_of_a_line_ends_it_for_any_reader() {
        let line = line(object(json!({ "b": "a\u{85}b\u{2028}c\u{2029}d\u{2027}é\n", "a": 1 })), &[]);
        assert_eq!(String::from_utf8(line).unwrap(), "{\"a\":1,\"b\":\"a\\u0085b\\u2028c\\u2029d\u{2027}é\\n\"}\n");
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_says_where() {
        let text = "é".repeat(600_000);
        let cut = read(&line(object(json!({ "type": "t", "a/b": [{ "x~": text }], "short": "kept" })), &["type"]));
        let kept = cut["a/b"][0]["x~"].as_str().unwrap();
        assert_eq!((kept.len(), cut["short"].as_str()), (200_000, Some("kept")));
        assert_eq!(cut[TRUNCATED], json!(["/a~1b/0/x~0"]));
    }

    #[test]
    fn the_bound_is_halved_until_the_line_fits() {
        let many = vec!["x".repeat(150_000); 9];
        let cut = read(&line(object(json!({ "many": many })), &[]));
        assert_eq!(cut["many"][8].as_str().unwrap().len(), 100_000);
        assert_eq!(cut[TRUNCATED].as_array().unwrap().len(), 9);
    }

    #[test]
    fn a_line_of_many_small_things_is_bounded_too() {
        let fixed = ["type"];
        let numbers =
            read(&line(object(json!({ "type": "t", "m": { "n": vec![1234; 250_000], "s": "kept" } })), &fixed));
        assert_eq!((&numbers["m"]["n"], &numbers["m"]["s"]), (&json!([]), &json!("kept")));
        assert_eq!(numbers[TRUNCATED], json!(["/m/n"]));
        let key = read(&line(object(json!({ "type": "t", "k".repeat(1_000_001): 1 })), &fixed));
        assert_eq!((&key["type"], &key["data"], &key[TRUNCATED]), (&json!("t"), &json!({}), &json!(["/data"])));
    }

    #[test]
    fn a_line_that_fits_is_left_alone() {
        let text = "x".repeat(900_000);
        let whole = read(&line(object(json!({ "text": text })), &[]));
        assert_eq!((whole["text"].as_str().map(str::len), whole.get(TRUNCATED)), (Some(900_000), None));
    }
}
