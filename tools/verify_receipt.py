#!/usr/bin/env python3
"""Checks an R1 receipt without R1.

    verify_receipt.py RECEIPT --key KEY [--integrity]   KEY: keyring entry, JWK or SPKI PEM file, or 64 hex digits
    verify_receipt.py --cases FILE                      the cases that the project's tests write

This is a second implementation of the receipt format, written from its description and sharing no code
with R1. It prints the verdict and the reason that `r1 receipt verify` prints, and exits with the same
code: 0 VALID, 1 INVALID, 3 UNTRUSTED, 4 INCOMPLETE; 2 means that a file could not be read.

The format in short. A receipt is a JSON object {events, signature, signing_key_id, spec_version} in the
canonical bytes of RFC 8785. Values are objects, arrays, strings, booleans and integers up to ±(2^53−1).

    event    {"body","id","preds","type"}, id = "sha256:" + SHA-256(event without id)
    order    the smallest topological order: of all events whose preds are out, the one with the smallest id
    digest   SHA-256("STOKE-RECEIPT-v1" 00 ‖ the receipt without signature)
    signed   Ed25519 over the 32 bytes of the digest, checked strictly
    key id   "kid:" + RFC 7638 thumbprint of the public key

The last event (ARTIFACT, kind run_log) names the log: its size, its Merkle roots, and a seal over them.
A stub {"stub": "erased" | "withheld" | "pruned"} keeps an event's id, type and preds without its body.

Stages and reasons are checked in a fixed order; the first that fails is the verdict. Within a stage every
event is looked at for one reason before the next reason.
"""

import argparse
import base64
import datetime
import hashlib
import heapq
import json
import re
import sys
from collections import Counter

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_FILE, MAX_EVENTS, MAX_PREDS, MAX_BODY, MAX_TEXT, MAX_DEPTH = 256 << 20, 1_000_000, 10_000, 1 << 20, 64 << 10, 32
MAX_INTEGER, MAX_ARGS = 2**53 - 1, 16 << 10

# Every reason there is, in the order in which it is looked for.
FORM = "too_large bad_utf8 bad_json duplicate_key too_deep bad_number bad_shape unknown_spec_version not_canonical".split()
UNTRUSTED = {"key_unknown", "key_use", "key_scope", "key_not_yet_valid", "key_expired", "key_revoked"}
INCOMPLETE = {"run_unbound", "run_open", "run_pruned"}

TYPES = {"THOUGHT", "TOOL_CALL", "MEMORY_READ", "MEMORY_WRITE", "PHASE_TRANSITION", "GATE_DECISION", "ARTIFACT",
         "SKILL_AUTHORING_DECISION", "BEACON_LEDGER_EVENT"}
STUBS = {"erased", "withheld", "pruned"}


class Refused(Exception):
    """The receipt fails: for this reason, at this event."""

    def __init__(self, reason, index=None):
        super().__init__(reason)
        self.reason, self.index = reason, index


def first(reason, wrong):
    """Fails with the lowest index that is wrong, if any is."""
    index = min(wrong, default=None)
    if index is not None:
        raise Refused(reason, index)


# --- form -----------------------------------------------------------------------------------------


class Number(str):
    """A number as it is written, unless it is an integer that receipts have."""


class Pairs(list):
    """An object as it is written: keys may repeat."""


def number(text):
    value = int(text) if len(text) < 20 else MAX_INTEGER + 1
    return value if abs(value) <= MAX_INTEGER and text != "-0" else Number(text)


def refuse_constant(name):
    raise ValueError(name)


def read_json(text):
    """The value, objects as Pairs and odd numbers as Number; None for what is not JSON."""
    try:
        return [json.loads(text, object_pairs_hook=Pairs, parse_int=number, parse_float=Number, parse_constant=refuse_constant)]
    except RecursionError:
        return read_deep(text)
    except ValueError:
        return None


TOKEN = re.compile(r'[ \t\n\r]*("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|[][{},:])')


