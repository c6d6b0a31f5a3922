//! JSON in and out of v1 payloads.

use r1_event::cbor::Rules;
use r1_event::id::{from_hex, to_hex};
use r1_event::payload::{BudgetExceeded, RunResumed};
use r1_event::v1::{self, Envelope, Header};
use r1_event::{Payload, Record};

use crate::v1_fixtures::{hex, load, text};

#[test]
fn log_03_json_text_becomes_starlings_cbor() {
    for row in load("json_to_cbor.json") {
        let input = match row["json_array_depth"].as_u64() {
            Some(depth) => {
                let depth = usize::try_from(depth).unwrap();
                ("[".repeat(depth) + &"]".repeat(depth)).into_bytes()
            }
            None => from_hex(text(&row, "json_hex").unwrap()).unwrap(),
        };
        let cbor = v1::json_to_cbor(&input);
        assert_eq!(cbor.is_err(), row["error"].is_string(), "{row} {cbor:?}");
        if let (Ok(cbor), Some(expected)) = (&cbor, text(&row, "cbor")) {
            assert_eq!(to_hex(cbor), expected, "{row}");
        }
        if let (Ok(cbor), Some(len)) = (&cbor, row["cbor_len"].as_u64()) {
            assert_eq!(cbor.len() as u64, len, "{row}");
        }
    }
}

#[test]
fn log_03_no_arguments_are_an_empty_map_and_no_result_is_null() {
    assert_eq!(v1::args_from_json(b"").unwrap(), [0xa0]);
    assert_eq!(v1::result_from_json(b"").unwrap(), [0xf6]);
    assert!(v1::args_from_json(b" ").is_err());
}

#[test]
fn log_03_every_broken_byte_is_replaced_and_half_a_surrogate_pair_too() {
    for (json, hex) in [
        (&b"\"\xe2\x82\""[..], "66efbfbdefbfbd"),
        (b"\"\\ud800\\u0041\"", "64efbfbd41"),
        (b"\"\\ud800\\ud83d\\ude00\"", "67efbfbdf09f9880"),
        (b"\"\\ud83dx\"", "64efbfbd78"),
        (b"1 ] anything", "01"),
        (b"-0", "00"),
        (b"{\"a\":[],\"b\":{}}", "a26161806162a0"),
    ] {
        assert_eq!(to_hex(&v1::json_to_cbor(json).unwrap()), hex, "{}", String::from_utf8_lossy(json));
    }
    for json in ["[1 2]", "{\"a\" 1}", "-", "1e", "[", "{\"a\":", "\"\\u12\"", "tru", "[1}", "{]", "1,", "nullx"] {
        assert!(v1::json_to_cbor(json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn log_18_a_payload_is_shown_as_starling_exports_it() {
    for run in load("runs.json") {
        for event in run["events"].as_array().unwrap() {
            let record = Envelope::decode(&hex(&event["cbor"]), Rules::WRITABLE).unwrap().record;
            let kind = Header::decode(&record.header).unwrap().kind;
            let json = v1::payload_to_json(kind, record.payload.as_ref());
            match (json, text(event, "json")) {
                // Both as CBOR: that keeps every digit of a number.
                (Ok(ours), Some(starlings)) => {
                    let [ours, starlings] =
                        [&ours.to_string(), starlings].map(|json| v1::json_to_cbor(json.as_bytes()));
                    assert_eq!(ours.unwrap(), starlings.unwrap(), "{}", run["name"]);
                }
                // R1 also shows what only the limits of Starling's reader hide.
                (Ok(_), None) => assert!(
                    text(&run, "name").unwrap().contains("deep") || text(&run, "name").unwrap().contains("depth")
                ),
                (Err(error), starlings) => assert_eq!(starlings, None, "{} {error}", run["name"]),
            }
        }
    }
}

#[test]
fn log_18_an_export_of_what_starling_wrote_gives_back_every_byte() {
    for run in load("runs.json") {
        if text(&run, "made_by") == Some("hand") {
            continue;
        }
        for event in run["events"].as_array().unwrap() {
            let record = Envelope::decode(&hex(&event["cbor"]), Rules::WRITABLE).unwrap().record;
            let line = v1::ndjson::write_line(&record).unwrap();
            assert_eq!(v1::ndjson::read_line(line.as_bytes()).unwrap(), record, "{line}");
        }
    }
}

#[test]
fn log_18_no_number_of_an_export_is_rounded() {
    for n in [0, 1 << 53, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX] {
        let seam = RunResumed { at_seq: n, ..Default::default() };
        let header = Header { run_id: "r", seq: n, prev_hash: None, ts: i64::MIN, kind: 15 };
        let payload = Some(Payload::RunResumed(seam).encode());
        let record = Record { header: header.encode().into(), payload };
        let line = v1::ndjson::write_line(&record).unwrap();
        assert!(line.contains(&format!(r#""at_seq":{n}"#)) && line.contains(&format!(r#""seq":{n},"#)), "{line}");
        assert_eq!(v1::ndjson::read_line(line.as_bytes()).unwrap(), record, "{line}");
    }
    // A whole float looks like an integer, and is still a float.
    for actual in [1e15, 9.3e18, 1.8e19, 1e20, -0.0, f64::from_bits(0x43f0_0000_0000_0000)] {
        let budget = BudgetExceeded { actual, ..Default::default() };
        let header = Header { run_id: "r", seq: 1, prev_hash: None, ts: 1, kind: 10 };
        let payload = Some(Payload::BudgetExceeded(budget).encode());
        let record = Record { header: header.encode().into(), payload };
        let line = v1::ndjson::write_line(&record).unwrap();
        assert_eq!(v1::ndjson::read_line(line.as_bytes()).unwrap(), record, "{line}");
    }
    for n in ["18446744073709551616", "9.3e18", "-1"] {
        let line = format!(
            r#"{{"run_id":"r","seq":1,"ts":0,"kind":"RunResumed","prev_hash":null,"payload":{{"at_seq":{n},"reissue_tools":false,"pending_calls":0}}}}"#
        );
        assert_eq!(
            v1::ndjson::read_line(line.as_bytes()).unwrap_err().to_string(),
            "`at_seq` does not hold what it should"
        );
    }
}

#[test]
fn a_line_that_cannot_be_rebuilt_says_why() {
    let line = |kind: &str, payload: &str| {
        let line = format!(r#"{{"run_id":"r","seq":1,"ts":0,"kind":"{kind}","prev_hash":null,"payload":{payload}}}"#);
        v1::ndjson::read_line(line.as_bytes()).map(|record: Record| to_hex(&record.payload.unwrap_or_default()))
    };
    assert_eq!(line("UserMessageAppended", r#"{"content":"x"}"#).unwrap(), "a167636f6e74656e746178");
    for (kind, payload, why) in [
        ("TurnFailed", "{}", "the kind `TurnFailed` is not known"),
        ("UserMessageAppended", r#"{"content":"x","mood":1}"#, "the key `mood` is not known"),
        ("UserMessageAppended", r#"{"content":1}"#, "`content` does not hold"),
        ("UserMessageAppended", "[]", "a payload has to be a JSON object"),
        ("SideEffectRecorded", r#"{"name":"n","value":"/w=="}"#, "`value` does not hold"),
    ] {
        let error = line(kind, payload).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
}
