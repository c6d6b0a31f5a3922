//! Asking a person about a tool call, on the terminal.

use std::collections::VecDeque;
use std::time::Duration;

use r1_protocol::data::{self, Actor};
use r1_protocol::data::{ActorKind, ApprovalKind, ApprovalRequested, Via};
use r1_runtime::agent::command::{Command, Decision, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use serde_json::Value;

use crate::environment;
use crate::output::{BOLD, DIM, NOTICE};
use crate::render::text::one_line;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// A person at the terminal.
    Person,
    /// A person, for whom yes is assumed after a while.
    Hasty(Duration),
    /// Nobody is here; the answer may come from elsewhere.
    Nobody,
}

/// Questions that wait for their answers, one shown at a time.
pub(crate) struct Desk {
    pub(crate) attendance: Attendance,
    waiting: VecDeque<Question>,
    /// What the person said, if they are asked why.
    why: Option<Decision>,
}

struct Question {
    request: ApprovalRequested,
    /// What the person must see before they answer; taken once they saw it.
    text: Option<String>,
}

/// What comes of a line that was typed.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// The question is answered.
    Answer(Box<Command>),
    /// Ask again, after saying this.
    Again(String),
    /// The person wants to change the input first.
    Edit,
}

impl Desk {
    pub(crate) const fn new(attendance: Attendance) -> Self {
        Self { attendance, waiting: VecDeque::new(), why: None }
    }

    /// Asks when it is its turn. `text` shows what it is about.
    pub(crate) fn ask(&mut self, request: ApprovalRequested, text: String) {
        self.waiting.push_back(Question { request, text: Some(text) });
    }

    /// Someone answered, here or elsewhere. Gives what nobody has seen of the question.
    pub(crate) fn withdraw(&mut self, approval_id: &str) -> Option<String> {
        let place = self.waiting.iter().position(|question| question.request.approval_id == approval_id)?;
        if place == 0 {
            self.why = None;
        }
        self.waiting.remove(place)?.text
    }

    /// What must be shown before the question is asked, once.
    pub(crate) fn unseen(&mut self) -> Option<String> {
        self.waiting.front_mut()?.text.take()
    }

    pub(crate) fn withdraw_all(&mut self) {
        self.waiting.clear();
        self.why = None;
    }

    /// What is asked now.
    pub(crate) fn question(&self) -> Option<&ApprovalRequested> {
        self.waiting.front().filter(|_| self.attendance != Attendance::Nobody).map(|question| &question.request)
    }

    /// The line that asks; `reminds` of what it is about, if that is no longer right above.
    pub(crate) fn prompt(&self, reminds: bool) -> Option<String> {
        let request = self.question()?;
        let about = if reminds { format!("{} ", one_line(&request.summary, 40)) } else { String::new() };
        let key = |key: char, meaning: &str| format!("{BOLD}{key}{BOLD:#}{DIM} {meaning}{DIM:#}");
        let is_gate = request.kind == ApprovalKind::Gate;
        let why = match self.why {
            Some(Decision::Approve) => Some("why? (it stands in the receipt)"),
            Some(Decision::Reject) if is_gate => Some("why not? (the task ends)"),
            Some(Decision::Reject) => Some("why not? (the model reads it)"),
            None => None,
        };
        if let Some(why) = why {
            return Some(format!("{NOTICE}┃{NOTICE:#} {DIM}{why}{DIM:#} › "));
        }
        if is_gate {
            let keys = [key('y', "override it"), key('r', "run the gates again"), key('n', "end the task")];
            return Some(format!("{NOTICE}┃{NOTICE:#} {about}{} › ", keys.join("  ")));
        }
        let mut keys = vec![key('y', "yes"), key('n', "no")];
        match self.attendance {
            Attendance::Hasty(after) => {
                keys.push(format!("{DIM}(yes in {} s){DIM:#}", after.as_secs()));
            }
            Attendance::Person | Attendance::Nobody => {
                if request.scopes.iter().any(|scope| scope.as_str() == "session") {
                    keys.push(key('a', "always, until the session ends"));
                }
                keys.push(key('e', "edit"));
            }
        }
        Some(format!("{NOTICE}┃{NOTICE:#} {about}{} › ", keys.join("  ")))
    }