def read_deep(text):
    """Whether text that is nested too deeply for the library is JSON; its value is of no interest then."""
    at, stack, expects = 0, [], "value"
    while True:
        match = TOKEN.match(text, at)
        if not match:
            return ["deep"] if expects == "end" and not text[at:].strip(" \t\n\r") else None
        token, at = match.group(1), match.end()
        if expects in ("value", "value or ]") and token in "[{":
            stack.append(token)
            expects = "value or ]" if token == "[" else "key or }"
        elif (expects, token) in (("value or ]", "]"), ("key or }", "}")) or (
            expects == ", or close" and token == {"[": "]", "{": "}"}[stack[-1]]
        ):
            stack.pop()
            expects = ", or close" if stack else "end"
        elif expects in ("value", "value or ]") and token not in "]},:":
            expects = ", or close" if stack else "end"
        elif expects in ("key", "key or }") and token[0] == '"':
            expects = ":"
        elif (expects, token) == (":", ":"):
            expects = "value"
        elif (expects, token) == (", or close", ","):
            expects = "value" if stack[-1] == "[" else "key"
        else:
            return None


def texts_of(value, stack_limit=10**9):
    """Every string in a value, keys included."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, Pairs):
            for key, inner in item:
                yield key
                todo.append(inner)
        elif isinstance(item, list):
            todo.extend(item)
        elif type(item) is str:
            yield item


def has_lone_surrogate(text):
    return re.search("[\ud800-\udfff]", text) is not None


def flaws(value, depth, found):
    """Notes what receipts may not hold; what is nested too deeply is not looked into."""
    if isinstance(value, list):
        if depth > MAX_DEPTH:
            found.add("too_deep")
            return
        if isinstance(value, Pairs):
            keys = [key for key, _ in value]
            if len(set(keys)) < len(keys):
                found.add("duplicate_key")
            if any(len(key.encode()) > MAX_TEXT for key in keys):
                found.add("too_large")
        for item in value:
            flaws(item[1] if isinstance(value, Pairs) else item, depth + 1, found)
    elif isinstance(value, Number):
        found.add("bad_number")
    elif isinstance(value, str) and len(value.encode()) > MAX_TEXT:
        found.add("too_large")
    elif value is None:
        found.add("bad_shape")


def plain(value):
    """Pairs as dictionaries."""
    if isinstance(value, Pairs):
        return {key: plain(inner) for key, inner in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def quote(text):
    return '"' + re.sub(r'[\x00-\x1f"\\]', lambda hit: ESCAPES.get(hit[0], f"\\u{ord(hit[0]):04x}"), text) + '"'


def canonical(value):
    """RFC 8785, for the values that receipts have."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(quote(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(value) if isinstance(value, str) else str(value)


def read_form(data):
    """The receipt as a dictionary."""
    if len(data) > MAX_FILE:
        raise Refused("too_large")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Refused("bad_utf8") from None
    read = read_json(text)
    if read is None or any(map(has_lone_surrogate, texts_of(read[0]))):
        raise Refused("bad_json")
    found = set()
    if read == ["deep"]:
        found.add("too_deep")
    else:
        flaws(read[0], 1, found)
    receipt = plain(read[0])
    if isinstance(read[0], Pairs):
        limits(read[0], found)
    shapes = {"events": list, "signature": str, "signing_key_id": str, "spec_version": str}
    if not isinstance(receipt, dict) or set(receipt) != set(shapes) or not all(
        type(receipt[key]) is shape for key, shape in shapes.items()
    ):
        found.add("bad_shape")
    for reason in FORM:
        if reason in found:
            raise Refused(reason)
    if receipt["spec_version"] != "1.0":
        raise Refused("unknown_spec_version")
    if canonical(receipt) != text:
        raise Refused("not_canonical")
    return receipt


def limits(pairs, found):
    for events in (value for key, value in pairs if key == "events" and type(value) is list):
        if len(events) > MAX_EVENTS:
            found.add("too_large")
        for event in (event for event in events if isinstance(event, Pairs)):
            for key, value in event:
                if key == "preds" and type(value) is list and len(value) > MAX_PREDS:
                    found.add("too_large")
                if key == "body" and isinstance(value, Pairs) and not found & {"too_deep"}:
                    if len(canonical_size(value)) > MAX_BODY:
                        found.add("too_large")


def canonical_size(pairs):
    """The canonical bytes of a body whose keys may repeat."""
    if isinstance(pairs, Pairs):
        return b"{" + b",".join(quote(key).encode() + b":" + canonical_size(value) for key, value in pairs) + b"}"
    if isinstance(pairs, list):
        return b"[" + b",".join(map(canonical_size, pairs)) + b"]"
    return b"null" if pairs is None else (str(pairs) if isinstance(pairs, Number) else canonical(pairs)).encode()


# --- graph ----------------------------------------------------------------------------------------

ID = re.compile(r"sha256:[0-9a-f]{64}")
HASH = re.compile(r"[0-9a-f]{64}")


