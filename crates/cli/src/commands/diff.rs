//! `r1 diff`: how two runs differ.

mod story;

use std::io::Write as _;

use r1_runtime::location::Purpose;
use r1_runtime::resolve;
use serde_json::{Value, json};

use self::story::{Step, Story};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NAME, print_json};
use crate::render::number::{duration, grouped, usd};
use crate::render::text::{count, one_line};

/// Compare two runs: where they part, and what each did
///
/// Times, ids and the pieces in which text came in do not count: what was said, called, answered and
/// changed does.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 they did the same, 1 they differ, 2 usage or I/O.

Examples:
  r1 diff 01K0E8 last
  r1 diff 01K0E8 last --json | jq .first_difference")]
pub(crate) struct Args {
    /// One run
    #[arg(value_name = "A")]
    a: String,
    /// The other
    #[arg(value_name = "B")]
    b: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Read).await?;
    let (a, b) = (resolve(&store, &args.a).await?, resolve(&store, &args.b).await?);
    let (a, b) = (Story::read(&store, &a).await?, Story::read(&store, &b).await?);
    let parted = parting(&a, &b);
    if args.json {
        print_json(&as_json(&a, &b, parted))?;
    } else {
        let mut out = output::stdout();
        out.write_all(text(&a, &b, parted).as_bytes())?;
        out.flush()?;
    }
    Ok(if parted.is_none() && a.status == b.status { Exit::Ok } else { Exit::Failed })
}

/// The first step that is not the same.
fn parting(a: &Story, b: &Story) -> Option<usize> {
    let same = a.steps.iter().zip(&b.steps).take_while(|(a, b)| a.is_like(b)).count();
    (same < a.steps.len().max(b.steps.len())).then_some(same)
}

fn text(a: &Story, b: &Story, parted: Option<usize>) -> String {
    let mut out = String::new();
    for (name, story) in [("A", a), ("B", b)] {
        let goal = one_line(&story.goal, 60);
        out.push_str(&format!("{BOLD}{name}{BOLD:#}  {}  {goal}\n", story.run));
    }
    match parted {
        None => out.push_str(&format!("\n{GOOD}they did the same{GOOD:#}, {}\n", count(a.steps.len() as u64, "step"))),
        Some(at) => {
            out.push_str(&match at {
                0 => format!("\n{BAD}they differ from the beginning{BAD:#}\n"),
                at => format!("\n{BAD}they part{BAD:#} after {} in common\n", count(at as u64, "step")),
            });
            for (name, story) in [("A", a), ("B", b)] {
                out.push_str(&format!("  {BOLD}{name}{BOLD:#}  {}\n", side(story.steps.get(at))));
            }
        }
    }
    out.push('\n');
    for (name, of_a, of_b) in table(a, b) {
        let mark = if of_a == of_b { " " } else { "≠" };
        out.push_str(format!("{BAD}{mark}{BAD:#} {DIM}{name:<11}{DIM:#} {of_a:<34}  {of_b}").trim_end());
        out.push('\n');
    }
    out
}

fn side(step: Option<&Step>) -> String {
    match step {
        None => format!("{DIM}nothing more{DIM:#}"),
        Some(Step { seq, kind, what }) => {
            format!("{DIM}event {seq}{DIM:#}  {NAME}{}{NAME:#}  {}", kind.as_str(), one_line(what, 110))
        }
    }
}

fn table(a: &Story, b: &Story) -> Vec<(&'static str, String, String)> {
    let row = |name, fact: fn(&Story) -> String| (name, one_line(&fact(a), 34), one_line(&fact(b), 60));
    vec![
        row("status", |story| story.status.clone()),
        row("model", |story| story.model.clone()),
        row("turns", |story| story.tally.turns.to_string()),
        row("tools", tools),
        row("files", |story| if story.files.is_empty() { "none".into() } else { join(&story.files) }),
        row("tokens in", |story| {
            grouped(story.tally.input_tokens + story.tally.cache_read_tokens + story.tally.cache_write_tokens)
        }),
        row("tokens out", |story| grouped(story.tally.output_tokens)),
        row("cost", |story| usd(story.tally.cost_micros_usd)),
        row("took", |story| duration(story.tally.duration_ms())),
        row("answer", |story| story.final_text.clone()),
    ]
}

fn tools(story: &Story) -> String {
    let counted: Vec<_> = story
        .tools
        .iter()
        .map(|(tool, times)| match times {
            1 => tool.clone(),
            times => format!("{tool} ×{times}"),
        })
        .collect();
    if counted.is_empty() { "none".into() } else { counted.join(", ") }
}

fn join(files: &std::collections::BTreeSet<String>) -> String {
    files.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn as_json(a: &Story, b: &Story, parted: Option<usize>) -> Value {
    let step = |step: Option<&Step>| {
        step.map(|Step { seq, kind, what }| json!({ "seq": seq, "kind": kind.as_str(), "what": what }))
    };
    let facts = |story: &Story| {
        json!({
            "run_id": story.run,
            "goal": story.goal,
            "status": story.status,
            "model": story.model,
            "turns": story.tally.turns,
            "tools": story.tools,
            "files": story.files,
            "input_tokens": story.tally.input_tokens,
            "output_tokens": story.tally.output_tokens,
            "cost_micros_usd": story.tally.cost_micros_usd,
            "duration_ms": story.tally.duration_ms(),
            "final_text": story.final_text,
        })
    };
    let first = parted.map(|at| json!({ "common_steps": at, "a": step(a.steps.get(at)), "b": step(b.steps.get(at)) }));
    json!({ "equal": parted.is_none() && a.status == b.status, "first_difference": first, "a": facts(a), "b": facts(b) })
}

#[cfg(test)]
mod tests {
    use r1_event::Payload;
    use r1_event::payload::{RunCompleted, RunStarted, ToolCallScheduled};
    use r1_protocol::data::{AssistantTextComplete, EventData as _, ToolEditApplied};

    use super::*;

    fn story(text: &str, path: &str) -> Story {
        let mut story = Story::new("run_1");
        let started = RunStarted { goal: "mend it".into(), model_id: "demo".into(), ..Default::default() };
        let call = ToolCallScheduled { call_id: "c1".into(), tool: "shell".into(), attempt: 1, ..Default::default() };
        let events = [
            Payload::RunStarted(Box::new(started)),
            AssistantTextComplete { text: "I look.".into(), ..Default::default() }.to_payload(),
            Payload::ToolCallScheduled(call),
            AssistantTextComplete { text: text.into(), ..Default::default() }.to_payload(),
            ToolEditApplied { path: Some(path.into()), ..Default::default() }.to_payload(),
            Payload::RunCompleted(RunCompleted { final_text: text.into(), ..Default::default() }),
        ];
        for (event, seq) in events.iter().zip(1..) {
            story.take(seq, r1_event::UnixNanos(i64::try_from(seq).unwrap() * 1_000_000_000), event);
        }
        story
    }

    #[test]
    fn two_runs_are_compared_step_by_step_and_side_by_side() {
        let (a, b) = (story("Mended.", "a.sh"), story("I gave up.", "b.sh"));
        let shown = anstream::adapter::strip_str(&text(&a, &b, parting(&a, &b))).to_string();
        insta::assert_snapshot!(shown);
        assert_eq!(parting(&a, &a), None);
        assert_eq!(as_json(&a, &b, parting(&a, &b))["first_difference"]["a"]["seq"], 4);
    }
}
