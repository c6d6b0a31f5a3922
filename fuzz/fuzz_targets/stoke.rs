//! Lines of the stream: any bytes are read or refused; what is read and written again is read as the same; and
//! no body, whatever its keys, changes what the envelope says.

#![no_main]

use r1_event::{Digest, UnixNanos};
use r1_protocol::canonical;
use r1_protocol::data::Object;
use r1_protocol::stoke::{MAX_LINE, Origin, Stamp, read, stoke_line};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(line) = read(data) else { return };
    let origin = Origin { session_id: "s".into(), instance_id: Some("i".into()), trace_parent: None };
    let stamp = Stamp { ts: UnixNanos(1), seq: 7, hash: Digest::blake3(data), ledger_node_id: None };
    let written = stoke_line(&origin, &stamp, 0, "stoke.t", line.body.clone());
    assert!(written.len() <= MAX_LINE && written.ends_with(b"\n"), "a line of {} bytes", written.len());
    let text = std::str::from_utf8(&written).expect("a line is UTF-8");
    assert_eq!(text.matches(['\n', '\u{85}', '\u{2028}', '\u{2029}']).count(), 1, "one end");
    let again = read(&written).expect("our own line");
    assert_eq!((again.seq, again.session_id.as_deref(), again.type_name.as_str()), (Some(7), Some("s"), "stoke.t"));
    assert_eq!((again.instance_id.as_deref(), again.trace_parent), (Some("i"), None));
    assert_eq!(spelled(&again.body), spelled(&line.body), "the body that was written");
});

/// Numbers have one spelling, so bodies are compared as they are written.
fn spelled(body: &Object) -> Vec<u8> {
    let mut out = Vec::new();
    canonical::write_object(&mut out, body);
    out
}
