//! What an answer means.

use r1_protocol::canonical;
use serde_json::{Value, json};

use super::question::{Question, Shape};

/// The longest answer, in bytes: receipts hold no longer text.
const MAX_ANSWER: usize = 32 << 10;

/// An answer that will not do. The message tells what will.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{question}: {reason}")]
pub struct BadAnswer {
    /// Which question.
    pub question: &'static str,
    /// What is wrong.
    pub reason: String,
}

/// What an answer says, as JSON in its canonical spelling.
pub(super) fn interpret(question: &Question, answer: &str) -> Result<String, BadAnswer> {
    let bad = |reason: &str| BadAnswer { question: question.id, reason: reason.into() };
    if answer.len() > MAX_ANSWER {
        return Err(bad("an answer has at most 32 KiB"));
    }
    let value = match question.shape {
        Shape::Name => {
            let name = answer.trim();
            if !is_name(name) {
                return Err(bad("a name has 1 to 64 of a-z, 0-9 and single hyphens between them"));
            }
            name.into()
        }
        Shape::Line(most) => {
            let line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            match line.chars().count() {
                0 => return Err(bad("say something")),
                count if count > most => return Err(bad(&format!("at most {most} characters, not {count}"))),
                _ => line.into(),
            }
        }
        Shape::Text => match lines(answer).join("\n").trim() {
            "" => return Err(bad("say something")),
            text => text.into(),
        },
        Shape::Items(least) => {
            let items = items(answer);
            if items.len() < least {
                return Err(bad("name at least one, each on a line of its own"));
            }
            json!(items)
        }
        Shape::Tools => {
            let words = answer.split(|char: char| char == ',' || char.is_whitespace()).filter(|word| !word.is_empty());
            let mut tools: Vec<&str> = Vec::new();
            words.for_each(|word| {
                if !tools.contains(&word) {
                    tools.push(word);
                }
            });
            json!(tools)
        }
    };
    Ok(String::from_utf8_lossy(&canonical::to_vec(&value)).into_owned())
}

/// The texts of an interpretation: one, or one for each item.
pub(super) fn texts(interpretation: &str) -> Vec<String> {
    match serde_json::from_str(interpretation) {
        Ok(Value::String(text)) => vec![text],
        Ok(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn is_name(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (1..=64).contains(&name.len()) && name.split('-').all(is_part)
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

/// One item per line, without the marks and numbers that people put before items.
fn items(text: &str) -> Vec<String> {
    let bare = |line: &str| {
        let line = line.trim();
        let unmarked = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let unnumbered = (digits > 0).then(|| line[digits..].strip_prefix(". ")).flatten();
        unmarked.or(unnumbered).unwrap_or(line).trim().to_owned()
    };
    text.lines().map(bare).filter(|item| !item.is_empty() && item != "-").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str, answer: &str) -> Result<String, BadAnswer> {
        interpret(Question::find(id).unwrap(), answer)
    }

    #[test]
    fn names_are_those_of_folders() {
        for good in ["a", "fix-tests", "a1-2b", &"x".repeat(64)] {
            assert_eq!(of("skill.name", good), Ok(format!("\"{good}\"")));
        }
        for bad in ["", "Fix", "-a", "a-", "a--b", "a_b", "../x", "ä", &"x".repeat(65)] {
            assert!(of("skill.name", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn answers_are_understood_in_one_way() {
        assert_eq!(of("skill.description", " two\n lines ").unwrap(), r#""two lines""#);
        assert_eq!(of("skill.steps", "1. look\n- act\n\n* check").unwrap(), r#"["look","act","check"]"#);
        assert_eq!(of("skill.tools", "shell, edit shell").unwrap(), r#"["shell","edit"]"#);
        assert_eq!(of("skill.inputs", "").unwrap(), "[]");
        assert!(of("skill.steps", " \n").is_err() && of("skill.check", "").is_err());
        assert!(of("skill.description", &"x".repeat(1025)).is_err());
    }
}