def is_match(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def is_event(event):
    return (
        isinstance(event, dict)
        and set(event) == {"body", "id", "preds", "type"}
        and is_match(ID, event["id"])
        and isinstance(event["type"], str)
        and isinstance(event["body"], dict)
        and isinstance(event["preds"], list)
        and all(is_match(ID, pred) for pred in event["preds"])
        and all(a < b for a, b in zip(event["preds"], event["preds"][1:]))
    )


def stub_of(event):
    body = event["body"]
    return body["stub"] if set(body) == {"stub"} and isinstance(body["stub"], str) and body["stub"] in STUBS else None


def id_of(event):
    content = canonical({key: event[key] for key in ("body", "preds", "type")})
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


def check_graph(events):
    """Checks events, ids, edges and order; gives the place of each id."""
    first("bad_event", (i for i, event in enumerate(events) if not is_event(event)))
    first("unknown_event_type", (i for i, event in enumerate(events) if event["type"] not in TYPES))
    first("bad_event_id", (i for i, event in enumerate(events) if not stub_of(event) and id_of(event) != event["id"]))
    places = {}
    for index, event in enumerate(events):
        if places.setdefault(event["id"], index) != index:
            raise Refused("duplicate_event", index)
    first("dangling_pred", (i for i, event in enumerate(events) if any(pred not in places for pred in event["preds"])))
    order = smallest_order(events, places)
    first("cycle", set(range(len(events))) - set(order))
    first("wrong_order", (index for index, place in enumerate(order) if index != place))
    return places


def smallest_order(events, places):
    waiting = [len(event["preds"]) for event in events]
    successors = [[] for _ in events]
    for index, event in enumerate(events):
        for pred in event["preds"]:
            successors[places[pred]].append(index)
    ready = [(event["id"], index) for index, event in enumerate(events) if not event["preds"]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for successor in successors[index]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heapq.heappush(ready, (events[successor]["id"], successor))
    return order


# --- keys and signatures --------------------------------------------------------------------------

PRIME = 2**255 - 19
# y coordinates of the points whose order divides 8.
SMALL_ORDER = {0, 1, PRIME - 1, *(int.from_bytes(bytes.fromhex(y), "little") for y in (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
))}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_key_id(text):
    if not re.fullmatch(r"kid:[A-Za-z0-9_-]{43}", text):
        return False
    return base64url(base64.urlsafe_b64decode(text[4:] + "=")) == text[4:]


class Key:
    """A public key, and what a keyring says of it."""

    def __init__(self, public, entry=None):
        self.public, self.entry = public, entry
        thumbprint = canonical({"crv": "Ed25519", "kty": "OKP", "x": base64url(public)})
        self.kid = "kid:" + base64url(hashlib.sha256(thumbprint.encode()).digest())

    @classmethod
    def read(cls, text):
        if re.fullmatch(r"[0-9a-fA-F]{64}", text.strip()):
            return cls(bytes.fromhex(text.strip()))
        if text.lstrip().startswith("-----BEGIN"):
            der = base64.b64decode("".join(text.strip().splitlines()[1:-1]))
            return cls(der[-32:])
        value = json.loads(text)
        jwk = value if "kty" in value else value["public"]
        key = cls(base64.urlsafe_b64decode(jwk["x"] + "="), None if "kty" in value else value)
        if key.entry:
            if key.entry["kid"] != key.kid:
                raise ValueError("the entry's id does not follow from its key")
            for field in {"not_before", "not_after", "revoked_at"} & {"not_before", *key.entry}:
                moment(key.entry[field])
        return key

    def is_weak(self):
        y = int.from_bytes(self.public, "little") & (2**255 - 1)
        return y >= PRIME or y in SMALL_ORDER or not is_on_curve(y)

    def verifies(self, message, signature):
        # The library compares encodings of R and refuses a large S; small orders are left to us.
        r = int.from_bytes(signature[:32], "little") & (2**255 - 1)
        if self.is_weak() or r >= PRIME or r in SMALL_ORDER:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def is_on_curve(y):
    d = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
    square = (y * y - 1) * pow(d * y * y + 1, PRIME - 2, PRIME) % PRIME
    return square == 0 or pow(square, (PRIME - 1) // 2, PRIME) == 1


def read_signature(text):
    return bytes.fromhex(text[8:]) if re.fullmatch(r"ed25519:[0-9a-f]{128}", text) else None


def check_trust(receipt, keys, run_log):
    kid = receipt["signing_key_id"]
    if not is_key_id(kid):
        raise Refused("bad_key_id")
    known = [key for key in keys if key.kid == kid]
    if not known:
        raise Refused("key_unknown")
    key = known[0]
    if key.is_weak():
        raise Refused("weak_key")
    signature = read_signature(receipt["signature"])
    if signature is None:
        raise Refused("bad_signature_encoding")
    signed = canonical({name: receipt[name] for name in ("events", "signing_key_id", "spec_version")})
    if not key.verifies(hashlib.sha256(b"STOKE-RECEIPT-v1\0" + signed.encode()).digest(), signature):
        raise Refused("signature_mismatch")
    # Of several entries for one key the strictest counts.
    refusals = {refusal(key.entry, run_log) for key in known if key.entry} - {None}
    if refusals:
        raise Refused(min(refusals, key=KEY_ALLOWED.index))


KEY_ALLOWED = ["key_use", "key_scope", "key_not_yet_valid", "key_expired", "key_revoked"]
TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})")


def moment(text):
    """A time of RFC 3339 in nanoseconds."""
    match = TIME.fullmatch(text)
    if not match:
        raise ValueError(f"not a time: {text}")
    day, clock, fraction, zone = match.groups()
    time = datetime.datetime.fromisoformat(f"{day}T{clock}" + ("+00:00" if zone in "Zz" else zone))
    since = time - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (since.days * 86_400 + since.seconds) * 10**9 + int((fraction or "").ljust(9, "0"))


def refusal(entry, run_log):
    """Why a key does not count for the run, if it does not."""
    if entry["use"] != "receipt":
        return "key_use"
    revoked = "revoked_at" in entry or "revoked_reason" in entry
    at = decimal(run_log.get("at")) if run_log else None
    if at is None:
        return "key_revoked" if revoked else None
    if at < moment(entry["not_before"]):
        return "key_not_yet_valid"
    if "not_after" in entry and at > moment(entry["not_after"]):
        return "key_expired"
    if revoked and (entry.get("revoked_reason") != "retired" or "revoked_at" not in entry or at > moment(entry["revoked_at"])):
        return "key_revoked"
    return None


# --- bodies ---------------------------------------------------------------------------------------


def is_int(value, low=-MAX_INTEGER, high=MAX_INTEGER):
    return type(value) is int and low <= value <= high


def decimal(text):
    """Nanoseconds in decimal digits, as 64 bits hold them."""
    if is_match(re.compile(r"0|-?[1-9][0-9]{0,18}"), text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    return None


def words(*allowed):
    return lambda value: isinstance(value, str) and value in allowed


def fields(**shapes):
    """An object with these keys; a name that ends in `_` may be missing."""
    table = {name.rstrip("_"): (shape, not name.endswith("_")) for name, shape in shapes.items()}

    def fits(value):
        return (
            isinstance(value, dict)
            and all(key in table and table[key][0](inner) for key, inner in value.items())
            and all(key in value for key, (_, required) in table.items() if required)
        )

    return fits


def text(value):
    return isinstance(value, str)


def boolean(value):
    return isinstance(value, bool)


def whole(value):
    return is_int(value)


def uint(value):
    return is_int(value, 0)


def count(value):
    return is_int(value, 1)


def per_mille(value):
    return is_int(value, 0, 1000)


def hash64(value):
    return is_match(HASH, value)


def event_id(value):
    return is_match(ID, value)


def nanos(value):
    return decimal(value) is not None


def list_of(shape):
    return lambda value: isinstance(value, list) and all(map(shape, value))


texts, hashes = list_of(text), list_of(hash64)
PHASES = ("PLAN", "EXECUTE", "VERIFY", "COMMIT")
TIERS = {"L0": "working", "L1": "episodic", "L2": "semantic", "L3": "procedural"}
PLACE = dict(tier=words(*TIERS), store=words(*TIERS.values()), key=text, by=words("agent", "runtime", "operator"))
READ = dict(PLACE, hit=boolean, fingerprint_=hash64, call_id_=text)
EVERY = dict(seq=count, at=nanos)

BODIES = {
    "THOUGHT": fields(
        **EVERY, turn_id=text, model=text, status=words("complete", "failed", "cut"), calls=texts, input_tokens=uint,
        output_tokens=uint, cost_micros_usd=uint, text_hash_=hash64, reasoning_hash_=hash64, prompt_blake3_=hash64,
        user_input_hashes_=hashes, stop_reason_=text),
    "TOOL_CALL": fields(
        **EVERY, call_id=text, tool=text, attempt=uint, status=words("ok", "error", "timeout", "cancelled", "denied", "unknown"),
        args_=text, args_hash=hash64, args_form=words("jcs", "cbor"), result_hash_=hash64, result_form_=words("jcs", "cbor", "text"),
        duration_ms=uint, turn_id_=text, error_type_=text,
        approval_=fields(decision=words("approved", "denied"), by=text, id_=text, rule_=text)),
    "MEMORY_READ": fields(**EVERY, **READ),
    "ROOT": fields(**EVERY, **READ, run_id=text, link_=fields(relation=words("child", "fork", "resume"), run_id=text, seq=uint)),
    "MEMORY_WRITE": fields(
        **EVERY, **PLACE, op=words("set", "delete"), diff_hash=hash64, fingerprint_=hash64, prior_fingerprint_=hash64, call_id_=text),
    "GATE_DECISION": fields(
        **EVERY, task_id=text, round=count, transition=text, phase=words(*PHASES), boundary=words("entry", "exit"), gate_id=text,
        gate_version=text, verdict=words("allow", "block", "escalate"), reason_code=text, threshold=per_mille, blocker=boolean,
        preset=text, preset_hash=hash64, inputs_hash=hash64, duration_ms=uint, score_=per_mille, evidence_hash_=hash64,
        command_=text, exit_code_=whole, excluded_=texts,
        override_=fields(of=event_id, actor=text, reason=lambda value: text(value) and 1 <= len(value.encode()) <= 512, approval_id_=text)),
    "PHASE_TRANSITION": fields(
        **EVERY, task_id=text, round=count, preset=text, preset_hash=hash64, to=text, required=texts, **{"from": text}),
    "ARTIFACT": fields(
        **EVERY, kind=words("patch", "file_snapshot", "command_output", "fetched_resource", "search_results", "image",
                            "tool_result_blob", "commit", "skill"),
        media_type=text, size=uint, content_hash=hash64, artifact_id_=text, path_=text, phase_=text, commit_=text),
    "child_run": fields(
        **EVERY, kind=text, run_id=text, outcome=words("completed", "failed", "cancelled"), size=uint, root_blake3=hash64,
        root_sha256=hash64, receipt_digest_=hash64, task_id_=text),
    "run_log": fields(
        **EVERY, kind=text, run_id=text, schema_version=lambda value: is_int(value, 1, 2), first_seq=count, size=count,
        head_blake3=hash64, root_blake3=hash64, root_sha256=hash64, state=words("complete", "open"),
        outcome=words("completed", "failed", "cancelled", "none"), erased=uint,
        seal=lambda value: text(value) and read_signature(value) is not None,
        seal_key_id=lambda value: text(value) and is_key_id(value)),
    "SKILL_AUTHORING_DECISION": fields(
        **EVERY, wizard_id=text, step=uint, stage=words("identity", "trigger", "procedure", "tools", "check"), question_id=text,
        mode=words("operator", "llm-best-judgment"), answer=text, interpretation=text, confidence=per_mille, path=text,
        confirmed=boolean, revision_of_=event_id),
    "BEACON_LEDGER_EVENT": fields(
        **EVERY, kind=text, beacon_id=text, operator_id=text, device_id=text, chain=texts, bridge=text,
        detail=lambda value: isinstance(value, dict)),
}

BEACON = {
    "registered": fields(public_key_hash=hash64),
    "claimed": fields(challenge_hash=hash64, sas_verified=boolean),
    "device_attached": fields(label=text, device_kind=text),
    "device_revoked": fields(reason=text),
    "session_opened": fields(session_ref=text, token_id_=text),
    "session_closed": fields(session_ref=text, reason=text),
    "token_issued": fields(token_id=text, subject_operator_id=text, permissions=texts, constitution_hash=hash64, expires_at=nanos),
    "token_used": fields(token_id=text, permission=text),
    "token_revoked": fields(token_id=text, reason=text),
    "delegate_created": fields(parent_token_id=text, child_token_id=text),
    "command": fields(session_ref=text, command_kind=text, payload_hash=hash64),
    "command_result": fields(command_event=event_id, status=text, result_hash_=hash64),
    "federation_handshake": fields(origin_hub_id=text, peer_hub_id=text, session_ref=text),
    "advisory_signed": fields(hub_id=text, advisory_hash=hash64),
    "trust_signal": fields(issuer_hub_id=text, signal_kind=text, nonce_hash=hash64, verdict=text),
    "attested": fields(build_hash=hash64, constitution_hash_=hash64, ledger_root_hash_=hash64),
}


def is_beginning(body):
    """Whether a read that follows nothing is meant to begin a run; another one has only lost what it follows."""
    return (body.get("tier"), body.get("key")) == ("L0", "identity") or "run_id" in body or "link" in body


def is_json(value):
    read = read_json(value)
    return read is not None and not any(map(has_lone_surrogate, texts_of(read[0])))


def named_by(event):
    """The id of the event that this one revises or answers."""
    if event["type"] == "SKILL_AUTHORING_DECISION":
        return event["body"].get("revision_of")
    return event["body"]["detail"].get("command_event") if event["type"] == "BEACON_LEDGER_EVENT" else None


def body_fits(event):
    kind, body = event["type"], event["body"]
    if kind == "MEMORY_READ" and not event["preds"] and is_beginning(body):
        shape = "ROOT"
    elif kind == "ARTIFACT" and body.get("kind") in ("child_run", "run_log"):
        shape = body["kind"]
    else:
        shape = kind
    if not BODIES[shape](body):
        return False
    if kind == "TOOL_CALL" and "args" in body:
        args = body["args"].encode()
        hashed = hashlib.sha256(args).hexdigest() == body["args_hash"]
        return body["args_form"] == "jcs" and len(args) <= MAX_ARGS and hashed and is_json(body["args"])
    if kind in ("MEMORY_READ", "MEMORY_WRITE"):
        has_value = body["hit"] if kind == "MEMORY_READ" else body["op"] == "set"
        return TIERS[body["tier"]] == body["store"] and ("fingerprint" in body) == has_value
    if kind == "PHASE_TRANSITION":
        return all(a < b for a, b in zip(body["required"], body["required"][1:]))
    if kind == "SKILL_AUTHORING_DECISION":
        return body["mode"] != "operator" or body["confidence"] == 1000
    if kind == "BEACON_LEDGER_EVENT":
        return body["kind"] in BEACON and BEACON[body["kind"]](body["detail"])
    return True


# --- contract -------------------------------------------------------------------------------------

WAYS = {
    ("START", "PLAN"): ["PLAN.entry"],
    ("PLAN", "EXECUTE"): ["PLAN.exit", "EXECUTE.entry"],
    ("EXECUTE", "VERIFY"): ["EXECUTE.exit", "VERIFY.entry"],
    ("VERIFY", "COMMIT"): ["VERIFY.exit", "COMMIT.entry"],
    ("COMMIT", "END"): ["COMMIT.exit"],
    ("EXECUTE", "PLAN"): ["PLAN.entry"],
    ("VERIFY", "EXECUTE"): ["EXECUTE.entry"],
    ("VERIFY", "PLAN"): ["PLAN.entry"],
}


# How far the links of a receipt may lead in all, in events, where they are no edges.
MOST_WALKED = 1_000_000


class Contract:
    """What events say together. `shown` are the events with a body, by place."""

    def __init__(self, events, places, keys):
        self.events, self.places, self.keys = events, places, keys
        self.stubs = [stub_of(event) for event in events]
        self.shown = [(i, event, event["body"]) for i, event in enumerate(events) if not self.stubs[i]]
        self.preds = [[places[pred] for pred in event["preds"]] for event in events]
        self.pruned = "pruned" in self.stubs
        self.walked = 0

    def of_type(self, *types):
        return [(i, body) for i, event, body in self.shown if event["type"] in types]

    def check(self):
        first("bad_body", (i for i, event, _ in self.shown if not body_fits(event) or not self.is_linked(i, event)))
        first("stub_forbidden", (i for i, stub in enumerate(self.stubs) if stub in ("erased", "withheld")
                                 and self.events[i]["type"] in ("GATE_DECISION", "PHASE_TRANSITION")))
        first("seq_order", (i for i, _, body in self.shown if any(
            not self.stubs[pred] and self.events[pred]["body"]["seq"] > body["seq"] for pred in self.preds[i])))
        self.check_root()
        self.check_run_log()
        seen = Counter()
        for index, body in self.of_type("TOOL_CALL"):
            seen[body["call_id"], body["attempt"]] += 1
            if seen[body["call_id"], body["attempt"]] > 1:
                raise Refused("call_conflict", index)
        first("memory_conflict", (i for i, body in self.of_type("MEMORY_READ", "MEMORY_WRITE") if self.conflicts(i, body)))
        thinks = any(event["type"] == "THOUGHT" for event in self.events)
        first("l0_written", (i for i, body in self.of_type("MEMORY_WRITE")
                             if body["tier"] == "L0" and (thinks or body["by"] != "operator")))
        self.check_phases()

    def is_linked(self, index, event):
        """Whether the event that this one names is among those that it follows, unless that was pruned."""
        named = named_by(event)
        if named is None or self.pruned:
            return True
        target = self.places.get(named)
        if target is None or target in self.preds[index]:
            return target is not None
        # Where links are no edges they are walked, up to a bound for all of them.
        self.walked += max(0, index - target)
        todo, seen = [index] if self.walked <= MOST_WALKED else [], set()
        while todo:
            for pred in self.preds[todo.pop()]:
                # What stands before the one that is named cannot follow it.
                if pred >= target and pred not in seen:
                    seen.add(pred)
                    todo.append(pred)
        return target in seen

    def check_root(self):
        roots = [index for index, preds in enumerate(self.preds) if not preds]
        if not roots:
            raise Refused("bad_root")
        for nth, index in enumerate(roots):
            event, stub = self.events[index], self.stubs[index]
            if stub == "pruned":
                continue
            identity = stub or (event["body"].get("tier"), event["body"].get("key")) == ("L0", "identity")
            if event["type"] != "MEMORY_READ" or not identity or self.pruned or nth:
                raise Refused("bad_root", index)

    def check_run_log(self):
        last = len(self.events) - 1
        for index, body in self.of_type("ARTIFACT"):
            if body["kind"] != "run_log":
                continue
            followed = {pred for preds in self.preds for pred in preds}
            sound = (
                index == last
                and body["seq"] == body["size"]
                and body["first_seq"] <= body["size"]
                and (body["state"] == "open") == (body["outcome"] == "none")
                and followed == set(range(last))
            )
            if not sound:
                raise Refused("bad_run_log", index)
        run_log = self.run_log()
        key = next((key for key in self.keys if run_log and key.kid == run_log["seal_key_id"]), None)
        if key:
            run_id = run_log["run_id"].encode()
            message = (b"R1-SEAL-v1\0" + len(run_id).to_bytes(2, "big") + run_id + run_log["size"].to_bytes(8, "big")
                       + bytes.fromhex(run_log["root_blake3"] + run_log["head_blake3"])) if 0 < len(run_id) <= 256 else b""
            if not key.verifies(message, read_signature(run_log["seal"])):
                raise Refused("seal_mismatch", last)

    def run_log(self):
        return find_run_log(self.events)

    def conflicts(self, index, body):
        before = body.get("fingerprint" if self.events[index]["type"] == "MEMORY_READ" else "prior_fingerprint")
        if before is None or body["tier"] not in ("L1", "L2"):
            return False
        writes = (self.events[pred]["body"] for pred in self.preds[index]
                  if not self.stubs[pred] and self.events[pred]["type"] == "MEMORY_WRITE")
        return any((w["tier"], w["key"]) == (body["tier"], body["key"]) and w.get("fingerprint") != before for w in writes)

    def check_phases(self):
        transitions = self.of_type("PHASE_TRANSITION")
        tasks = {}
        for index, body in sorted(transitions, key=lambda item: (item[1]["seq"], item[0])):
            tasks.setdefault(body["task_id"], []).append((index, body))
        wrong = []
        for task in tasks.values():
            for (index, body), before in zip(task, [None, *task]):
                if before is None:
                    follows = body["from"] == "START" or self.pruned
                else:
                    follows = body["from"] == before[1]["to"] and before[0] in self.preds[index]
                if not follows or (body["from"], body["to"]) not in WAYS:
                    wrong.append(index)
        first("phase_order", wrong)
        first("preset_changed", (i for task in tasks.values() for i, body in task if body["preset_hash"] != task[0][1]["preset_hash"]))
        gates = {i: (body, "{phase}.{boundary}/{gate_id}".format(**body)) for i, body in self.of_type("GATE_DECISION")}

        def decisions(index, body, name):
            for pred in self.preds[index]:
                gate, found = gates.get(pred, (None, None))
                if gate and "override" not in gate and (found, gate["round"], gate["task_id"]) == (name, body["round"], body["task_id"]):
                    yield pred

        def lacks_gates(index, body):
            if any(self.stubs[pred] == "pruned" for pred in self.preds[index]):
                return False
            covered = all(any(gate.startswith(f"{boundary}/") for gate in body["required"]) for boundary in WAYS[body["from"], body["to"]])
            return not covered or any(len(list(decisions(index, body, name))) != 1 for name in body["required"])

        def is_refused(index, body):
            named = {gates[pred][0]["override"]["of"] for pred in self.preds[index] if pred in gates and "override" in gates[pred][0]}
            return any(gates[at][0]["verdict"] != "allow" and self.events[at]["id"] not in named
                       for name in body["required"] for at in decisions(index, body, name))

        def is_invalid(index, gate, name):
            given = gate.get("override")
            if given is None:
                return False
            of = next((pred for pred in self.preds[index] if self.events[pred]["id"] == given["of"]), None)
            if of in gates:
                other, other_name = gates[of]
                same = (other["task_id"], other["round"], other_name) == (gate["task_id"], gate["round"], name)
            else:
                same = of is not None and self.stubs[of] == "pruned" and self.events[of]["type"] == "GATE_DECISION"
            return not (same and gate["verdict"] == "allow" and given["actor"].startswith("operator:"))

        first("gate_missing", (i for i, body in transitions if lacks_gates(i, body)))
        first("gate_not_allowed", (i for i, body in transitions if is_refused(i, body)))
        first("override_invalid", (i for i, (gate, name) in gates.items() if is_invalid(i, gate, name)))


def find_run_log(events):
    last = events[-1] if events else None
    return last["body"] if last and last["type"] == "ARTIFACT" and last["body"].get("kind") == "run_log" else None


def verify(data, keys, integrity=False):
    """Checks a receipt; raises Refused with the first reason."""
    receipt = read_form(data)
    events = receipt["events"]
    places = check_graph(events)
    run_log = find_run_log(events)
    check_trust(receipt, keys, run_log)
    if integrity:
        return
    contract = Contract(events, places, keys)
    contract.check()
    if run_log is None:
        raise Refused("run_unbound")
    if run_log["state"] == "open":
        raise Refused("run_open")
    if contract.pruned or run_log["first_seq"] > 1:
        raise Refused("run_pruned")


def verdict(data, keys, integrity=False):
    """The verdict as R1 prints it, and the place of the event that it is about."""
    try:
        verify(data, keys, integrity)
    except Refused as refused:
        word = "UNTRUSTED" if refused.reason in UNTRUSTED else "INCOMPLETE" if refused.reason in INCOMPLETE else "INVALID"
        return f"{word} {refused.reason}", refused.index
    return "VALID", None


EXITS = {"VALID": 0, "INVALID": 1, "UNTRUSTED": 3, "INCOMPLETE": 4}

# Test 1 of RFC 8032 §7.1 signs the cases of the tests.
TEST_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def check_cases(path):
    """Compares verdicts with R1's own, case by case."""
    test_key, counts = Key.read(TEST_KEY), Counter()
    for line, text_line in enumerate(open(path), 1):
        case = json.loads(text_line)
        key = Key.read(case["key"]) if "key" in case else test_key
        found = verdict(base64.b64decode(case["receipt"]), [key])
        if found != (case["verdict"], case["event_index"]):
            print(f"case {line}: R1 says {case['verdict']} at {case['event_index']}, this {found[0]} at {found[1]}")
            return 1
        counts[found[0]] += 1
    print(f"{sum(counts.values())} receipts: both verifiers agree on all")
    for word, times in counts.most_common():
        print(f"  {times:6} {word}")
    return 0


def main():
    parser = argparse.ArgumentParser(description="Checks an R1 receipt without R1.")
    parser.add_argument("receipt", nargs="?")
    parser.add_argument("--key", action="append", default=[], help="a public key: a file, or 64 hex digits")
    parser.add_argument("--integrity", action="store_true", help="do not look at what events say")
    parser.add_argument("--cases", help="compare verdicts with those in this file")
    arguments = parser.parse_args()
    if arguments.cases:
        return check_cases(arguments.cases)
    try:
        data = open(arguments.receipt, "rb").read()
        keys = [Key.read(key if re.fullmatch("[0-9a-fA-F]{64}", key) else open(key).read()) for key in arguments.key]
    except (OSError, ValueError, KeyError, TypeError) as err:
        print(f"cannot read: {err}", file=sys.stderr)
        return 2
    word, index = verdict(data, keys, arguments.integrity)
    print(f"receipt verify: {word}" + ("" if index is None else f" (event {index})"))
    return EXITS[word.split()[0]]


if __name__ == "__main__":
    sys.exit(main())
