//! The lines of an event stream.

use std::fmt::Display;
use std::io::Write as _;

use bytes::Bytes;

/// How soon a client should come back, in milliseconds.
const RETRY: u32 = 2000;

/// Lines that go out as one piece.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    events: u64,
}

impl Frames {
    /// What every stream begins with.
    pub(super) fn opening(&mut self) {
        let _ = write!(self.bytes, "retry: {RETRY}\n: open\n\n");
    }

    /// One event. `name` makes it an event of that name, where a client asked for it.
    pub(crate) fn event(&mut self, id: impl Display, name: Option<&str>, envelope: &[u8]) {
        self.events += 1;
        self.bytes.reserve(envelope.len() + 64);
        let _ = writeln!(self.bytes, "id: {id}");
        // A foreign log may have any text as a type; one with a line break would be taken for lines of ours.
        if let Some(name) = name.filter(|name| !name.contains(['\n', '\r', '\0'])) {
            let _ = writeln!(self.bytes, "event: {name}");
        }
        self.bytes.extend_from_slice(b"data: ");
        self.bytes.extend_from_slice(envelope);
        self.bytes.extend_from_slice(b"\n\n");
    }

    /// A place without an event: moves the client's cursor along.
    pub(crate) fn place(&mut self, id: impl Display) {
        let _ = write!(self.bytes, "id: {id}\n\n");
    }

    /// A line that clients ignore.
    pub(crate) fn comment(&mut self, text: &str) {
        let _ = write!(self.bytes, ": {text}\n\n");
    }

    /// How many events are in it.
    pub(super) const fn events(&self) -> u64 {
        self.events
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Frames)) -> String {
        let mut frames = Frames::default();
        write(&mut frames);
        String::from_utf8(frames.into_bytes().to_vec()).unwrap()
    }

    #[test]
    fn an_event_is_an_id_and_one_line_of_data() {
        assert_eq!(text(|frames| frames.event(7, None, b"{}")), "id: 7\ndata: {}\n\n");
        assert_eq!(text(|frames| frames.event(7, Some("run.x"), b"{}")), "id: 7\nevent: run.x\ndata: {}\n\n");
    }

    #[test]
    fn a_type_cannot_pose_as_a_line() {
        assert_eq!(text(|frames| frames.event(7, Some("a\ndata: {}"), b"{}")), "id: 7\ndata: {}\n\n");
    }
}