    /// Takes what was typed.
    pub(crate) fn reply(&mut self, line: &str) -> Option<Reply> {
        let request = self.question()?;
        let is_gate = request.kind == ApprovalKind::Gate;
        if let Some(decision) = self.why {
            // An override without a reason is none.
            if decision == Decision::Approve && line.trim().is_empty() {
                return Some(Reply::Again("say why you override it".into()));
            }
            return Some(Reply::Answer(Box::new(resolve(request, decision, line, Scope::Once, None))));
        }
        let answer = |decision, scope| Reply::Answer(Box::new(resolve(request, decision, "", scope, None)));
        let (word, comment) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let with_comment =
            |decision| Reply::Answer(Box::new(resolve(request, decision, comment.trim(), Scope::Once, None)));
        Some(match word.to_lowercase().as_str() {
            "r" | "retry" if is_gate => {
                let again = Some(serde_json::json!({ "action": "retry" }));
                Reply::Answer(Box::new(resolve(request, Decision::Approve, comment.trim(), Scope::Once, again)))
            }
            "y" | "yes" if is_gate && !comment.is_empty() => with_comment(Decision::Approve),
            "y" | "yes" if is_gate => {
                self.why = Some(Decision::Approve);
                Reply::Again(String::new())
            }
            "y" | "yes" => answer(Decision::Approve, Scope::Once),
            "a" | "always" if !is_gate => answer(Decision::Approve, Scope::Session),
            "n" | "no" if !comment.is_empty() => with_comment(Decision::Reject),
            "n" | "no" => {
                self.why = Some(Decision::Reject);
                Reply::Again(String::new())
            }
            "e" | "edit" if !is_gate => Reply::Edit,
            "" => Reply::Again(String::new()),
            _ if is_gate => Reply::Again("answer y, r or n".into()),
            _ => Reply::Again("answer y, n, a or e".into()),
        })
    }

    /// What a hasty person is taken to have said.
    pub(crate) fn assumed(&self) -> Option<Command> {
        // A gate is overridden by someone who says why.
        let request = self.question().filter(|request| request.kind != ApprovalKind::Gate)?;
        Some(resolve(request, Decision::Approve, "nobody said otherwise", Scope::Once, None))
    }

    /// The person changed the input.
    pub(crate) fn edited(&self, input: Value) -> Option<Command> {
        let request = self.question()?;
        let input = (Some(&input) != request.input.clone().map(Value::Object).as_ref()).then_some(input);
        Some(resolve(request, Decision::Approve, "", Scope::Once, input))
    }
}

/// The command that answers a request.
pub(crate) fn resolve(
    request: &ApprovalRequested,
    decision: Decision,
    comment: &str,
    scope: Scope,
    edited_input: Option<Value>,
) -> Command {
    Command::Resolve(Resolution {
        approval_id: request.approval_id.clone(),
        decision,
        comment: comment.into(),
        scope,
        subject_hash: Some(request.subject_hash.clone()),
        edited_input,
    })
}

/// Who is at the keyboard.
fn me() -> Actor {
    Actor { kind: ActorKind::Operator, id: Some(environment::user()), via: Some(Via::Cli), ..data::Actor::default() }
}

/// The same, for what is asked of runs.
pub(crate) fn caller() -> Caller {
    Caller::new(me())
}

