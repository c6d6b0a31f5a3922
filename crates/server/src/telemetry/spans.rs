//! From stored events to spans.

mod content;

use std::collections::HashMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use r1_event::payload::{AssistantMessageCompleted, RunStarted, ToolCallScheduled, TurnFailed, TurnStarted};
use r1_event::{Digest, Payload, RunId, UnixNanos};
use r1_protocol::data::{AssistantToolCallProposed, EventData as _, Object};
use r1_protocol::json::from_raw;
use serde_json::Value;

use super::attribute::attribute;
use super::trace::{Trace, span_id};

/// What the agent is called.
const AGENT: &str = "r1";

/// A stored event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<'a> {
    pub(super) hash: Digest,
    pub(super) at: UnixNanos,
    pub(super) payload: &'a Payload,
}

/// The spans of one run, as its events come: a fold.
#[derive(Clone, Debug)]
pub(super) struct RunSpans {
    trace: Trace,
    content: bool,
    run: Open,
    turn: Option<Open>,
    calls: HashMap<(String, u32), Open>,
    /// What the model asked for in its last turn, by call; kept only if content is told.
    proposed: HashMap<String, Object>,
}

/// A span that has not ended, and what it is about.
#[derive(Clone, Debug)]
struct Open {
    span: Span,
    about: About,
}

/// What metrics are told by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct About {
    /// chat, execute_tool, invoke_agent, …
    pub(super) operation: &'static str,
    pub(super) provider: String,
    pub(super) model: String,
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) span: Span,
    pub(super) about: About,
    /// Tokens that were read and written.
    pub(super) tokens: Option<(u64, u64)>,
    /// What went wrong.
    pub(super) error: Option<String>,
}

impl RunSpans {
    /// Begins with a run's first event.
    pub(super) fn new(run: &RunId, first: Event<'_>, started: &RunStarted, content: bool) -> Self {
        let trace = Trace::of(run, started);
        let kind = started.run_kind.as_deref().unwrap_or("agent_loop");
        let is_agent = kind == "agent_loop";
        let about = About {
            operation: if is_agent { "invoke_agent" } else { "invoke_workflow" },
            provider: provider(&started.provider_id),
            model: started.model_id.clone(),
        };
        let name = if is_agent { AGENT } else { kind };
        let mut attributes = about.attributes();
        attributes.push(attribute("gen_ai.conversation.id", conversation(run, started)));
        attributes.push(attribute("r1.run.id", run.as_str()));
        attributes.push(attribute("r1.run.kind", kind));
        if is_agent {
            attributes.push(attribute("gen_ai.agent.name", AGENT));
        }
        let texts = [("r1.task.id", &started.task_id), ("r1.run.prior_id", &started.prior_run_id)];
        attributes.extend(texts.iter().filter_map(|(key, text)| Some(attribute(key, text.as_deref()?))));
        let mut span = Span {
            trace_id: trace.id.to_vec(),
            parent_span_id: trace.parent.map(Into::into).unwrap_or_default(),
            name: format!("{} {name}", about.operation),
            kind: SpanKind::Internal as i32,
            attributes,
            ..begun(first)
        };
        if let Some(own) = trace.own {
            // Others name the run's span by the place that its log tells.
            span.span_id = own.into();
        }
        if content {
            content::asked(&mut span, &started.goal);
        }
        Self { trace, content, run: Open { span, about }, turn: None, calls: HashMap::new(), proposed: HashMap::new() }
    }

    /// Whether whoever began the trace wants to see it.
    pub(super) const fn sampled(&self) -> bool {
        self.trace.sampled
    }

