//! What a receipt tells of its run: what ran, what was read, written, allowed, refused and made.

use r1_receipt::Receipt;
use r1_receipt::file::Parts;
use r1_receipt::json::{Object, Value};
use serde_json::Value as Json;

use crate::render::number::usd;
use crate::render::text::{count, one_line};

/// How many names are told of each kind.
const TOLD: usize = 6;

/// Tools whose names say what they do: R1's own, and those of agents that it records.
const READING: &[&str] = &["file_read", "glob", "grep", "git_read", "Read", "Glob", "Grep", "LS"];
const WRITING: &[&str] =
    &["edit", "multi_edit", "file_write", "apply_patch", "Edit", "MultiEdit", "Write", "NotebookEdit"];
const RUNNING: &[&str] = &["shell", "git", "Bash"];
const FETCHING: &[&str] = &["web_fetch", "web_search", "http", "WebFetch", "WebSearch"];

/// Where the arguments of such tools have what they are about.
const SUBJECTS: &[&str] = &["path", "file_path", "argv", "command", "url", "query", "pattern"];

/// The rows: a name, and what stands there. What did not happen has no row, but for refusals.
pub(crate) fn rows(receipt: &Receipt<'_>) -> Vec<(&'static str, String)> {
    let mut story = Story::default();
    let mut nodes: Vec<&Parts<'_>> = receipt.events.iter().filter_map(|event| event.parts.as_ref()).collect();
    // The order of a receipt is one of hashes; what ran is told in that of the log.
    nodes.sort_by_key(|parts| parts.body().int("seq").unwrap_or(0));
    for parts in nodes {
        match parts.stub() {
            None => story.take(&parts.type_name, &parts.body()),
            Some(_) => story.miss(&parts.type_name),
        }
    }
    story.rows()
}

#[derive(Default)]
struct Story {
    models: Tally,
    turns: u64,
    calls: u64,
    cost_micros: u64,
    read: Tally,
    written: Tally,
    ran: Tally,
    fetched: Tally,
    called: Tally,
    allowed: Tally,
    refused: Tally,
    remembered: Tally,
    produced: Tally,
    hidden: Hidden,
}

/// How many events of a kind there are that do not say what they were.
#[derive(Default)]
struct Hidden {
    turns: u64,
    calls: u64,
    memory: u64,
    artifacts: u64,
}

impl Story {
    fn take(&mut self, type_name: &str, body: &Object<'_>) {
        match type_name {
            "THOUGHT" => {
                self.turns += 1;
                self.models.add(body.text("model").unwrap_or_default());
                let cost = body.int("cost_micros_usd").and_then(|cost| u64::try_from(cost).ok()).unwrap_or(0);
                self.cost_micros = self.cost_micros.saturating_add(cost);
            }
            "TOOL_CALL" => self.call(body),
            "MEMORY_WRITE" => self.remembered.add(body.text("key").unwrap_or_default()),
            "ARTIFACT" => match body.text("kind") {
                None | Some("run_log") => {}
                Some("child_run") => self.produced.add(&format!("run {}", body.text("run_id").unwrap_or_default())),
                Some(kind) => self.produced.add(&match body.text("path") {
                    Some(path) => format!("{} of {path}", words(kind)),
                    None => words(kind),
                }),
            },
            _ => {}
        }
    }

    fn miss(&mut self, type_name: &str) {
        match type_name {
            "THOUGHT" => self.hidden.turns += 1,
            "TOOL_CALL" => self.hidden.calls += 1,
            "MEMORY_READ" | "MEMORY_WRITE" => self.hidden.memory += 1,
            "ARTIFACT" => self.hidden.artifacts += 1,
            _ => {}
        }
    }

    fn call(&mut self, body: &Object<'_>) {
        let Some(tool) = body.text("tool") else { return };
        self.calls += 1;
        let subject = subject(body.text("args").unwrap_or_default());
        let approval = body.get("approval").and_then(Value::as_object);
        if body.text("status") == Some("denied") {
            let by = approval.map(|given| format!(" by {}", decider(given))).unwrap_or_default();
            self.refused.add(&format!("{tool} {}{by}", subject.unwrap_or_default()));
            return;
        }
        if let Some(given) = approval {
            self.allowed.add(&format!("{tool} by {}", decider(given)));
        }
        let (kind, name) = match subject {
            Some(subject) if READING.contains(&tool) => (&mut self.read, subject),
            Some(subject) if WRITING.contains(&tool) => (&mut self.written, subject),
            Some(subject) if RUNNING.contains(&tool) => (&mut self.ran, subject),
            Some(subject) if FETCHING.contains(&tool) => (&mut self.fetched, subject),
            Some(_) | None => (&mut self.called, tool.to_owned()),
        };
        let name = match body.text("status") {
            Some("ok") | None => name,
            Some("error") => format!("{name} (failed)"),
            Some(status) => format!("{name} ({status})"),
        };
        kind.add(&name);
    }

