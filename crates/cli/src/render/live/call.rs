//! One tool call on the page: a headline, what it prints, how it ended.

use std::collections::VecDeque;

use r1_event::payload::{ToolCallCompleted, ToolCallFailed};
use r1_protocol::data::{ChunkEncoding, SandboxLayer, Stream, ToolShellExited, ToolShellOutputChunk};
use r1_protocol::json;
use serde_json::Value;

use super::page::{Block, Page};
use crate::output::{BAD, BOLD, DIM, GOOD, NAME, NOTICE};
use crate::render::number::duration;
use crate::render::text::{count, one_line};

/// How many of a call's last lines are shown when there were too many.
const TAIL: usize = 5;

/// Lines shown of what a call gave back, where it printed nothing itself.
const RESULT_LINES: usize = 8;

/// A call that was proposed.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) turn: u64,
    /// Tells calls of one turn apart; none if it is alone.
    pub(super) label: Option<char>,
    pub(super) allowed_by: Option<String>,
    kind: String,
    headed: bool,
    printed: usize,
    hidden: u64,
    tail: VecDeque<String>,
    /// The last lines of both streams, which may go on.
    open: [String; 2],
    exited: Option<ToolShellExited>,
    pub(super) sandbox: Option<SandboxLayer>,
}

impl Call {
    pub(super) fn new(tool: String, input: Value, turn: u64) -> Self {
        Self {
            tool,
            input,
            turn,
            label: None,
            allowed_by: None,
            kind: String::new(),
            headed: false,
            printed: 0,
            hidden: 0,
            tail: VecDeque::new(),
            open: [String::new(), String::new()],
            exited: None,
            sandbox: None,
        }
    }

    /// It was invoked. What takes a while is shown at once, the rest when there is something to show.
    pub(super) fn invoke(&mut self, kind: &str, page: &mut Page) {
        (self.kind, self.headed, self.printed, self.hidden) = (kind.into(), false, 0, 0);
        self.tail.clear();
        if !matches!(kind, "file_read" | "file_write" | "edit" | "multi_edit" | "glob" | "grep" | "todo_write") {
            self.head(page);
        }
    }

    /// One line of what it prints, or several where it is too long and must not be cut.
    pub(super) fn body(&mut self, line: &str, page: &mut Page) {
        self.head(page);
        page.begin(Block::Calls(self.turn));
        page.line(&format!("{} {line}", self.rail('│')));
    }

    /// Columns that the rail takes.
    pub(super) const fn taken(&self) -> usize {
        if self.label.is_some() { 3 } else { 2 }
    }

    /// A piece of output; lines beyond `max` are held back.
    pub(super) fn chunk(&mut self, chunk: &ToolShellOutputChunk, max: usize, page: &mut Page) {
        let stream = usize::from(chunk.stream == Stream::Stderr);
        if chunk.encoding == Some(ChunkEncoding::Base64) {
            self.output(&format!("(binary, {} as base64)", count(chunk.data.len() as u64, "character")), max, page);
            return;
        }
        let mut text = std::mem::take(&mut self.open[stream]);
        text.push_str(&chunk.data);
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.open[stream] = text.split_off(whole);
        for line in text.lines() {
            self.output(line, max, page);
        }
    }

    fn output(&mut self, line: &str, max: usize, page: &mut Page) {
        if self.printed < max {
            self.printed += 1;
            let line = page.fit(line, self.taken());
            self.body(&line, page);
            return;
        }
        self.tail.push_back(line.to_owned());
        if self.tail.len() > TAIL {
            self.tail.pop_front();
            self.hidden += 1;
        }
    }

    fn rest_of_output(&mut self, max: usize, page: &mut Page) {
        for stream in 0..self.open.len() {
            let rest = std::mem::take(&mut self.open[stream]);
            if !rest.is_empty() {
                self.output(&rest, max, page);
            }
        }
        if self.hidden > 0 {
            let more = count(self.hidden, "more line");
            self.body(&format!("{DIM}… {more}{DIM:#}"), page);
        }
        for line in std::mem::take(&mut self.tail) {
            let line = page.fit(&line, self.taken());
            self.body(&line, page);
        }
    }

    pub(super) fn exited(&mut self, exited: ToolShellExited, max: usize, page: &mut Page) {
        self.rest_of_output(max, page);
        self.exited = Some(exited);
    }

    pub(super) fn completed(&mut self, done: &ToolCallCompleted, page: &mut Page) {
        let printed_nothing = self.printed == 0 && !self.headed_with_body();
        if printed_nothing && matches!(self.kind.as_str(), "git" | "mcp" | "agent" | "external" | "builtin") {
            self.result(&json::from_raw(&done.result), page);
        }
        let said = match &self.exited {
            Some(_) => exit_words(self.exited.as_ref()),
            None => self.news(done.summary.as_deref().unwrap_or("done")),
        };
        let time = self.time(done.duration_ms);
        self.end(&format!("{GOOD}✓{GOOD:#} {} {time}", one_line(&said, 100)), page);
    }

    pub(super) fn failed(&mut self, failed: &ToolCallFailed, page: &mut Page) {
        let said = match (&self.exited, failed.error_type.as_str()) {
            (_, "timeout") => format!("stopped: {}", failed.error),
            (Some(_), "tool") => exit_words(self.exited.as_ref()),
            _ => failed.error.clone(),
        };
        let time = self.time(failed.duration_ms);
        let style = if failed.error_type == "tool" { NOTICE } else { BAD };
        self.end(&format!("{style}✗{style:#} {} {time}", one_line(&said, 160)), page);
    }