    /// The spans that end with this event.
    pub(super) fn take(&mut self, event: Event<'_>) -> Vec<Ended> {
        match event.payload {
            Payload::TurnStarted(turn) => {
                self.proposed.clear();
                let open = self.turn(event, turn);
                self.turn.replace(open).map(|left| left.ends(event.at, Some("abandoned"))).into_iter().collect()
            }
            Payload::AssistantMessageCompleted(answer) => self.answered(event, answer).into_iter().collect(),
            Payload::TurnFailed(failed) => self.turn_failed(event, failed).into_iter().collect(),
            Payload::ToolCallScheduled(call) => {
                let key = (call.call_id.clone(), call.attempt);
                let open = self.call(event, call);
                self.calls.insert(key, open);
                Vec::new()
            }
            Payload::ToolCallCompleted(done) => {
                let call = self.calls.remove(&(done.call_id.clone(), done.attempt));
                let with_result = |mut call: Open| {
                    if self.content {
                        content::returned(&mut call.span, &done.result);
                    }
                    call.ends(event.at, None)
                };
                call.map(with_result).into_iter().collect()
            }
            Payload::ToolCallFailed(failed) => {
                let call = self.calls.remove(&(failed.call_id.clone(), failed.attempt));
                call.map(|call| call.ends(event.at, Some(&failed.error_type))).into_iter().collect()
            }
            Payload::RunResumed(_) => self.close(event.at, "abandoned"),
            Payload::BudgetExceeded(_) => {
                self.turn.take().map(|turn| turn.ends(event.at, Some("budget_exceeded"))).into_iter().collect()
            }
            Payload::RunCompleted(done) => {
                let mut ended = self.close(event.at, "abandoned");
                let mut run = self.run.clone();
                run.span.attributes.extend([
                    attribute("gen_ai.usage.input_tokens", done.total_input_tokens),
                    attribute("gen_ai.usage.output_tokens", done.total_output_tokens),
                    attribute("r1.turns", u64::from(done.turn_count)),
                    attribute("r1.tool_calls", u64::from(done.tool_call_count)),
                    attribute("r1.cost_micros_usd", done.total_cost_micros_usd.unwrap_or_default()),
                ]);
                if self.content {
                    content::said(&mut run.span, &done.final_text, &[], "stop");
                }
                ended.push(run.ends(event.at, None));
                ended
            }
            Payload::RunFailed(failed) => self.end(event.at, &failed.error_type),
            Payload::RunCancelled(_) => self.end(event.at, "cancelled"),
            Payload::RunStarted(_)
            | Payload::UserMessageAppended(_)
            | Payload::ReasoningEmitted(_)
            | Payload::SideEffectRecorded(_)
            | Payload::ContextTruncated(_)
            | Payload::Other(..) => Vec::new(),
            Payload::Typed(typed) => {
                if let Some(proposed) = AssistantToolCallProposed::read(typed).filter(|_| self.content) {
                    self.proposed.insert(proposed.tool_call_id, proposed.input);
                }
                Vec::new()
            }
        }
    }

    fn turn(&self, event: Event<'_>, turn: &TurnStarted) -> Open {
        let about = About {
            operation: "chat",
            provider: turn.provider.as_deref().map_or_else(|| self.run.about.provider.clone(), provider),
            model: turn.model.clone().unwrap_or_else(|| self.run.about.model.clone()),
        };
        let mut span = self.child(event, format!("chat {}", about.model), SpanKind::Client, &about);
        span.attributes.extend(turn.turn_index.map(|index| attribute("r1.turn.index", index)));
        Open { span, about }
    }

    fn answered(&mut self, event: Event<'_>, answer: &AssistantMessageCompleted) -> Option<Ended> {
        let mut turn = self.turn.take()?;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let (read, written) = (count(answer.cache_read_tokens), count(answer.cache_create_tokens));
        // The convention counts what came from a cache as input, the log counts it apart.
        let tokens = (count(answer.input_tokens) + read + written, count(answer.output_tokens));
        turn.span.attributes.extend([
            attribute("gen_ai.usage.input_tokens", tokens.0),
            attribute("gen_ai.usage.output_tokens", tokens.1),
            attribute("gen_ai.usage.cache_read.input_tokens", read),
            attribute("gen_ai.usage.cache_creation.input_tokens", written),
            attribute("gen_ai.response.finish_reasons", [answer.stop_reason.as_str()].as_slice()),
            attribute("r1.cost_micros_usd", answer.cost_micros_usd.unwrap_or_default()),
        ]);
        if !answer.provider_request_id.is_empty() {
            turn.span.attributes.push(attribute("gen_ai.response.id", answer.provider_request_id.as_str()));
        }
        if self.content {
            let calls = answer.tool_uses.as_deref().unwrap_or_default();
            content::said(&mut turn.span, &answer.text, calls, &answer.stop_reason);
        }
        let error = matches!(answer.stop_reason.as_str(), "error" | "cancelled").then_some(answer.stop_reason.as_str());
        Some(Ended { tokens: Some(tokens), ..turn.ends(event.at, error) })
    }

