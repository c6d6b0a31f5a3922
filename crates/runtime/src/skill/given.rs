//! Answers from a file.

use serde_json::Value;

use super::answer::BadAnswer;
use super::question::Question;
use super::wizard::Wizard;

/// Answers that were given beforehand, in order: YAML or JSON, a map of question ids to answers. In a list of such
/// maps a question may come again, which corrects what was answered before. A list of texts is an answer of several
/// lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    answers: Vec<(&'static Question, String)>,
}

/// Answers that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    /// Neither YAML nor JSON.
    #[error("it is neither YAML nor JSON: {0}")]
    Unreadable(String),
    /// Something else than maps of answers.
    #[error("it is no map of question ids to answers, nor a list of such maps")]
    BadShape,
    /// A question that is not asked.
    #[error("`{id}` is not asked; the questions are {}", known())]
    Unknown {
        /// What stands there.
        id: String,
    },
    /// An answer that is no text.
    #[error("the answer to `{id}` is neither a text nor a list of texts")]
    NoText {
        /// Which question.
        id: &'static str,
    },
    /// An answer that will not do.
    #[error(transparent)]
    Bad(#[from] BadAnswer),
}

fn known() -> String {
    Question::ALL.iter().map(|question| question.id).collect::<Vec<_>>().join(", ")
}

impl Given {
    /// Reads a file of answers.
    pub fn parse(text: &str) -> Result<Self, GivenError> {
        let value: Value = serde_saphyr::from_str(text).map_err(|err| GivenError::Unreadable(err.to_string()))?;
        let maps = match value {
            Value::Object(map) => vec![map],
            Value::Array(items) => items
                .into_iter()
                .map(|item| if let Value::Object(map) = item { Ok(map) } else { Err(GivenError::BadShape) })
                .collect::<Result<_, _>>()?,
            _ => return Err(GivenError::BadShape),
        };
        let mut answers = Vec::new();
        for map in maps {
            if let Some(id) = map.keys().find(|id| Question::find(id).is_none()) {
                return Err(GivenError::Unknown { id: id.clone() });
            }
            // In the order of the questions, not of the file: the same answers are the same decisions.
            for question in Question::ALL {
                if let Some(answer) = map.get(question.id) {
                    answers.push((question, text_of(question, answer)?));
                }
            }
        }
        Ok(Self { answers })
    }

    /// Gives them.
    pub fn answer(&self, wizard: &mut Wizard) -> Result<(), BadAnswer> {
        self.answers.iter().try_for_each(|(question, answer)| wizard.answer(question, answer))
    }
}

fn text_of(question: &'static Question, answer: &Value) -> Result<String, GivenError> {
    let no_text = || GivenError::NoText { id: question.id };
    match answer {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Array(items) => {
            let texts: Option<Vec<_>> = items.iter().map(Value::as_str).collect();
            Ok(texts.ok_or_else(no_text)?.join("\n"))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(no_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_corrects_and_yaml_is_json() {
        let yaml = "- skill.name: one\n  skill.steps: [look, act]\n- skill.name: two\n";
        let json = r#"[{"skill.steps":["look","act"],"skill.name":"one"},{"skill.name":"two"}]"#;
        let given = Given::parse(yaml).unwrap();
        assert_eq!(given, Given::parse(json).unwrap());
        let mut wizard = Wizard::default();
        given.answer(&mut wizard).unwrap();
        assert_eq!(
            wizard.decisions().iter().map(|decision| decision.revises).collect::<Vec<_>>(),
            [None, None, Some(0)]
        );
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        assert!(matches!(Given::parse("skill.nme: x"), Err(GivenError::Unknown { .. })));
        assert!(matches!(Given::parse("skill.name: 3"), Err(GivenError::NoText { .. })));
        assert!(matches!(Given::parse("just text"), Err(GivenError::BadShape)));
        assert!(matches!(Given::parse("[1"), Err(GivenError::Unreadable(_))));
    }
}
