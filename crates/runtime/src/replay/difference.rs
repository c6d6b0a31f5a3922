//! Where two JSON values differ.

use serde_json::Value;

/// One place in which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON Pointer to it.
    pub path: String,
    /// There in the first; `None` if absent.
    pub expected: Option<Value>,
    /// There in the second; `None` if absent.
    pub found: Option<Value>,
}

/// All places in which two values differ, in the order of their paths.
#[must_use]
pub fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    let mut list = Vec::new();
    collect(String::new(), Some(expected), Some(found), &mut list);
    list
}

fn collect(path: String, expected: Option<&Value>, found: Option<&Value>, list: &mut Vec<Difference>) {
    match (expected, found) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut keys: Vec<_> = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).collect();
            keys.sort();
            for key in keys {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                collect(format!("{path}/{escaped}"), a.get(key), b.get(key), list);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                collect(format!("{path}/{at}"), a.get(at), b.get(at), list);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => list.push(Difference { path, expected: expected.cloned(), found: found.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_place_is_named_once() {
        let a = json!({ "a": 1, "b": { "c/d": [1, 2] }, "same": true });
        let b = json!({ "a": 2, "b": { "c/d": [1, 3, 4] }, "same": true });
        let paths: Vec<_> = differences(&a, &b).into_iter().map(|difference| difference.path).collect();
        assert_eq!(paths, ["/a", "/b/c~1d/1", "/b/c~1d/2"]);
        assert!(differences(&a, &a).is_empty());
    }
}