    fn turn_failed(&mut self, event: Event<'_>, failed: &TurnFailed) -> Option<Ended> {
        let code = failed.code.as_deref().unwrap_or("model_error");
        if failed.will_retry == Some(true) {
            let turn = self.turn.as_mut()?;
            turn.span.events.push(SpanEvent {
                time_unix_nano: nanos(event.at),
                name: "attempt failed".into(),
                attributes: vec![attribute("error.type", code)],
                ..SpanEvent::default()
            });
            return None;
        }
        Some(self.turn.take()?.ends(event.at, Some(code)))
    }

    fn call(&self, event: Event<'_>, call: &ToolCallScheduled) -> Open {
        let about = About { operation: "execute_tool", ..self.run.about.clone() };
        let mut span = self.child(event, format!("execute_tool {}", call.tool), SpanKind::Internal, &about);
        let tool_type = if call.mcp_server.is_some() { "extension" } else { "function" };
        span.attributes.extend([
            attribute("gen_ai.tool.name", call.tool.as_str()),
            attribute("gen_ai.tool.call.id", call.call_id.as_str()),
            attribute("gen_ai.tool.type", tool_type),
            attribute("r1.tool.attempt", u64::from(call.attempt)),
        ]);
        span.attributes.extend(call.kind.as_deref().map(|kind| attribute("r1.tool.kind", kind)));
        if self.content {
            // The log says what was proposed once, and again only if something else runs.
            let proposed = self.proposed.get(&call.call_id).cloned().map(Value::Object);
            let input = Some(from_raw(&call.args)).filter(|input| !input.is_null()).or(proposed);
            content::given(&mut span, &input.unwrap_or_default());
        }
        Open { span, about }
    }

    fn child(&self, event: Event<'_>, name: String, kind: SpanKind, about: &About) -> Span {
        Span {
            trace_id: self.trace.id.to_vec(),
            parent_span_id: self.run.span.span_id.clone(),
            name,
            kind: kind as i32,
            attributes: about.attributes(),
            ..begun(event)
        }
    }

    /// Ends what is open inside of the run.
    fn close(&mut self, at: UnixNanos, why: &str) -> Vec<Ended> {
        let mut calls: Vec<_> = self.calls.drain().collect();
        calls.sort_by(|(one, _), (other, _)| one.cmp(other));
        let open = self.turn.take().into_iter().chain(calls.into_iter().map(|(_, call)| call));
        open.map(|open| open.ends(at, Some(why))).collect()
    }

    fn end(&mut self, at: UnixNanos, why: &str) -> Vec<Ended> {
        let mut ended = self.close(at, why);
        ended.push(self.run.clone().ends(at, Some(why)));
        ended
    }
}

impl About {
    fn attributes(&self) -> Vec<KeyValue> {
        let Self { operation, provider, model } = self;
        vec![
            attribute("gen_ai.operation.name", *operation),
            attribute("gen_ai.provider.name", provider.as_str()),
            attribute("gen_ai.request.model", model.as_str()),
        ]
    }
}

impl Open {
    fn ends(self, at: UnixNanos, error: Option<&str>) -> Ended {
        let Self { mut span, about } = self;
        span.end_time_unix_nano = nanos(at);
        if let Some(error) = error {
            span.attributes.push(attribute("error.type", error));
            span.status = Some(Status { message: error.into(), code: StatusCode::Error as i32 });
        }
        Ended { span, about, tokens: None, error: error.map(Into::into) }
    }
}

fn begun(event: Event<'_>) -> Span {
    Span { span_id: span_id(event.hash).to_vec(), start_time_unix_nano: nanos(event.at), ..Span::default() }
}

fn nanos(at: UnixNanos) -> u64 {
    u64::try_from(at.0).unwrap_or(0)
}

/// A provider by the name that the conventions have for it.
fn provider(id: &str) -> String {
    match id {
        "gemini" => "gcp.gemini",
        other => other,
    }
    .into()
}

fn conversation(run: &RunId, started: &RunStarted) -> String {
    r1_protocol::id::session_id(started.session_id.as_deref().unwrap_or(run.as_str())).unwrap_or_default()
}

#[cfg(test)]
mod tests;
