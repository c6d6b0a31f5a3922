//! L5, L6 and L7: the life of a tool call.

use std::collections::HashMap;

use super::approvals::Ended;
use super::{Event, Report, Rule, Writer};

#[derive(Debug, Default)]
pub(super) struct Calls {
    by_id: HashMap<String, Call>,
    /// Whether the run's calls were planned before it began: nobody proposes them.
    are_planned: bool,
}

#[derive(Debug)]
struct Call {
    state: State,
    attempts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Proposed,
    /// Waits for a person.
    Asked,
    Allowed,
    Invoked,
    Started,
    /// Its process ended; only what it left is still told.
    Exited,
    /// This attempt failed, and another one is to follow.
    Again,
    Closed,
}

impl State {
    const fn is_running(self) -> bool {
        matches!(self, Self::Invoked | Self::Started | Self::Exited)
    }
}

impl Calls {
    pub(super) fn observe(&mut self, event: &Event<'_>, approval: Option<&Ended>, report: &mut Report) {
        match event.type_name {
            "run.queued" => self.are_planned = matches!(event.text("kind"), Some("shell" | "git" | "file")),
            "assistant.tool_call_proposed" => self.propose(event, report),
            "approval.requested" => self.ask(event, report),
            "approval.resolved" | "approval.timed_out" => {
                if let Some(Ended { tool_call_id: Some(id), approved }) = approval {
                    self.answer(event, id, *approved, report);
                }
            }
            "policy.tool_allowed" => self.allow(event, report),
            "policy.tool_blocked" => self.block(event, report),
            "tool.invoked" => self.invoke(event, report),
            "tool.started" => self.start(event, report),
            "tool.completed" | "tool.failed" | "tool.cancelled" | "tool.timed_out" => self.end(event, report),
            "run.resumed" => self.seam(event, report),
            "run.finished" => self.finish(event, report),
            // Everything that is still open ends with the run.
            "run.failed" | "run.cancelled" => self.by_id.clear(),
            "turn.failed" => self.by_id.retain(|_, call| call.state != State::Proposed),
            "artifact.created" => self.leave(event, report),
            name if tells_of_running(name) => self.tell(event, report),
            _ => {}
        }
    }

