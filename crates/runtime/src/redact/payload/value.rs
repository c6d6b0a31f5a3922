//! Texts inside CBOR values, which names and neighbours tell something about.

use r1_event::cbor::scan::item_end;
use r1_event::cbor::{Rules, Value};
use r1_event::payload::Raw;

use super::super::Redactor;
use super::super::assignment::MARKER_START;
use super::super::engine::{Detector, Which};
use super::super::name;
use super::super::plausible::{Form, is_plausible};

/// Whose names the keys of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Anyone's: `{"password": "…"}` tells something.
    Foreign,
    /// R1's own: references stay as they are, and no name is a secret's.
    Own,
    /// R1's own of an event whose content under this name was redacted before it was hashed.
    Clean(&'static str),
    /// Those of an event that holds a piece of a stream under this name.
    Piece(&'static str),
}

impl Names {
    /// Of the keys of an event of this type.
    pub(super) fn of_type(event_type: &str) -> Self {
        match event_type {
            "tool.shell.output_chunk" | "process.output" => Self::Piece("data"),
            "memory.read" | "memory.write" => Self::Clean("value"),
            "assistant.text_delta" | "assistant.thinking_delta" => Self::Piece("delta"),
            _ if event_type.starts_with("external.") || event_type.starts_with("agent.") => Self::Foreign,
            _ => Self::Own,
        }
    }
}

/// Whether R1 has names, hashes, times or words of a closed set under this key of its own.
pub(super) fn is_reference(key: &str) -> bool {
    const WORDS: [&str; 26] = [
        "by",
        "code",
        "decision",
        "digest",
        "encoding",
        "fingerprint",
        "kind",
        "lease_until",
        "limit",
        "mime",
        "model",
        "outcome",
        "prior_fingerprint",
        "provider",
        "redacted_paths",
        "result_revision",
        "root",
        "scope",
        "sha256",
        "signal",
        "status",
        "stream",
        "tool",
        "tool_name",
        "mcp_server",
        "mcp_tool",
    ];
    const ENDS: [&str; 6] = ["_id", "_ids", "_hash", "_digest", "_at", "_type"];
    WORDS.contains(&key) || ENDS.iter().any(|end| key.ends_with(end))
}

/// The value without secrets, if it has one; the places go to `paths`, below `pointer`.
pub(super) fn redact(
    redactor: &Redactor,
    raw: &Raw,
    pointer: &str,
    names: Names,
    paths: &mut Vec<String>,
) -> Option<Value> {
    // Payloads hold canonical CBOR; what is none is left to those who refuse it.
    let is_found = Finder { redactor, rest: raw.bytes() }.item(Place::root(names)).unwrap_or(false);
    if !is_found {
        return None;
    }
    let mut value = raw.value().ok()?;
    Replacer { redactor, paths }.item(&mut value, pointer, Place::root(names));
    Some(value)
}

/// What stands around a text.
#[derive(Clone, Copy)]
struct Place<'a> {
    names: Names,
    /// The key that it stands under.
    key: Option<&'a str>,
    /// The text before it in its array.
    previous: Option<&'a str>,
}

impl<'a> Place<'a> {
    const fn root(names: Names) -> Self {
        Self { names, key: None, previous: None }
    }

    /// The place of what stands under `key`; `None` if that is not looked at.
    fn under(self, key: Option<&'a str>) -> Option<Self> {
        let here = Self { key, previous: None, names: Names::Foreign };
        match (self.names, key) {
            (Names::Foreign, _) | (Names::Own | Names::Clean(_) | Names::Piece(_), None) => Some(here),
            (Names::Own | Names::Clean(_) | Names::Piece(_), Some(key)) if is_reference(key) => None,
            (Names::Clean(clean), Some(key)) if clean == key => None,
            (Names::Piece(piece), Some(key)) if piece == key => Some(Self { names: self.names, ..here }),
            (Names::Own | Names::Clean(_) | Names::Piece(_), Some(_)) => Some(Self { key: None, ..here }),
        }
    }

    const fn after(self, previous: Option<&'a str>) -> Self {
        Self { previous, ..self }
    }

    fn which(self) -> Which {
        match self.names {
            Names::Piece(_) => Which::ContextFree,
            Names::Foreign | Names::Own | Names::Clean(_) => Which::All,
        }
    }

    /// Whether the names around `text` make it a secret.
    fn gives_away(self, text: &str) -> bool {
        let named = |name: Option<&str>, form| {
            name.and_then(|name| name::strength(name.as_bytes()))
                .is_some_and(|strength| is_plausible(text.as_bytes(), strength, form))
        };
        let flag = self.previous.filter(|flag| flag.starts_with('-') && !flag.contains('='));
        named(self.key, Form::Quoted) || (flag.is_some() && !text.starts_with('-') && named(flag, Form::Setting))
    }
}

