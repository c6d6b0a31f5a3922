//! What stands on the terminal while a run is followed.

use std::io;

use r1_event::{Kind, Payload, Record, RunId, Seq};
use r1_protocol::RunFacts;
use r1_protocol::data::{self, EventData as _};
use r1_protocol::stoke::{LineKind, Options};
use r1_runtime::agent::RunState;
use r1_runtime::agent::command::Command;
use r1_runtime::artifact;
use r1_runtime::control::command::{Answer, CommandError};
use r1_runtime::control::stoke::RunLines;
use r1_store::SharedStore;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::paper::Paper;
use super::{Follow, ending, is_claim, patch};
use crate::ask::{self, Attendance, Desk, Reply};
use crate::error::CliError;
use crate::output::{self, DIM};
use crate::render::live::Live;

/// What stands on the terminal.
pub(super) struct Screen {
    store: SharedStore,
    from: Seq,
    live: Option<Live>,
    /// What makes the line for scripts.
    lines: Option<RunLines>,
    /// That line.
    result: Option<String>,
    desk: Desk,
    /// Whether our worker has the run. A word to the run before that would take the lease from under it.
    pub(super) begun: bool,
    /// When the assumed answer to the question is given.
    pub(super) patience: Option<Instant>,
    /// Whether the prompt is the last thing on the screen.
    prompted: bool,
    /// Whether something else was printed since the question.
    reminds: bool,
    /// An answer is on its way; nothing is asked until it is there.
    answering: bool,
    paper: Paper,
    ended: Option<(Kind, String)>,
}

/// What is left when the run is over.
pub(super) struct Left {
    /// How the run ended, if it did.
    pub(super) ended: Option<(Kind, String)>,
    /// The line for scripts.
    pub(super) result: Option<String>,
    /// Why not everything was shown.
    pub(super) lost: Option<io::Error>,
}

impl Screen {
    pub(super) fn new(store: SharedStore, run: RunId, follow: &Follow) -> Self {
        Self {
            store,
            from: follow.from,
            live: follow.look.map(|look| Live::new(run, look)),
            lines: None,
            result: None,
            desk: Desk::new(match follow.attendance {
                // Who sees nothing is asked nothing.
                Attendance::Person if follow.look.is_none() => Attendance::Nobody,
                attendance => attendance,
            }),
            begun: false,
            patience: None,
            prompted: false,
            reminds: false,
            answering: false,
            paper: Paper::new(),
            ended: None,
        }
    }

    /// Whether nobody sees what is shown.
    pub(super) const fn is_lost(&self) -> bool {
        self.paper.is_lost()
    }

    pub(super) async fn take(&mut self, record: &Record) {
        let Ok((place, payload)) = RunState::read(record) else { return };
        if self.live.is_none() {
            self.keep_result(record);
        }
        self.learn_patch(&payload).await;
        let is_new = place.seq >= self.from;
        self.begun |= is_new && is_claim(&payload);
        self.ended = ending(&payload).or_else(|| self.ended.take());
        let text = match &mut self.live {
            // Whoever goes on with a run is told with which one.
            Some(live) if is_new || matches!(payload, Payload::RunStarted(_)) => live.take(place.ts, &payload),
            Some(live) => {
                live.pass_over(place.ts, &payload);
                String::new()
            }
            None => String::new(),
        };
        let text = self.hear_questions(&payload, text);
        self.print(&text);
        self.prompt();
    }

    /// The run's end as one line, once it is there.
    fn keep_result(&mut self, record: &Record) {
        if self.lines.is_none() {
            let facts = RunFacts::of_first(record, None);
            self.lines = facts.map(|facts| RunLines::of_fresh(facts, Options::default()));
        }
        let lines = self.lines.iter_mut().flat_map(|lines| lines.push(record));
        if let Some(line) = lines.into_iter().find(|line| line.kind == LineKind::Result) {
            self.result = Some(String::from_utf8_lossy(&line.bytes).trim_end().to_owned());
        }
    }

