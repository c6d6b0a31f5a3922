//! A preset as people write it.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{Composite, GateRule, NotApplicable, Preset, Scope, builtin, gate_id};
use crate::gate::phase::Boundary;

/// How long a command may take if the file does not say.
pub(super) const DEFAULT_TIMEOUT_MS: u64 = 600_000;

/// Bytes of a command; it stands in every decision of its gate, and so in receipts. A longer one is a script, and
/// belongs into a file.
const MAX_COMMAND: usize = 16 << 10;

/// Bytes of a preset's name, which stands there too.
const MAX_NAME: usize = 256;

/// How many gates there may be: a step follows from a decision of each.
const MAX_GATES: usize = 256;

/// How much a gate counts if the file does not say.
const DEFAULT_WEIGHT: u64 = 1000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    preset: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    composite: CompositePart,
    gates: Vec<GatePart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<ScopePart>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompositePart {
    threshold: Thousandths,
    #[serde(default)]
    weights: BTreeMap<String, Thousandths>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GatePart {
    id: String,
    threshold: Thousandths,
    #[serde(default)]
    blocker: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Vec<Boundary>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_s: Option<Thousandths>,
    #[serde(default)]
    when_not_applicable: NotApplicable,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopePart {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protected: Option<Vec<String>>,
}

impl File {
    /// The configuration that the file means, or what is wrong with it.
    pub(super) fn into_preset(self) -> Result<Preset, String> {
        let Self { preset: name, description, composite, gates, scope } = self;
        if name.trim().is_empty() {
            return Err("`preset`: give it a name".into());
        }
        if name.len() > MAX_NAME {
            return Err(format!("`preset` has {} bytes; give it a name of at most {MAX_NAME}", name.len()));
        }
        if gates.is_empty() {
            return Err("`gates` is empty: without a gate nothing is checked".into());
        }
        if gates.len() > MAX_GATES {
            return Err(format!("there are {} `gates`; at most {MAX_GATES} can be asked", gates.len()));
        }
        let threshold = share(composite.threshold, "composite.threshold")?;
        let gates: Vec<GateRule> = gates.into_iter().map(GatePart::into_rule).collect::<Result<_, _>>()?;
        let mut ids = BTreeSet::new();
        if let Some(twice) = gates.iter().find(|rule| !ids.insert(rule.id.as_str())) {
            return Err(format!("the gate `{}` stands there twice; one id, one gate", twice.id));
        }
        let weights = weights(composite.weights, &ids)?;
        let Scope { allow, protected } = scope.map_or_else(ScopePart::usual, ScopePart::into_scope)?;
        let preset = Preset {
            name,
            description,
            composite: Composite { threshold, weights },
            gates,
            scope: Scope { allow, protected },
        };
        let rules = preset.rules();
        match Boundary::ALL.into_iter().find(|boundary| !rules.iter().any(|rule| rule.at.contains(boundary))) {
            Some(open) => Err(format!("no gate stands at {open}; give one `at: [{open}]`")),
            None => Ok(preset),
        }
    }

    /// The file that says the same.
    pub(super) fn of(preset: &Preset) -> Self {
        let Preset { name, description, composite, gates, scope } = preset.clone();
        Self {
            preset: name,
            description,
            composite: CompositePart {
                threshold: Thousandths(composite.threshold),
                weights: composite.weights.into_iter().map(|(id, weight)| (id, Thousandths(weight))).collect(),
            },
            gates: gates.into_iter().map(GatePart::of).collect(),
            scope: Some(ScopePart { allow: scope.allow, protected: Some(scope.protected) }),
        }
    }
}

impl GatePart {
    fn into_rule(self) -> Result<GateRule, String> {
        let Self { id, threshold, blocker, at, command, timeout_s, when_not_applicable } = self;
        let id = canonical(&id).to_owned();
        let known = kind(&id)?;
        if command.as_ref().is_some_and(|command| command.trim().is_empty()) {
            return Err(format!("`command` of the gate `{id}` is empty; leave it out, or name one"));
        }
        if let Some(command) = command.as_ref().filter(|command| command.len() > MAX_COMMAND) {
            let bytes = command.len();
            return Err(format!("`command` of the gate `{id}` has {bytes} bytes; put it into a file and run that"));
        }
        match (known, &command) {
            (Kind::Own, None) => {
                return Err(format!("`{id}` is no built-in gate, and it has no `command` to run"));
            }
            (Kind::Fixed, Some(_)) => return Err(format!("the gate `{id}` runs no command; leave `command` out")),
            (Kind::Own | Kind::Command, Some(_)) | (Kind::Fixed | Kind::Command, None) => {}
        }
        let mut at = at.unwrap_or_else(|| builtin::places(&id));
        at.sort();
        at.dedup();
        if at.is_empty() {
            return Err(format!("the gate `{id}` stands nowhere; give it `at`, for example `at: [VERIFY.exit]`"));
        }
        let timeout_ms = timeout_s.map_or(DEFAULT_TIMEOUT_MS, |Thousandths(timeout)| timeout);
        if timeout_ms == 0 {
            return Err(format!("`timeout_s` of the gate `{id}` is 0: nothing would ever end in time"));
        }
        let threshold = share(threshold, &format!("threshold of the gate {id}"))?;
        Ok(GateRule { id, threshold, blocker, at, command, timeout_ms, when_not_applicable })
    }

    fn of(rule: GateRule) -> Self {
        let GateRule { id, threshold, blocker, at, command, timeout_ms, when_not_applicable } = rule;
        Self {
            id,
            threshold: Thousandths(threshold),
            blocker,
            at: Some(at),
            command,
            timeout_s: Some(Thousandths(timeout_ms)),
            when_not_applicable,
        }
    }
}

impl ScopePart {
    fn usual() -> Result<Scope, String> {
        Ok(Scope { allow: Vec::new(), protected: builtin::protected() })
    }

    fn into_scope(self) -> Result<Scope, String> {
        let protected = self.protected.unwrap_or_else(builtin::protected);
        let scope = Scope { allow: self.allow, protected };
        for pattern in scope.allow.iter().chain(&scope.protected) {
            crate::gate::pattern::pattern_error(pattern).map_or(Ok(()), |why| Err(format!("`scope`: {why}")))?;
        }
        Ok(scope)
    }
}

/// What a gate's name says of it.
enum Kind {
    /// A built-in gate that may run a command.
    Command,
    /// A built-in gate that runs none.
    Fixed,
    /// One of the user's own.
    Own,
}

fn kind(id: &str) -> Result<Kind, String> {
    match id {
        gate_id::SYNTAX | gate_id::TESTS | gate_id::LINT => Ok(Kind::Command),
        gate_id::SECRETS | gate_id::POLICY | gate_id::REVIEW | gate_id::SCOPE => Ok(Kind::Fixed),
        gate_id::COMPOSITE => Err("the composite is set under `composite`, not among the `gates`".into()),
        id if is_name(id) => Ok(Kind::Own),
        id => Err(format!("`{id}` is no name for a gate; use 1 to 64 of a–z, 0–9, `_` and `-`")),
    }
}

fn is_name(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&id.len()) && id.bytes().all(fits)
}

/// `build` is another name of `syntax`.
fn canonical(id: &str) -> &str {
    if id == "build" { gate_id::SYNTAX } else { id }
}

/// A weight for each gate. Those of built-in gates that the preset does without say nothing.
fn weights(given: BTreeMap<String, Thousandths>, ids: &BTreeSet<&str>) -> Result<BTreeMap<String, u64>, String> {
    let mut weights: BTreeMap<String, u64> = ids.iter().map(|id| ((*id).to_owned(), DEFAULT_WEIGHT)).collect();
    let mut seen = BTreeSet::new();
    for (name, Thousandths(weight)) in given {
        let id = canonical(&name);
        if !seen.insert(id.to_owned()) {
            return Err(format!("`composite.weights` has `{id}` twice, once as `build`"));
        }
        match (weights.get_mut(id), kind(id)) {
            (Some(place), _) => *place = weight,
            (None, Ok(Kind::Command | Kind::Fixed)) => {}
            (None, Ok(Kind::Own) | Err(_)) => return Err(format!("`composite.weights`: there is no gate `{name}`")),
        }
    }
    Ok(weights)
}

fn share(Thousandths(value): Thousandths, what: &str) -> Result<u64, String> {
    if value <= 1000 { Ok(value) } else { Err(format!("`{what}` must be from 0 to 1")) }
}

/// A number of a preset as its file has it.
#[must_use]
pub fn decimal(thousandths: u64) -> String {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of the file, a thousand times.
#[derive(Clone, Copy, Debug)]
struct Thousandths(u64);

/// The greatest number that makes sense anywhere in a preset.
const MOST: u64 = 1_000_000_000;

impl Thousandths {
    /// Reads a decimal number exactly: what has no end after three places is not rounded but refused.
    fn read(text: &str) -> Result<Self, String> {
        let bad = || format!("{text} is not a number from 0 to {MOST} with at most 3 decimals");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let decimals = decimals.trim_end_matches('0');
        if decimals.len() > 3 {
            return Err(bad());
        }
        let whole: u64 = whole.parse().ok().filter(|whole| *whole <= MOST).ok_or_else(bad)?;
        let decimals: u64 = format!("{decimals:0<3}").parse().map_err(|_| bad())?;
        Ok(Self(whole * 1000 + decimals))
    }
}

impl<'de> Deserialize<'de> for Thousandths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Thousandths;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number with at most 3 decimals")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Thousandths, E> {
                Thousandths::read(&value.to_string()).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Thousandths, E> {
                Thousandths::read(&value.to_string()).map_err(E::custom)
            }

            // Its shortest decimal form is what stands in the file, unless that had more digits than a number
            // of the machine holds.
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Thousandths, E> {
                Thousandths::read(&value.to_string()).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Number)
    }
}

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1000) {
            return serializer.serialize_u64(self.0 / 1000);
        }
        // The nearest number of the machine is read back as these decimals: there are at most 15 digits.
        serializer.serialize_f64(decimal(self.0).parse().map_err(serde::ser::Error::custom)?)
    }
}
