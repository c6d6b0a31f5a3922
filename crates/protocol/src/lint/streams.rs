//! L8: output is contiguous, and what was spent never falls.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Event, Report, Rule};

#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Bytes so far, by call and stream.
    sizes: HashMap<(String, String), u64>,
    spent: HashMap<&'static str, u64>,
}

const SPENT: [&str; 3] = ["cumulative_input_tokens", "cumulative_output_tokens", "cumulative_cost_micros_usd"];

impl Streams {
    pub(super) fn observe(&mut self, event: &Event<'_>, report: &mut Report) {
        match event.type_name {
            "tool.invoked" => {
                let call = event.text("tool_call_id").unwrap_or_default();
                self.sizes.retain(|(id, _), _| id != call);
            }
            "tool.shell.output_chunk" | "process.output" => self.chunk(event, report),
            "tool.shell.exited" => self.exit(event, report),
            "cost.tick" | "cost.budget_warning" | "cost.budget_exceeded" => self.spend(event, report),
            _ => {}
        }
    }

    fn chunk(&mut self, event: &Event<'_>, report: &mut Report) {
        let (Some(stream), Some(data), Some(offset)) =
            (event.text("stream"), event.text("data"), event.number("byte_offset"))
        else {
            return;
        };
        let len = match event.text("encoding") {
            None => Some(data.len()),
            Some("base64") => STANDARD.decode(data).ok().map(|bytes| bytes.len()),
            Some(_) => None,
        };
        let Some(len) = len else {
            report.add(Rule::L8, event, "the chunk cannot be decoded");
            return;
        };
        let call = event.text("tool_call_id").unwrap_or_default();
        let size = self.sizes.entry((call.into(), stream.into())).or_default();
        if offset != *size {
            report.add_missing(Rule::L8, event, format!("{stream} goes on at byte {size}, not {offset}"));
        }
        if len == 0 {
            report.add(Rule::L8, event, "the chunk is empty");
        }
        *size = offset + len as u64;
    }

    fn exit(&mut self, event: &Event<'_>, report: &mut Report) {
        let call = event.text("tool_call_id").unwrap_or_default();
        let truncated = event.flag("truncated") == Some(true);
        for (stream, key) in [("stdout", "stdout_bytes"), ("stderr", "stderr_bytes")] {
            let told = self.sizes.remove(&(call.into(), stream.into())).unwrap_or(0);
            let Some(total) = event.number(key) else { continue };
            if total < told || (total > told && !truncated) {
                report.add_missing(Rule::L8, event, format!("`{key}` is {total}, but the chunks have {told}"));
            }
        }
    }

    fn spend(&mut self, event: &Event<'_>, report: &mut Report) {
        for key in SPENT {
            let Some(now) = event.number(key) else { continue };
            let before = self.spent.insert(key, now).unwrap_or(0);
            if now < before {
                report.add(Rule::L8, event, format!("`{key}` fell from {before} to {now}"));
            }
        }
    }
}
