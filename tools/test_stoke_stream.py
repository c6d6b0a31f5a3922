#!/usr/bin/env python3
"""Reads R1's stream with a public reader of Claude Code's stream: `claude-agent-sdk`.

    test_stoke_stream.py PATH/TO/r1

Every line of a real run must be one that the reader takes, or one of a type that it does not know and
passes over; and so must the lines of a log with a result of 5 MB and with characters that end a line for
some readers and not for others.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import blake3
import cbor2
from claude_agent_sdk import AssistantMessage, ResultMessage, SystemMessage, UserMessage
from claude_agent_sdk._errors import MessageParseError
from claude_agent_sdk._internal.message_parser import parse_message
from claude_agent_sdk.types import StreamEvent, ThinkingBlock, ToolResultBlock, ToolUseBlock

SCENARIO = """
turns:
  - thinking: I should look.
    text: "I look.\u2028Now."
    chunk_chars: 4
    tool_calls: [{ tool: file_read, input: { path: note.txt } }]
    usage: { input_tokens: 100, output_tokens: 10 }
    cost_micros_usd: 1500
  - tool_calls: [{ tool: edit, input: { path: note.txt, old_string: hello, new_string: bye } }]
  - text: Done.
"""

KNOWN = {
    "system": SystemMessage,
    "assistant": AssistantMessage,
    "user": UserMessage,
    "result": ResultMessage,
    "stream_event": StreamEvent,
}
OURS = ("stoke.", "hitl_required", "error", "complete", "mission.aborted", "lane.")
LONGEST = 1_000_000


def messages(output):
    """The messages that the reader makes of a stream, by type."""
    text = output.decode()
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has an end"
    assert lines == text.splitlines(), "a character inside of a line ends it for some readers"
    found = {name: [] for name in KNOWN}
    for line in lines:
        assert len(line.encode()) < LONGEST, f"a line of {len(line.encode())} bytes"
        data = json.loads(line)
        try:
            message = parse_message(data)
        except MessageParseError as err:
            assert data["type"].startswith(OURS), f"{err}: {line[:300]}"
            continue
        assert isinstance(message, KNOWN[data["type"]]), line[:300]
        found[data["type"]].append(message)
    return found


def real_run(r1, directory):
    project = directory / "project"
    project.mkdir()
    (project / "note.txt").write_text("hello\u2028\u0085\n")
    (directory / "scenario.yaml").write_text(SCENARIO)
    command = [r1, "run", "look", "-C", project, "--scenario", directory / "scenario.yaml"]
    command += ["--output-format", "stream-json", "--include-partial-messages", "--include-thinking"]
    command += ["--replay-user-messages", "--events", "all"]
    done = subprocess.run(command, capture_output=True, env={"R1_HOME": str(directory / "home"), "PATH": ""})
    assert done.returncode == 0, done.stderr.decode()
    found = messages(done.stdout)

    init = found["system"][0]
    assert init.subtype == "init" and init.data["cwd"] == str(project.resolve()), init
    blocks = [block for message in found["assistant"] for block in message.content]
    assert any(isinstance(block, ThinkingBlock) for block in blocks), blocks
    calls = {block.id for block in blocks if isinstance(block, ToolUseBlock)}
    results = [block for message in found["user"] for block in message.content if isinstance(block, ToolResultBlock)]
    assert calls == {result.tool_use_id for result in results} and len(calls) == 2, (calls, results)
    assert [message.event["type"] for message in found["stream_event"]].count("message_stop") == 3
    (result,) = found["result"]
    assert result.subtype == "success" and result.result == "Done." and result.total_cost_usd == 0.0015, result
    assert json.loads(done.stdout.splitlines()[-1])["type"] == "complete"


def log_with(results):
    """The bytes of a log whose tools gave these results."""
    run = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B"
    started = {
        "schema_version": 2, "goal": "a lot", "provider_id": "p", "model_id": "m", "api_version": "",
        "params_hash": b"", "params": None, "system_prompt_hash": b"", "system_prompt": "",
        "tool_registry_hash": b"", "tool_schemas": None, "run_kind": "agent_loop",
    }
    call = {"duration_ms": 1, "attempt": 1}
    payloads = [(1, started)]
    payloads += [(7, {"call_id": f"c{index}", "result": result, **call}) for index, result in enumerate(results)]
    log, before = b"", b""
    for seq, (kind, payload) in enumerate(payloads, start=1):
        body = cbor2.dumps(payload, canonical=True)
        header = {
            "ts": 1_777_000_000_000_000_000 + seq, "seq": seq, "kind": kind, "run_id": run, "prev_hash": before,
            "payload_hash": blake3.blake3(body).digest(), "payload_size": len(body),
        }
        header = cbor2.dumps(header, canonical=True)
        before = blake3.blake3(header).digest()
        log += b"\x82" + header + cbor2.dumps(body)
    return log


def large_results(r1, directory):
    separators = "one\u2028two\u2029three\u0085four"
    path = directory / "large.cborseq"
    path.write_bytes(log_with(["x" * 5_000_000, separators, {"lines": ["é" * 400_000] * 8}]))
    command = [r1, "log", "export", path, "--format", "stoke"]
    done = subprocess.run(command, capture_output=True, env={"R1_HOME": str(directory / "home")})
    assert done.returncode == 0, done.stderr.decode()
    large, split, structured = [message.content[0].content for message in messages(done.stdout)["user"]]
    assert len(large) == 200_000 and split == separators and len(structured.encode()) <= 200_000


def main():
    r1 = str(pathlib.Path(sys.argv[1]).resolve())
    for check in (real_run, large_results):
        with tempfile.TemporaryDirectory() as directory:
            check(r1, pathlib.Path(directory))
    print("stoke_04_every_line_is_read_by_a_public_reader_of_claude_codes_stream: ok")


if __name__ == "__main__":
    main()
