//! Redaction: each detector, each encoding, split anywhere; and what must stay as it is.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use r1_event::Payload;
use r1_event::cbor::Value;
use r1_event::payload::{Raw, ToolCallFailed, ToolCallScheduled, Typed, UserMessageAppended};
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};

const KNOWN: &str = "correct-horse/battery staple?7";

fn redactor() -> Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(new_redactor);
    REDACTOR.clone()
}

fn new_redactor() -> Redactor {
    let mut secrets = Secrets::default();
    secrets.add_environment([("DB_PASSWORD", KNOWN), ("EDITOR", "vim-with-a-long-name")], &[]);
    secrets.add_pattern(r"\bACME-\d{6}\b");
    Redactor::new(RedactionKey::new([7; 32]), &secrets).unwrap()
}

/// Texts with a secret, the secret in them, and who must find it. The credentials are made up.
fn corpus() -> Vec<(String, String, &'static str)> {
    let aws = format!("AKIA{}", "IOSFODNN7EXAMPLE");
    let github = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let anthropic = format!("sk-ant-api03-{}", "aZ09_bY18-cX27dW36eV45");
    let slack = format!("xoxb-{}", "123456789012-abcdefGHIJKL");
    let jwt =
        format!("{}.{}.{}", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P");
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n".repeat(40);
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----");
    let mut corpus = vec![
        (format!("it is {KNOWN}, is it?"), KNOWN.to_owned(), "known"),
        (format!("aws {aws} end"), aws.clone(), "token"),
        (format!("clone https://{github}@github.com/a/b"), github.clone(), "token"),
        (format!("\"{anthropic}\""), anthropic, "token"),
        (format!("posted with {slack}."), slack, "token"),
        (format!("id_token was {jwt}\n"), jwt, "token"),
        (format!("cat key.pem\n{pem}\n$ "), pem, "token"),
        ("order ACME-123456 of".into(), "ACME-123456".into(), "custom"),
    ];
    for (text, secret) in [
        ("API_KEY=zq8Zt0vLw3", "zq8Zt0vLw3"),
        ("export DEPLOY_TOKEN='zq8Zt0vLw3'", "zq8Zt0vLw3"),
        ("DB_PASSWORD=swordfish", "swordfish"),
        ("{\"password\": \"hunter2\"}", "hunter2"),
        ("{\"a\":{\"clientSecret\":\"with \\\" quote 1\"}}", "with \\\" quote 1"),
        ("\"{\\\"api_key\\\": \\\"zq8Zt0vLw3\\\"}\"", "zq8Zt0vLw3"),
        ("db:\n  password: hunter2\n", "hunter2"),
        ("curl --token zq8Zt0vLw3 x", "zq8Zt0vLw3"),
        ("mysql --password=hunter2 x", "hunter2"),
        ("GET /x?a=1&access_token=zq8Zt0vLw3&b=2", "zq8Zt0vLw3"),
        ("Authorization: Bearer zq8Zt0vLw3", "zq8Zt0vLw3"),
        ("curl -H 'authorization: Basic dXNlcjpwYXNz' x", "dXNlcjpwYXNz"),
        ("Cookie: sid=31d4d96e407aad42; theme=dark", "sid=31d4d96e407aad42; theme=dark"),
        ("postgres://app:hunter2@db.local/x", "app:hunter2"),
        ("<password>hunter2</password>", "hunter2"),
        ("client_secret = \"zq8Zt0vLw3\"", "zq8Zt0vLw3"),
    ] {
        corpus.push((text.into(), secret.into(), "assignment"));
    }
    corpus.push((
        "the api key is q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1E now".into(),
        "q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1E".into(),
        "entropy",
    ));
    corpus
}

fn streamed(redactor: &Redactor, pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(stream.push(piece.as_ref()));
    }
    out.extend(stream.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn ep_23_each_detector_finds_its_secrets() {
    let redactor = redactor();
    for (text, secret, detector) in corpus() {
        let redacted = redactor.text(&text);
        assert!(!redacted.contains(&secret), "{text} -> {redacted}");
        let (before, after) = text.split_once(&secret).unwrap();
        let middle = redacted.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let middle = middle.unwrap_or_else(|| panic!("more than the secret is gone: {text} -> {redacted}"));
        let mark = middle.strip_prefix(&format!("[redacted:{detector}:")).and_then(|rest| rest.strip_suffix(']'));
        let is_mark = |mark: &str| mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(mark.is_some_and(is_mark), "{text} -> {redacted}");
        assert!(redactor.contains_secret(text.as_bytes()));
    }
}

#[test]
fn ep_23_a_known_secret_is_found_in_every_encoding_and_looks_the_same() {
    let redactor = redactor();
    let hex: String = KNOWN.bytes().map(|byte| format!("{byte:02x}")).collect();
    let forms = [
        KNOWN.to_owned(),
        STANDARD.encode(KNOWN),
        URL_SAFE_NO_PAD.encode(KNOWN),
        hex.clone(),
        hex.to_uppercase(),
        "correct-horse%2Fbattery%20staple%3F7".into(),
        "correct-horse%2fbattery+staple%3f7".into(),
    ];
    let marks: Vec<_> = forms.iter().map(|form| redactor.text(form).into_owned()).collect();
    assert!(marks.iter().all(|mark| *mark == marks[0] && mark.starts_with("[redacted:known:")), "{marks:?}");
    for before in ["u", "us", "user:"] {
        let inside = STANDARD.encode(format!("{before}{KNOWN}"));
        let redacted = redactor.text(&inside).into_owned();
        assert!(redacted.contains("[redacted:known:"), "{redacted}");
        assert!(redacted.len() < inside.len(), "{redacted}");
    }
}

#[test]
fn ep_23_every_cut_of_a_stream_gives_the_same_text() {
    let redactor = redactor();
    for (text, secret, _) in corpus() {
        let whole = redactor.text(&text).into_owned();
        for cut in 0..=text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            assert_eq!(streamed(&redactor, [a, b]), whole, "{text} cut at {cut}");
        }
        let bytewise = streamed(&redactor, text.as_bytes().chunks(1));
        assert_eq!(bytewise, whole);
        assert!(!bytewise.contains(&secret));
    }
}

#[test]
fn ep_23_hash_like_text_and_code_stay_as_they_are() {
    let redactor = redactor();
    for text in [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "token 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "{\"key\":\"blake3:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}",
        "evt_01HZX3W4V5N6P7Q8R9S0T1V2W3 run_01HZX3W4V5N6P7Q8R9S0T1V2W3",
        "123e4567-e89b-12d3-a456-426614174000",
        "let token: String = tokens.next().unwrap();",
        "fn password(&self) -> &str { self.password.as_str() }",
        "pub key: RedactionKey,\n    secret: [u8; 32],",
        "max_tokens: 4096, \"input_tokens\": 123456789",
        "const token = await getToken();\nif (token === null) return;",
        "password = getpass.getpass(\"Password: \")",
        "for key, value in items: cache[key] = value",
        "the password must have at least 8 characters, the token 16",
        "https://example.com/a?b=c#d ssh://git@github.com/a/b user@host",
        "task-list-item disk-usage-report-2024-summary-x",
        "ENV API_KEY=${API_KEY} TOKEN=$TOKEN",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "if line.startswith(\"-----BEGIN RSA PRIVATE KEY-----\"):",
    ] {
        assert_eq!(redactor.text(text), text);
        assert!(!redactor.contains_secret(text.as_bytes()));
    }
}

#[test]
fn a_secret_longer_than_what_is_kept_back_is_gone_to_its_end() {
    let redactor = redactor();
    let long = "Zq8".repeat(7_000);
    for text in [format!("API_KEY={long} end"), format!("a \"token\": \"{long}\" end"), format!("ghp_{long} end")] {
        let whole = redactor.text(&text).into_owned();
        assert!(whole.ends_with("end") && whole.len() < 100, "{} bytes", whole.len());
        for size in [100, 1000, 9000] {
            assert_eq!(streamed(&redactor, text.as_bytes().chunks(size)), whole);
        }
    }
}

#[test]
fn at_most_eight_kibibytes_are_kept_back_and_ordinary_lines_not_at_all() {
    let redactor = redactor();
    let mut stream = redactor.stream();
    assert_eq!(stream.push(b"an ordinary line of output\n"), b"an ordinary line of output\n");
    let mut kept = 0;
    // A secret-like name, a quote that nothing closes, and words: nothing of it is redacted.
    let endless = format!("token: \"{}", "word after word ".repeat(2_000));
    let mut stream = redactor.stream();
    for piece in endless.as_bytes().chunks(50) {
        kept = kept + piece.len() - stream.push(piece).len();
        assert!(kept <= 8 << 10, "{kept} bytes are kept");
    }
}

#[test]
fn text_of_nothing_but_beginnings_of_secrets_takes_no_longer_than_its_length() {
    let redactor = redactor();
    for beginning in ["token=", "sk-a1-", "cookie: ", "-----BEGIN PRIVATE KEY-----", "password=\"", "://a:b"] {
        let text = beginning.repeat(200_000 / beginning.len());
        let whole = redactor.text(&text).into_owned();
        assert_eq!(streamed(&redactor, text.as_bytes().chunks(5_000)), whole, "{beginning}");
    }
}

fn typed(event_type: &str, data: Value) -> Payload {
    Payload::Typed(Typed { r#type: event_type.into(), data: Raw::from(&data), ..Typed::default() })
}

fn data_of(payload: &Payload) -> Value {
    let Payload::Typed(typed) = payload else { panic!("not typed") };
    typed.data.value().unwrap()
}

fn paths(value: Option<Value>) -> Vec<String> {
    let texts = value.map(|value| value.as_array().unwrap().to_vec()).unwrap_or_default();
    texts.iter().map(|path| path.as_text().unwrap().to_owned()).collect()
}

#[test]
fn ep_23_payloads_name_the_places_that_were_redacted() {
    let redactor = redactor();
    let input = Value::object([
        ("command", Value::text(format!("login {KNOWN}"))),
        ("password", Value::text("hunter2")),
        ("argv", Value::Array(["x", "--token", "zq8Zt0vLw3"].map(Value::text).to_vec())),
        ("a/b", Value::object([("api_key", Value::text("zq8Zt0vLw3"))])),
    ]);
    let data = Value::object([
        ("tool_call_id", Value::text(KNOWN)),
        ("tool_name", Value::text("shell")),
        ("input", input.clone()),
    ]);
    let redacted = data_of(&redactor.payload(typed("assistant.tool_call_proposed", data)));
    assert_eq!(redacted.get("tool_call_id").and_then(Value::as_text), Some(KNOWN), "ids are never touched");
    assert_eq!(
        paths(redacted.get("redacted_paths").cloned()),
        ["/input/a~1b/api_key", "/input/argv/2", "/input/command", "/input/password"]
    );
    let texts = format!("{:?}", redacted.get("input"));
    assert!(!texts.contains(KNOWN) && !texts.contains("hunter2") && !texts.contains("zq8Zt0vLw3"), "{texts}");

    let message = UserMessageAppended { content: format!("use {KNOWN}"), ..UserMessageAppended::default() };
    let Payload::UserMessageAppended(message) = redactor.payload(Payload::UserMessageAppended(message)) else {
        panic!()
    };
    assert!(message.content.starts_with("use [redacted:known:"));
    assert_eq!(paths(message.extra.get("redacted_paths").map(|raw| raw.value().unwrap())), ["/text"]);

    let scheduled = ToolCallScheduled { args: Raw::from(&input), ..ToolCallScheduled::default() };
    let Payload::ToolCallScheduled(scheduled) = redactor.payload(Payload::ToolCallScheduled(scheduled)) else {
        panic!()
    };
    assert!(
        paths(scheduled.extra.get("redacted_paths").map(|raw| raw.value().unwrap()))
            .contains(&"/input/password".into())
    );

    let failed = ToolCallFailed {
        error: "password=hunter2 is wrong".into(),
        result: Some(Raw::from(&Value::text(KNOWN))),
        ..ToolCallFailed::default()
    };
    let Payload::ToolCallFailed(failed) = redactor.payload(Payload::ToolCallFailed(failed)) else { panic!() };
    assert_eq!(paths(failed.extra.get("redacted_paths").map(|raw| raw.value().unwrap())), ["/error", "/output"]);
}

#[test]
fn a_piece_of_a_redacted_stream_gets_no_marks_of_its_own() {
    let redactor = redactor();
    let data = Value::object([("data", Value::text("key=aB3aB3aB3aB3aB3aB3aB3 token=zq8Zt0vLw3"))]);
    let chunk = typed("tool.shell.output_chunk", data);
    assert_eq!(redactor.payload(chunk.clone()), chunk);
    let leak = typed("tool.shell.output_chunk", Value::object([("data", Value::text(KNOWN))]));
    assert!(!format!("{:?}", data_of(&redactor.payload(leak))).contains(KNOWN));
}

/// Text in which anchors, separators and secrets meet in every way.
fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "key",
        "API_KEY",
        "token",
        "password",
        "secret",
        "=",
        ":",
        " ",
        "\n",
        "\"",
        "'",
        "\\",
        "--",
        "://",
        "@",
        "user:pw1",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "gh",
        "p_",
        "sk-",
        "abc123def456",
        "Authorization: Bearer ",
        "Cookie: a=b",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjMIIEvQIBAD",
        "correct-horse/battery staple?7",
        "correct-horse/bat",
        "Y29ycmVjdC1ob3JzZS9iYXR0ZXJ5IHN0YXBsZT83",
        "ACME-123456",
        "ACME-12",
        "q8Zt0vLw3XnB7yRk5mJd2PfHsG9cTa1E",
        "ä",
        "…",
        "hunter2",
        "{",
        "}",
        "<",
        ">",
        "eyJhbGciOiJIUzI1NiJ9",
        ".",
        "x",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn ep_23_a_stream_cut_anywhere_is_the_redacted_whole(text in text(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let redactor = redactor();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]);
        prop_assert_eq!(streamed(&redactor, pieces), redactor.text(&text).into_owned());
    }

    #[test]
    fn ep_23_known_secrets_never_remain(text in text()) {
        let redacted = redactor().text(&text).into_owned();
        prop_assert!(!redacted.contains(KNOWN));
        prop_assert!(!redacted.contains("ghp_16C7e42F292c6912E7710c838347Ae178B4a"));
    }

    #[test]
    fn a_payload_without_secrets_keeps_its_bytes(text in "[a-z ]{0,60}", number in any::<u64>()) {
        let value = Value::object([
            ("text", Value::text(text)),
            ("n", Value::Uint(number)),
            ("list", Value::Array(vec![Value::Null, Value::Bool(true), Value::Float(1.5), Value::Bytes(vec![1, 2])])),
        ]);
        let payload = typed("external.thing", value);
        prop_assert_eq!(redactor().payload(payload.clone()).encode(), payload.encode());
    }
}

#[test]
fn the_directory_that_a_shell_is_in_is_no_secret() {
    let mut secrets = Secrets::default();
    let directory = "/home/alice/projects/parser";
    secrets.add_environment([("PWD", directory), ("OLDPWD", directory), ("DB_PWD", KNOWN)], &[]);
    let redactor = Redactor::new(RedactionKey::new([7; 32]), &secrets).unwrap();
    let text = format!("cd {directory} with {KNOWN}");
    let text = redactor.text(&text);
    assert!(text.contains(directory) && !text.contains(KNOWN), "{text}");
}