    /// It never ran.
    pub(super) fn refused(&mut self, why: &str, page: &mut Page) {
        self.end(&format!("{BAD}✗{BAD:#} {}", one_line(why, 160)), page);
    }

    /// What a summary says beyond the headline.
    fn news(&self, summary: &str) -> String {
        let about = headline(&self.input).unwrap_or_default();
        let rest = summary.strip_prefix(&format!("{} ", self.tool)).unwrap_or(summary);
        match rest.strip_prefix(&about) {
            Some(news) if !news.is_empty() && !about.is_empty() => news.trim_start_matches([':', ' ']).to_owned(),
            _ => summary.to_owned(),
        }
    }

    fn result(&mut self, result: &Value, page: &mut Page) {
        let Some(text) = result.as_str() else { return };
        let lines: Vec<_> = text.lines().collect();
        for line in lines.iter().take(RESULT_LINES) {
            let line = page.fit(line, self.taken());
            self.body(&line, page);
        }
        if lines.len() > RESULT_LINES {
            let more = count((lines.len() - RESULT_LINES) as u64, "more line");
            self.body(&format!("{DIM}… {more}{DIM:#}"), page);
        }
    }

    /// How long it took, and what kept it in its place.
    fn time(&self, duration_ms: i64) -> String {
        let took = duration(u64::try_from(duration_ms).unwrap_or(0));
        match &self.sandbox {
            None => format!("{DIM}· {took}{DIM:#}"),
            Some(SandboxLayer::None) => format!("{DIM}· {took} ·{DIM:#} {NOTICE}no sandbox{NOTICE:#}"),
            Some(layer) => format!("{DIM}· {took} · {layer}{DIM:#}"),
        }
    }

    const fn headed_with_body(&self) -> bool {
        self.headed && self.hidden > 0
    }

    fn head(&mut self, page: &mut Page) {
        if self.headed {
            return;
        }
        self.headed = true;
        page.begin(Block::Calls(self.turn));
        let mut lines =
            headline(&self.input).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
        let name = &self.tool;
        let room = self.taken() + name.chars().count() + 2;
        let mut first = page.fold(&lines.next().unwrap_or_default(), room).into_iter();
        let begin = first.next().unwrap_or_default();
        let why = self.allowed_by.as_ref().map(|why| format!("  {DIM}({why}){DIM:#}")).unwrap_or_default();
        let what = if begin.is_empty() { String::new() } else { format!("  {BOLD}{begin}{BOLD:#}") };
        page.line(&format!("{} {NAME}{name}{NAME:#}{what}{why}", self.rail('╭')));
        let further: Vec<_> = first.chain(lines.flat_map(|line| page.fold(&line, room))).collect();
        let indent = " ".repeat(name.chars().count() + 2);
        for line in further {
            page.line(&format!("{} {indent}{BOLD}{line}{BOLD:#}", self.rail('│')));
        }
    }

    /// The last line: below what was printed, or on one line with the headline.
    fn end(&mut self, said: &str, page: &mut Page) {
        page.begin(Block::Calls(self.turn));
        let short = headline(&self.input).unwrap_or_default();
        if self.headed || short.lines().count() > 1 {
            self.head(page);
            page.line(&format!("{} {said}", self.rail('╰')));
        } else {
            let (name, what) = (&self.tool, page.fit(&short, self.taken() + self.tool.len() + 40));
            page.line(&format!("{} {NAME}{name}{NAME:#}  {BOLD}{what}{BOLD:#}  {said}", self.rail('─')));
            self.headed = true;
        }
    }

    fn rail(&self, corner: char) -> String {
        match self.label {
            Some(label) => format!("{DIM}{corner}{DIM:#}{NAME}{label}{NAME:#}"),
            None => format!("{DIM}{corner}{DIM:#}"),
        }
    }
}

fn exit_words(exited: Option<&ToolShellExited>) -> String {
    match exited {
        Some(ToolShellExited { signal: Some(signal), .. }) => format!("killed by {signal}"),
        Some(exited) => format!("exit {}", exited.exit_code),
        None => String::new(),
    }
}

/// What a call is about: the exact command, path, pattern or address.
pub(super) fn headline(input: &Value) -> Option<String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let listed = |key: &str| {
        let items = input.get(key)?.as_array()?;
        Some(
            items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), Into::into))
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    if let Some(pattern) = text("pattern") {
        return Some(match text("path") {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern,
        });
    }
    let found = ["command", "path", "file_path", "url", "query"].into_iter().find_map(text);
    let found = found.or_else(|| ["argv", "args", "paths", "command"].into_iter().find_map(listed));
    found.or_else(|| match input {
        Value::Object(entries) if entries.is_empty() => None,
        // Long texts and lists are shown in other ways: as a diff, as a list of things to do.
        Value::Object(entries) => {
            let small = entries.iter().filter(|(_, value)| value.to_string().len() <= 120 && !value.is_array());
            let pairs: Vec<_> = small.map(|(key, value)| format!("{key}={value}")).collect();
            Some(pairs.join(" "))
        }
        other => Some(other.to_string()),
    })
}