    fn call<'a>(&mut self, event: &Event<'a>) -> Option<(&'a str, Option<&mut Call>)> {
        let id = event.text("tool_call_id")?;
        if self.are_planned {
            self.by_id.entry(id.into()).or_insert(Call { state: State::Proposed, attempts: 0 });
        }
        Some((id, self.by_id.get_mut(id)))
    }

    fn propose(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(id) = event.text("tool_call_id") else { return };
        if self.by_id.insert(id.into(), Call { state: State::Proposed, attempts: 0 }).is_some() {
            report.add(Rule::L5, event, format!("call {id} was proposed before"));
        }
    }

    fn ask(&mut self, event: &Event<'_>, report: &mut Report) {
        match self.call(event) {
            Some((_, Some(call))) if matches!(call.state, State::Proposed | State::Again) => call.state = State::Asked,
            Some((id, Some(_))) => {
                report.add(Rule::L6, event, format!("call {id} needs an approval after it was decided"));
            }
            Some((id, None)) => {
                report.add_missing(Rule::L6, event, format!("an approval of call {id}, which was never proposed"));
            }
            None => {}
        }
    }

    fn answer(&mut self, event: &Event<'_>, id: &str, approved: bool, report: &mut Report) {
        let Some(call) = self.by_id.get_mut(id) else { return };
        match (call.state, approved) {
            (State::Asked, true) => call.state = State::Allowed,
            (State::Asked, false) => call.state = State::Closed,
            (_, true) => {}
            (_, false) => {
                report.add(Rule::L5, event, format!("call {id} is closed by an approval it did not wait for"))
            }
        }
    }

    fn allow(&mut self, event: &Event<'_>, report: &mut Report) {
        match self.call(event) {
            Some((_, Some(call))) if matches!(call.state, State::Proposed | State::Again) => {
                call.state = State::Allowed
            }
            Some((id, _)) => {
                report.add_missing(Rule::L6, event, format!("call {id} is allowed, but nothing asked for it"));
            }
            None => {}
        }
    }

    fn block(&mut self, event: &Event<'_>, report: &mut Report) {
        match self.call(event) {
            Some((id, Some(call))) => {
                match call.state {
                    State::Proposed | State::Asked | State::Allowed | State::Again => {}
                    State::Invoked | State::Started | State::Exited => {
                        report.add(Rule::L6, event, format!("call {id} is blocked while it runs"));
                    }
                    State::Closed => report.add(Rule::L5, event, format!("call {id} is closed a second time")),
                }
                call.state = State::Closed;
            }
            Some((id, None)) => {
                report.add_missing(Rule::L5, event, format!("call {id} is blocked, but was never proposed"));
            }
            None => {}
        }
    }

    fn invoke(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(id) = event.text("tool_call_id") else { return };
        // A call that nobody proposed is the operator's, or the run is no agent's.
        let call = self.by_id.entry(id.into()).or_insert(Call { state: State::Proposed, attempts: 0 });
        match call.state {
            State::Proposed | State::Allowed | State::Again => {}
            State::Asked => report.add(Rule::L6, event, format!("call {id} runs before its approval")),
            State::Invoked | State::Started | State::Exited => {
                report.add(Rule::L6, event, format!("call {id} runs already"));
            }
            State::Closed => report.add(Rule::L6, event, format!("call {id} runs again after it was closed")),
        }
        call.attempts += 1;
        let attempt = event.number("attempt").unwrap_or(1);
        if attempt != call.attempts {
            report.add_missing(Rule::L6, event, format!("call {id}: attempt {attempt} should be {}", call.attempts));
            call.attempts = attempt;
        }
        call.state = State::Invoked;
    }

    fn start(&mut self, event: &Event<'_>, report: &mut Report) {
        match self.call(event) {
            Some((_, Some(call))) if call.state == State::Invoked => call.state = State::Started,
            Some((id, _)) => {
                report.add_missing(Rule::L6, event, format!("call {id} started without being invoked just before"));
            }
            None => {}
        }
    }

    fn end(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some((id, call)) = self.call(event) else { return };
        let Some(call) = call else {
            report.add_missing(Rule::L5, event, format!("call {id} ends, but never began"));
            return;
        };
        let named = event.number("attempt");
        if call.state.is_running() && named.is_some_and(|attempt| attempt != call.attempts) {
            report.add_missing(Rule::L6, event, format!("call {id}: attempt {} is the one that runs", call.attempts));
        }
        match call.state {
            State::Closed | State::Again => report.add(Rule::L5, event, format!("call {id} is closed a second time")),
            State::Invoked if event.type_name == "tool.completed" && report.writer == Writer::R1 => {
                report.add_missing(Rule::L6, event, format!("call {id} completed without having started"));
            }
            State::Proposed | State::Asked | State::Allowed if event.type_name == "tool.completed" => {
                report.add_missing(Rule::L6, event, format!("call {id} completed without being invoked"));
            }
            State::Proposed | State::Asked | State::Allowed | State::Invoked | State::Started | State::Exited => {}
        }
        let unknown = event.text("outcome") == Some("unknown");
        if unknown && event.flag("final").is_none() {
            report.add(Rule::L7, event, format!("nobody knows how call {id} ended, nor whether it runs again"));
        }
        // Starling leaves `final` out where another attempt follows.
        let again = event.flag("final") == Some(false)
            || report.writer == Writer::V1 && event.type_name != "tool.completed" && event.flag("final").is_none();
        call.state = if again { State::Again } else { State::Closed };
    }

    fn seam(&mut self, event: &Event<'_>, report: &mut Report) {
        for (id, call) in &mut self.by_id {
            if call.state.is_running() {
                report.add(Rule::L7, event, format!("call {id} is open at the seam"));
                call.state = State::Again;
            }
        }
    }

    fn finish(&mut self, event: &Event<'_>, report: &mut Report) {
        let mut open: Vec<_> = self.by_id.drain().filter(|(_, call)| call.state != State::Closed).collect();
        open.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (id, call) in open {
            match call.state {
                // Starling says of a failed attempt only whether it was the last.
                State::Again if report.writer == Writer::V1 => {}
                State::Again => report.add(Rule::L7, event, format!("call {id} was to run again and did not")),
                _ => report.add(Rule::L5, event, format!("call {id} is open when the run finishes")),
            }
        }
    }

    /// An artifact of a call. Patches are worked out before a call is allowed, and their inverses after it ended.
    fn leave(&mut self, event: &Event<'_>, report: &mut Report) {
        if event.text("kind") == Some("patch") {
            return;
        }
        if let Some((id, Some(call))) = self.call(event)
            && call.state == State::Closed
        {
            report.add(Rule::L6, event, format!("an artifact of call {id} after the call was closed"));
        }
    }

    /// An event of a running call.
    fn tell(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some((id, call)) = self.call(event) else { return };
        match call {
            Some(call) if call.state == State::Started => {
                if event.type_name == "tool.shell.exited" {
                    call.state = State::Exited;
                }
            }
            Some(call) if call.state == State::Exited && !event.type_name.starts_with("tool.shell.") => {}
            _ => {
                let message = format!("`{}` of call {id}, which is not running", event.type_name);
                report.add_missing(Rule::L6, event, message);
            }
        }
    }
}

/// Whether only a running call has events of this type. What becomes of a patch may be told at any time:
/// it is worked out before the call is allowed, and an operator may undo it later.
fn tells_of_running(type_name: &str) -> bool {
    let patches = ["tool.edit.", "tool.multi_edit.", "tool.file_write.", "tool.file."];
    type_name.starts_with("tool.") && !patches.iter().any(|prefix| type_name.starts_with(prefix))
}