/// Replaces what was found in a tree.
struct Replacer<'a> {
    redactor: &'a Redactor,
    paths: &'a mut Vec<String>,
}

impl Replacer<'_> {
    fn item(&mut self, value: &mut Value, pointer: &str, place: Place<'_>) {
        match value {
            Value::Text(text) => {
                if let Some(redacted) = self.text(text, place) {
                    *text = redacted;
                    self.paths.push(pointer.to_owned());
                }
            }
            Value::Array(items) => {
                let originals: Vec<_> = items.iter().map(|item| item.as_text().map(str::to_owned)).collect();
                for (at, item) in items.iter_mut().enumerate() {
                    let previous = at.checked_sub(1).and_then(|before| originals[before].as_deref());
                    self.item(item, &format!("{pointer}/{at}"), place.after(previous));
                }
            }
            Value::Map(entries) => entries.iter_mut().for_each(|(key, item)| self.entry(key, item, pointer, place)),
            Value::Tag(_, item) => self.item(item, pointer, place),
            Value::Uint(_)
            | Value::Nint(_)
            | Value::Bytes(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Undefined
            | Value::Simple(_)
            | Value::Float(_) => {}
        }
    }

    fn entry(&mut self, key: &mut Value, item: &mut Value, pointer: &str, place: Place<'_>) {
        let name = key.as_text().map(str::to_owned);
        let Some(inside) = place.under(name.as_deref()) else { return };
        if let (Names::Foreign, Value::Text(text)) = (place.names, &mut *key)
            && let Some(redacted) = self.redactor.replaced(text, Which::All)
        {
            self.paths.push(format!("{pointer}/{}", escaped(&redacted)));
            *text = redacted;
        }
        let name_now = key.as_text().map(escaped).unwrap_or_default();
        self.item(item, &format!("{pointer}/{name_now}"), inside);
    }

    fn text(&self, text: &str, place: Place<'_>) -> Option<String> {
        let replaced = self.redactor.replaced(text, place.which());
        let is_gone = replaced.as_deref().is_some_and(|replaced| replaced.as_bytes().starts_with(MARKER_START));
        if !is_gone && place.gives_away(text) {
            let mark = self.redactor.engine.key.mark(text.as_bytes());
            return Some(format!("[redacted:{}:{mark}]", Detector::Assignment));
        }
        replaced
    }
}

/// A key as a part of a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Looks through the bytes of a value, without making a tree of them.
struct Finder<'a> {
    redactor: &'a Redactor,
    rest: &'a [u8],
}

impl<'a> Finder<'a> {
    /// Whether the next item holds a secret; `None` at bytes that are no CBOR.
    fn item(&mut self, place: Place<'a>) -> Option<bool> {
        let (major, argument) = self.head()?;
        match major {
            3 => {
                let text = self.text(argument)?;
                Some(place.gives_away(text) || self.redactor.engine.finds(text.as_bytes(), place.which()))
            }
            2 => self.take(argument).map(|_| false),
            4 => {
                let mut previous = None;
                for _ in 0..argument {
                    let text = self.peek().next_text();
                    if self.item(place.after(previous))? {
                        return Some(true);
                    }
                    previous = text;
                }
                Some(false)
            }
            5 => {
                for _ in 0..argument {
                    if self.entry(place)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            6 => self.item(place),
            _ => Some(false),
        }
    }

    fn entry(&mut self, place: Place<'a>) -> Option<bool> {
        let key = self.peek().next_text();
        self.skip()?;
        let Some(inside) = place.under(key) else {
            return self.skip().map(|()| false);
        };
        let is_secret = |key: &str| place.names == Names::Foreign && self.redactor.contains_secret(key.as_bytes());
        Some(key.is_some_and(is_secret) || self.item(inside)?)
    }

    const fn peek(&self) -> Self {
        Self { redactor: self.redactor, rest: self.rest }
    }

    /// The next item, if it is text.
    fn next_text(&mut self) -> Option<&'a str> {
        let (major, argument) = self.head()?;
        if major == 3 { self.text(argument) } else { None }
    }

    fn skip(&mut self) -> Option<()> {
        let end = item_end(self.rest, Rules::WELL_FORMED).ok()?;
        self.rest = self.rest.get(end..)?;
        Some(())
    }

    fn text(&mut self, len: u64) -> Option<&'a str> {
        self.take(len).and_then(|text| std::str::from_utf8(text).ok())
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// Major type and argument, RFC 8949 §3.
    fn head(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        let width = match first & 0x1f {
            info @ 0..=23 => return Some((first >> 5, info.into())),
            info @ 24..=27 => 1 << (info - 24),
            _ => return None,
        };
        let argument = self.take(width)?;
        Some((first >> 5, argument.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
    }
}
