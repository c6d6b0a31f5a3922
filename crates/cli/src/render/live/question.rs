//! What a person is asked, and what was answered.

use r1_protocol::data::{ApprovalKind, ApprovalRequested, ApprovalResolved, Approver, Decision, Scope};
use serde_json::Value;

use super::call::headline;
use super::page::{Block, Page};
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE};
use crate::render::text::one_line;

/// Shows exactly what would happen: nothing is abbreviated.
pub(super) fn asked(request: &ApprovalRequested, diffs: &[(String, Vec<String>)], page: &mut Page) {
    page.begin(Block::Question(request.approval_id.clone()));
    let kind = request.tool_name.as_deref().unwrap_or(request.kind.as_str());
    let only = if request.approver == Some(Approver::Human) { ", by a person" } else { "" };
    page.line(&format!("{NOTICE}?{NOTICE:#} {BOLD}{}{BOLD:#}  {DIM}needs approval{only}{DIM:#}", one_line(kind, 60)));
    let body = |text: &str, page: &mut Page| page.line(&format!("{NOTICE}┃{NOTICE:#} {text}"));
    let input = request.input.clone().map_or(Value::Null, Value::Object);
    match (&request.argv, diffs.is_empty()) {
        _ if request.kind == ApprovalKind::Gate => {
            page.fold(&request.summary, 2).iter().for_each(|line| body(&format!("{BOLD}{line}{BOLD:#}"), page));
        }
        (Some(argv), _) => {
            for (line, at) in page.fold(&command_line(argv), 4).into_iter().zip(0..) {
                let mark = if at == 0 { "$" } else { " " };
                body(&format!("{BOLD}{mark} {line}{BOLD:#}"), page);
            }
        }
        (None, false) => {}
        (None, true) => {
            // What a server is sent must be seen whole, not only where it goes.
            let what = match &request.input {
                Some(entries) if entries.len() > 1 => serde_json::to_string_pretty(&input).unwrap_or_default(),
                _ => headline(&input).unwrap_or_else(|| request.summary.clone()),
            };
            page.fold(&what, 2).iter().for_each(|line| body(&format!("{BOLD}{line}{BOLD:#}"), page));
        }
    }
    for (artifact, lines) in diffs {
        if lines.is_empty() {
            body(&format!("{DIM}(the patch {artifact} cannot be read){DIM:#}"), page);
        }
        lines.iter().for_each(|line| body(line, page));
    }
    if let Some(cwd) = request.cwd.as_ref().filter(|cwd| !cwd.is_empty()) {
        body(&format!("{DIM}in {}{DIM:#}", page.fit(cwd, 5)), page);
    }
    if !request.policy_reason.is_empty() {
        body(&format!("{DIM}asked because {}{DIM:#}", page.fit(&request.policy_reason, 16)), page);
    }
}

/// How it was answered.
pub(super) fn answered(answer: &ApprovalResolved, page: &mut Page) {
    let block = Block::Question(answer.approval_id.clone());
    page.begin(block);
    let who = match &answer.actor {
        Some(actor) => one_line(actor.id.as_deref().unwrap_or(answer.by.as_str()), 60),
        None => answer.by.to_string(),
    };
    let comment =
        if answer.comment.is_empty() { String::new() } else { format!(": {}", one_line(&answer.comment, 200)) };
    let line = match &answer.decision {
        Decision::Approved => {
            let scope = if answer.scope == Some(Scope::Session) { ", and again until the session ends" } else { "" };
            let edited = if answer.edited == Some(true) { ", with another input" } else { "" };
            format!("{GOOD}✓{GOOD:#} approved by {NAME}{who}{NAME:#}{edited}{scope}{comment}")
        }
        Decision::Rejected => format!("{BAD}✗{BAD:#} rejected by {NAME}{who}{NAME:#}{comment}"),
        Decision::Cancelled => format!("{DIM}✗ withdrawn{comment}{DIM:#}"),
        Decision::Other(word) => format!("{} by {who}{comment}", one_line(word, 40)),
    };
    page.line(&line);
}

/// A command as one would type it.
fn command_line(argv: &[String]) -> String {
    match argv {
        // What a shell is given reads better without the shell.
        [shell, flag, command] if shell.ends_with("sh") && flag == "-c" => command.clone(),
        argv => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