/// Lets the person change a JSON text in their editor. The error says what went wrong, for the person.
pub(crate) fn edit(input: &Value) -> Result<Value, String> {
    let text = serde_json::to_string_pretty(input).unwrap_or_default();
    let file = tempfile::Builder::new().prefix("r1-input-").suffix(".json").tempfile();
    let file = file.map_err(|err| format!("cannot make a file to edit: {err}"))?;
    std::fs::write(file.path(), text).map_err(|err| format!("cannot write the file to edit: {err}"))?;
    let editor = environment::editor();
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = std::process::Command::new(program).args(words).arg(file.path()).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("`{editor}` ended with {status}; nothing was changed")),
        Err(err) => return Err(format!("cannot start `{editor}`: {err}; set $EDITOR")),
    }
    let changed = std::fs::read_to_string(file.path()).map_err(|err| format!("cannot read what was edited: {err}"))?;
    match serde_json::from_str(&changed) {
        Ok(input @ Value::Object(_)) => Ok(input),
        Ok(_) => Err("the input must be a JSON object".into()),
        Err(err) => Err(format!("that is no JSON: {err}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk() -> Desk {
        let mut desk = Desk::new(Attendance::Person);
        for approval_id in ["a1", "a2"] {
            let request = ApprovalRequested { approval_id: approval_id.into(), ..Default::default() };
            desk.ask(request, format!("about {approval_id}"));
        }
        desk
    }

    fn answer(reply: Option<Reply>) -> (String, Decision, String, Scope) {
        let Some(Reply::Answer(command)) = reply else { panic!("{reply:?}") };
        let Command::Resolve(Resolution { approval_id, decision, comment, scope, .. }) = *command else { panic!() };
        (approval_id, decision, comment, scope)
    }

    #[test]
    fn a_line_answers_the_question_that_is_shown() {
        let mut desk = desk();
        assert_eq!(answer(desk.reply("y")), ("a1".into(), Decision::Approve, String::new(), Scope::Once));
        assert_eq!(answer(desk.reply("always")), ("a1".into(), Decision::Approve, String::new(), Scope::Session));
        assert_eq!(answer(desk.reply("n too risky")), ("a1".into(), Decision::Reject, "too risky".into(), Scope::Once));
        assert!(matches!(desk.reply("maybe"), Some(Reply::Again(_))));
        assert_eq!(desk.reply("e"), Some(Reply::Edit));
        desk.withdraw("a1");
        assert_eq!(answer(desk.reply("yes")).0, "a2");
        desk.withdraw("a2");
        assert_eq!(desk.reply("yes"), None);
    }

    #[test]
    fn a_gate_is_overridden_with_a_reason_or_asked_again() {
        let mut desk = Desk::new(Attendance::Person);
        let kind = ApprovalKind::Gate;
        desk.ask(ApprovalRequested { approval_id: "g1".into(), kind, ..Default::default() }, String::new());
        assert_eq!(desk.assumed(), None);
        for other in ["a", "e", "maybe"] {
            assert!(matches!(desk.reply(other), Some(Reply::Again(_))), "{other}");
        }
        let Some(Reply::Answer(again)) = desk.reply("r") else { panic!() };
        let Command::Resolve(Resolution { decision, edited_input, .. }) = *again else { panic!() };
        assert_eq!((decision, edited_input), (Decision::Approve, Some(serde_json::json!({ "action": "retry" }))));
        assert_eq!(answer(desk.reply("y it is fine")).2, "it is fine");
        assert_eq!(desk.reply("y"), Some(Reply::Again(String::new())));
        assert!(matches!(desk.reply("  "), Some(Reply::Again(why)) if !why.is_empty()));
        assert_eq!(answer(desk.reply("known")), ("g1".into(), Decision::Approve, "known".into(), Scope::Once));
    }

    #[test]
    fn nobody_is_asked_about_what_they_have_not_seen() {
        let mut desk = desk();
        assert_eq!((desk.unseen(), desk.unseen()), (Some("about a1".into()), None));
        assert_eq!(desk.withdraw("a2"), Some("about a2".into()), "answered elsewhere: shown with the answer");
        assert_eq!(desk.withdraw("a1"), None);
    }

    #[test]
    fn a_plain_no_is_asked_why_and_forgets_that_when_someone_else_answered() {
        let mut desk = desk();
        assert_eq!(desk.reply("n"), Some(Reply::Again(String::new())));
        assert_eq!(answer(desk.reply("y is what I meant")).1, Decision::Reject);
        desk.withdraw("a1");
        assert_eq!(answer(desk.reply("y")).1, Decision::Approve);
    }
}
