//! L3 and L4: turns, and what stands inside of them.

use std::collections::HashMap;

use super::{Event, Report, Rule, Writer};

#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Option<Turn>,
    /// The index that the next turn has.
    next_index: Option<u64>,
    /// The turn that a seam cut off: it starts again under another id.
    cut: Option<(Option<u64>, Option<String>)>,
    /// Whether a completed turn still lacks its `cost.tick`.
    owes_tick: bool,
}

#[derive(Debug)]
struct Turn {
    index: Option<u64>,
    id: Option<String>,
    /// Whether its last attempt failed for good, so that it may end either way.
    failed: bool,
    content: Content,
}

/// What the current attempt has said.
#[derive(Debug, Default)]
struct Content {
    blocks: HashMap<u64, Block>,
    proposals: u64,
    answered: bool,
}

#[derive(Debug, Default)]
struct Block {
    text: String,
    redacted: bool,
    complete: bool,
}

impl Turns {
    pub(super) fn observe(&mut self, event: &Event<'_>, report: &mut Report) {
        match event.type_name {
            "turn.started" => self.start(event, report),
            "turn.failed" => self.fail(event, report),
            "turn.completed" => self.complete(event, report),
            "cost.tick" => self.owes_tick = false,
            "cost.budget_exceeded" | "run.failed" | "run.cancelled" => {
                self.close();
                self.owes_tick = false;
            }
            "run.resumed" => {
                if let Some(turn) = self.open.take().filter(|turn| !turn.failed) {
                    self.cut = Some((turn.index, turn.id));
                }
                self.owes_tick = false;
            }
            "run.finished" => {
                if self.close().is_some_and(|turn| !turn.failed) {
                    report.add(Rule::L3, event, "the run finished inside of a turn");
                }
                self.expect_tick(event, report);
            }
            "tool.invoked" | "tool.started" => {
                if self.open.as_ref().is_some_and(|turn| !turn.failed) {
                    report.add(Rule::L4, event, format!("`{}` inside of a turn", event.type_name));
                }
                self.expect_tick(event, report);
            }
            name if name.starts_with("assistant.") => self.say(event, report),
            _ => {}
        }
    }

    fn start(&mut self, event: &Event<'_>, report: &mut Report) {
        self.expect_tick(event, report);
        if self.close().is_some_and(|turn| !turn.failed) {
            report.add(Rule::L3, event, "a turn started inside of another");
        }
        let (index, id) = (event.number("turn_index"), event.text("turn_id").map(String::from));
        match self.cut.take() {
            Some((cut_index, cut_id)) => {
                if index != cut_index {
                    report.add(Rule::L3, event, "the turn that the seam cut off did not start again under its index");
                }
                if id.is_some() && id == cut_id {
                    report.add(Rule::L3, event, "the turn that the seam cut off started again under its old id");
                }
            }
            None if self.next_index.is_some() && index.is_some() && index != self.next_index => {
                report.add_missing(Rule::L3, event, "the turn does not have the next index");
            }
            None => {}
        }
        self.next_index = index;
        self.open = Some(Turn { index, id, failed: false, content: Content::default() });
    }

    fn fail(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(turn) = &mut self.open else {
            report.add_missing(Rule::L3, event, "`turn.failed` outside of a turn");
            return;
        };
        turn.check_identity(event, report);
        turn.failed = event.flag("will_retry") != Some(true);
        turn.content = Content::default();
    }

    fn complete(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(turn) = self.close() else {
            report.add_missing(Rule::L3, event, "`turn.completed` outside of a turn");
            return;
        };
        turn.check_identity(event, report);
        self.owes_tick = report.writer == Writer::R1;
        let asked_for_tools = event.text("stop_reason") == Some("tool_use");
        if asked_for_tools && report.sees_all && event.number("tool_calls") != Some(turn.content.proposals) {
            let message = format!("`tool_calls` is not the number of proposals, {}", turn.content.proposals);
            report.add(Rule::L4, event, message);
        }
    }

    /// Closes the open turn and counts it.
    fn close(&mut self) -> Option<Turn> {
        let turn = self.open.take()?;
        self.next_index = turn.index.map(|index| index + 1);
        Some(turn)
    }

    fn expect_tick(&mut self, event: &Event<'_>, report: &mut Report) {
        if std::mem::take(&mut self.owes_tick) {
            report.add_missing(Rule::L4, event, "no `cost.tick` after `turn.completed`");
        }
    }

    fn say(&mut self, event: &Event<'_>, report: &mut Report) {
        let Some(turn) = &mut self.open else {
            report.add_missing(Rule::L4, event, format!("`{}` outside of a turn", event.type_name));
            return;
        };
        turn.check_identity(event, report);
        turn.content.say(event, report);
    }
}

impl Turn {
    fn check_identity(&self, event: &Event<'_>, report: &mut Report) {
        let other_index = self.index.zip(event.number("turn_index")).is_some_and(|(open, named)| open != named);
        let other_id = self.id.as_deref().zip(event.text("turn_id")).is_some_and(|(open, named)| open != named);
        if other_index || other_id {
            report.add(Rule::L3, event, format!("`{}` names a turn that is not the open one", event.type_name));
        }
    }
}

impl Content {
    fn say(&mut self, event: &Event<'_>, report: &mut Report) {
        if self.answered {
            report.add(Rule::L4, event, format!("`{}` after the final answer", event.type_name));
        }
        match event.type_name {
            "assistant.text_delta" => {
                let early = self.proposals == 0;
                let block = self.block(event);
                if block.complete || !early {
                    report.add(Rule::L4, event, "a delta after its block was whole or a call was proposed");
                }
                block.text.push_str(event.text("delta").unwrap_or_default());
                block.redacted |= event.data.contains_key("redacted_paths");
            }
            "assistant.text_complete" => {
                let early = self.proposals == 0;
                let block = self.block(event);
                if block.complete || !early {
                    report.add(Rule::L4, event, "a block was whole twice, or only after a call was proposed");
                }
                block.complete = true;
                let differs = !block.text.is_empty() && event.text("text").is_some_and(|text| text != block.text);
                if differs && !block.redacted && !event.data.contains_key("redacted_paths") {
                    report.add_missing(Rule::L4, event, "the block is not what its deltas say");
                }
            }
            "assistant.tool_call_proposed" => self.proposals += 1,
            "assistant.final_answer" => {
                self.answered = true;
                if self.proposals > 0 {
                    report.add(Rule::L4, event, "a final answer beside proposed calls");
                }
            }
            _ => {}
        }
    }

    fn block(&mut self, event: &Event<'_>) -> &mut Block {
        self.blocks.entry(event.number("block_index").unwrap_or(0)).or_default()
    }
}
