//! Parameters of a run, as far as providers have words for them.

use serde_json::{Map, Value};

/// The parameters that mean the same everywhere, and the others.
#[derive(Debug, Default)]
pub(super) struct Params {
    /// `temperature`
    pub temperature: Option<Value>,
    /// `top_p`
    pub top_p: Option<Value>,
    /// `stop_sequences`
    pub stop_sequences: Option<Value>,
    /// `effort`: how hard to think, in the vendor's words (`low`, `high`, …).
    pub effort: Option<String>,
    /// `thinking_budget`: how many tokens to think.
    pub thinking_budget: Option<u64>,
    /// Everything else, which goes to the vendor as it is.
    pub rest: Map<String, Value>,
}

impl Params {
    pub(super) fn of(params: &Map<String, Value>) -> Self {
        let mut rest = params.clone();
        let mut take = |name: &str| rest.remove(name).filter(|value| !value.is_null());
        Self {
            temperature: take("temperature"),
            top_p: take("top_p"),
            stop_sequences: take("stop_sequences"),
            effort: take("effort").and_then(|effort| effort.as_str().map(str::to_owned)),
            thinking_budget: take("thinking_budget").and_then(|budget| budget.as_u64()),
            rest,
        }
    }
}

/// `body` on top of what the run's creator wants to add: the conversation is not for parameters to change.
pub(super) fn over(rest: Map<String, Value>, body: Value) -> Value {
    let mut whole = rest;
    if let Value::Object(body) = body {
        for (name, value) in body {
            if value.is_null() {
                continue;
            }
            match (whole.get_mut(&name), value) {
                (Some(Value::Object(given)), Value::Object(ours)) => given.extend(ours),
                (_, value) => {
                    whole.insert(name, value);
                }
            }
        }
    }
    Value::Object(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_add_to_a_request_but_do_not_replace_its_conversation() {
        let Value::Object(given) = json!({
            "temperature": 0.5, "messages": [], "service_tier": "flex", "generationConfig": {"seed": 1}
        }) else {
            unreachable!("an object")
        };
        let params = Params::of(&given);
        assert_eq!(params.temperature, Some(json!(0.5)));
        let body = json!({"messages": ["hello"], "top_p": null, "generationConfig": {"maxOutputTokens": 5}});
        assert_eq!(
            over(params.rest, body),
            json!({
                "messages": ["hello"], "service_tier": "flex",
                "generationConfig": {"seed": 1, "maxOutputTokens": 5}
            })
        );
    }
}
