//! Which events a client wants, by their types.

use r1_protocol::data::{EventData as _, GapEventsPruned};
use r1_protocol::dialect;

/// The types that are wanted; all of them unless some are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter(Vec<Pattern>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    Name(String),
    /// The name up to and with its last dot.
    Family(String),
}

impl Filter {
    /// The type of the marker in place of pruned events.
    pub(super) const PRUNED: &'static str = GapEventsPruned::TYPE;

    /// Reads a list like `run.*,tool.shell.exited`. Names of both dialects are understood.
    pub fn parse(list: &str) -> Result<Self, FilterError> {
        list.split(',').map(Pattern::parse).collect::<Result<_, _>>().map(Self)
    }

    /// What either lets pass.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether nothing is left out.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether events of this type, by R1's own name, are wanted.
    #[must_use]
    pub fn takes(&self, type_name: &str) -> bool {
        self.is_all()
            || self.0.iter().any(|pattern| match pattern {
                Pattern::Name(name) => name == type_name,
                Pattern::Family(start) => type_name.starts_with(start.as_str()),
            })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let refused = || FilterError { given: text.into() };
        if text == "*" {
            return Ok(Self::Family(String::new()));
        }
        let (name, family) = match text.strip_suffix(".*") {
            Some(start) => (start, true),
            None => (text, false),
        };
        let is_segment = |segment: &str| {
            segment.starts_with(|c: char| c.is_ascii_lowercase())
                && segment.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        if !name.split('.').all(is_segment) || !(family || name.contains('.')) {
            return Err(refused());
        }
        if !family {
            return Ok(Self::Name(dialect::own_name(name).into_owned()));
        }
        Ok(Self::Family(dialect::own_name(&format!("{name}.")).into_owned()))
    }
}

/// A text that names no types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` names no event type; give names like `run.finished`, or families like `tool.*`")]
pub struct FilterError {
    /// What was given.
    pub given: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_families_pass() {
        let filter = Filter::parse("run.*,tool.shell.exited").unwrap();
        assert!(filter.takes("run.finished"));
        assert!(filter.takes("tool.shell.exited"));
        assert!(!filter.takes("tool.shell.command"));
        assert!(!filter.takes("runs.finished"));
        assert!(Filter::default().takes("anything.at_all"));
        assert!(Filter::parse("*").unwrap().takes("run.queued"));
    }

    #[test]
    fn both_dialects_name_the_same_events() {
        for list in ["model.call.started", "model.call.*", "turn.started", "turn.*"] {
            assert!(Filter::parse(list).unwrap().takes("turn.started"), "{list}");
        }
    }

    #[test]
    fn a_star_stands_last_and_alone() {
        for list in ["", "run", "run.*.x", "run.f*", "*.run", "Run.x", "run.x,", "run..x", ".*", "run.x y"] {
            assert!(Filter::parse(list).is_err(), "{list}");
        }
    }
}