    fn rows(self) -> Vec<(&'static str, String)> {
        let Hidden { turns, calls, memory, artifacts } = self.hidden;
        let mut ran = vec![counted(self.turns, turns, "turn"), counted(self.calls, calls, "tool call")];
        let unseen = not_shown(calls, "call", "calls");
        let unseen = unseen.map(|calls| calls + ": whether anything was refused there cannot be told");
        if self.cost_micros > 0 {
            ran.push(usd(self.cost_micros));
        }
        if !self.models.is_empty() {
            ran.insert(0, self.models.sorted().names().join(" and "));
        }
        let mut rows = vec![("model", ran.join(", "))];
        let kinds = [
            ("read", self.read.sorted(), None),
            ("wrote", self.written.sorted(), None),
            ("ran", self.ran, None),
            ("fetched", self.fetched.sorted(), None),
            ("called", self.called.sorted(), None),
            ("memory", self.remembered.sorted(), not_shown(memory, "read or write", "reads and writes")),
            ("allowed", self.allowed.sorted(), None),
            ("refused", self.refused.sorted(), unseen),
            ("made", self.produced.sorted(), not_shown(artifacts, "artifact", "artifacts")),
        ];
        rows.extend(kinds.into_iter().filter_map(|(name, tally, more)| {
            let told = (!tally.is_empty()).then(|| tally.told());
            let told: Vec<String> = told.into_iter().chain(more).collect();
            match (told.is_empty(), name) {
                (false, _) => Some((name, told.join(", "))),
                (true, "refused") => Some((name, "nothing".into())),
                (true, _) => None,
            }
        }));
        rows
    }
}

/// `5 tool calls (2 not shown)`.
fn counted(shown: u64, hidden: u64, name: &str) -> String {
    let all = count(shown + hidden, name);
    if hidden == 0 { all } else { format!("{all} ({hidden} not shown)") }
}

fn not_shown(hidden: u64, one: &str, many: &str) -> Option<String> {
    match hidden {
        0 => None,
        1 => Some(format!("1 {one} not shown")),
        more => Some(format!("{more} {many} not shown")),
    }
}

/// Who decided: a rule by its name, or a person.
fn decider(approval: &Object<'_>) -> String {
    match (approval.text("by"), approval.text("rule")) {
        (Some("rule"), Some(rule)) => format!("rule {rule}"),
        (Some(by), _) => by.to_owned(),
        (None, _) => "somebody".to_owned(),
    }
}

/// What a call is about, if its arguments say so in a way that is known.
fn subject(args: &str) -> Option<String> {
    let args: Json = serde_json::from_str(args).ok()?;
    let text = match SUBJECTS.iter().find_map(|key| args.get(key))? {
        Json::String(text) => text.clone(),
        Json::Array(words) => words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" "),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => return None,
    };
    Some(one_line(&text, 60))
}

fn words(kind: &str) -> String {
    kind.replace('_', " ")
}

/// Names in the order in which they came, and how often each did.
#[derive(Default)]
struct Tally(Vec<(String, u64)>);

impl Tally {
    fn add(&mut self, name: &str) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, times)) => *times += 1,
            None => self.0.push((name.to_owned(), 1)),
        }
    }

    /// In their own order, where it does not matter which came first: calls of one turn end in any order.
    fn sorted(mut self) -> Self {
        self.0.sort();
        self
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// `a, b (2 times), and 3 others`.
    fn told(&self) -> String {
        let one = |(name, times): &(String, u64)| match times {
            1 => name.clone(),
            more => format!("{name} ({more} times)"),
        };
        let mut told: Vec<String> = self.0.iter().take(TOLD).map(one).collect();
        if self.0.len() > TOLD {
            told.push(format!("and {}", count((self.0.len() - TOLD) as u64, "other")));
        }
        told.join(", ")
    }
}