    /// Writes above the prompt.
    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.prompted) {
            self.paper.write("\r\x1b[2K");
        }
        self.reminds = true;
        self.paper.write(text);
    }

    async fn learn_patch(&mut self, payload: &Payload) {
        let Some(live) = &mut self.live else { return };
        // A patch that cannot be read is no reason to stop; the question says that it cannot be shown.
        if let Some((artifact_id, digest)) = patch(payload)
            && let Ok(bytes) = artifact::read(&self.store, digest).await
        {
            live.learn_patch(artifact_id, String::from_utf8_lossy(&bytes).into_owned());
        }
    }

    /// Keeps what is asked until it is its turn. Gives what is to be shown now.
    fn hear_questions(&mut self, payload: &Payload, text: String) -> String {
        let Payload::Typed(typed) = payload else { return text };
        if let Some(request) = data::ApprovalRequested::read(typed) {
            if self.desk.attendance == Attendance::Nobody {
                let id = &request.approval_id;
                output::note(&format!("it waits for approval: answer with `r1 approve {id}` in another terminal"));
                return text;
            }
            self.desk.ask(request, text);
            return String::new();
        }
        let answered = data::ApprovalResolved::read(typed).map(|answer| answer.approval_id);
        let ended = answered.or_else(|| data::ApprovalTimedOut::read(typed).map(|lapsed| lapsed.approval_id));
        let Some(approval_id) = ended else { return text };
        (self.patience, self.answering) = (None, false);
        self.desk.withdraw(&approval_id).unwrap_or_default() + &text
    }

    pub(super) fn asks(&self) -> bool {
        self.begun && self.desk.question().is_some() && !self.answering
    }

    fn prompt(&mut self) {
        if self.asks() && !self.prompted {
            if let Attendance::Hasty(after) = self.desk.attendance
                && self.patience.is_none()
            {
                self.patience = Some(Instant::now() + after);
            }
            if let Some(text) = self.desk.unseen() {
                self.print(&text);
                self.reminds = false;
            }
            if self.live.is_some() && self.patience.is_none_or(|at| at > Instant::now()) {
                let prompt = self.desk.prompt(self.reminds).unwrap_or_default();
                self.paper.write(&prompt);
                self.prompted = true;
            }
        }
        // Whoever watches wants to see it now.
        self.paper.flush();
    }

    pub(super) fn typed(&mut self, line: Option<String>) -> Option<Command> {
        let Some(line) = line else {
            // Nobody can answer here any more; somebody may elsewhere.
            self.desk.attendance = Attendance::Nobody;
            self.say("nobody can answer here; use `r1 approve` in another terminal");
            return None;
        };
        self.prompted = false;
        let answer = match self.desk.reply(&line) {
            Some(Reply::Answer(command)) => Some(*command),
            Some(Reply::Again(why)) => {
                if !why.is_empty() {
                    self.say_below(&why);
                }
                None
            }
            Some(Reply::Edit) => self.edit(),
            None => None,
        };
        self.answering = answer.is_some();
        self.prompt();
        answer
    }

    fn edit(&mut self) -> Option<Command> {
        let input = self.desk.question().and_then(|request| request.input.clone()).unwrap_or_default();
        match tokio::task::block_in_place(|| ask::edit(&input.into())) {
            Ok(input) => self.desk.edited(input),
            Err(why) => {
                self.say_below(&why);
                None
            }
        }
    }

    pub(super) fn assume(&mut self) -> Option<Command> {
        self.patience = None;
        let answer = self.desk.assumed();
        self.answering = answer.is_some();
        if std::mem::take(&mut self.prompted) {
            self.paper.write(&format!("{DIM}yes{DIM:#}\n"));
            self.paper.flush();
        }
        answer
    }

    pub(super) fn sent(&mut self, sent: Result<Result<Answer, CommandError>, JoinError>) -> Result<(), CliError> {
        match sent {
            Ok(Ok(_)) => {}
            Ok(Err(err)) => {
                self.answering = false;
                self.say(&err.to_string());
            }
            Err(err) => return Err(CliError::new("a command broke down").because(err)),
        }
        self.prompt();
        Ok(())
    }

    /// Nothing is asked any more: the run is told to end.
    pub(super) fn stop_asking(&mut self) {
        self.desk.withdraw_all();
        self.patience = None;
    }

    /// Says what no event says, in a line of its own.
    pub(super) fn say(&mut self, text: &str) {
        // The prompt stays, and its line ends here.
        let above = std::mem::take(&mut self.prompted).then_some("\n");
        self.interject(text, above);
    }

    /// Says it right below the line that was typed.
    fn say_below(&mut self, text: &str) {
        self.interject(text, Some(""));
    }

    /// Says something; `above` stands in for the end of the line that the run's text is in.
    fn interject(&mut self, text: &str, above: Option<&str>) {
        let Some(live) = &mut self.live else {
            output::note(text);
            return;
        };
        let said = live.interject(text);
        match above {
            Some(above) => self.paper.write(&format!("{above}{}", said.trim_start_matches('\n'))),
            None => self.paper.write(&said),
        }
        self.paper.flush();
    }

    pub(super) fn finish(self) -> Left {
        Left { ended: self.ended, result: self.result, lost: self.paper.into_lost() }
    }
}
