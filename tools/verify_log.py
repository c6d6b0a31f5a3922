#!/usr/bin/env python3
"""Checks an R1 log without R1.

    verify_log.py RUN.cborseq [--key HEX]…   a log as `r1 log export --format cborseq` writes it
    verify_log.py golden.json                the project's golden vectors

This is a second implementation of the v2 log format, written from its description and sharing no code
with R1. It recomputes every event hash, the chain, the Merkle tree with its proofs, and the message
under each signature; with the signer's public key (32 bytes in hex) it verifies the signature too.

It says what holds and exits with 0, or names the first thing that does not and exits with 1; 2 means
that the file could not be read.

The format in short. A log is a CBOR sequence (RFC 8742) of events `[header, payload]` and, behind them,
side records: maps with a text key `record`. Everything is canonical CBOR (RFC 8949 §4.2.1).

    event hash  = BLAKE3(header)            header.prev_hash = event hash of the event before
    leaf        = BLAKE3(00 ‖ header)       header.payload_hash = BLAKE3(payload)
    node        = BLAKE3(01 ‖ left ‖ right) in the shape of RFC 9162 §2.1
    signed      = "R1-SEAL-v1" 00 ‖ u16 length ‖ run_id ‖ u64 size ‖ root ‖ hash of the last event

The chain covers headers only, so an erased payload (null) breaks nothing; an erase record then names
the event that says who erased it and why. A pruned log continues the hash and the tree peaks that its
prune record keeps.
"""

import argparse
import base64
import hashlib
import json
import math
import struct
import sys

try:
    import cbor2
    from blake3 import blake3
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
except ImportError as missing:
    print(f"{missing}; get what this needs with: pip install blake3 cbor2 cryptography", file=sys.stderr)
    sys.exit(2)

HEADER_KEYS = ["ts", "seq", "kind", "run_id", "prev_hash", "payload_hash", "payload_size"]
TERMINAL_KINDS = {12, 13, 14}


class Broken(Exception):
    """Something in the log does not hold."""


def demand(holds, what):
    if not holds:
        raise Broken(what)


# --- canonical CBOR -------------------------------------------------------------------------------


class Map(list):
    """A CBOR map as a list of pairs: keys may be of any type, and their order matters."""

    def get(self, key):
        return next((value for name, value in self if type(name) is str and name == key), None)

    def keys(self):
        return [name for name, _ in self]


class Tag(tuple):
    """A tag's number and its item."""


class Simple(int):
    """A simple value other than false, true and null."""


def read_item(data, at, depth=0):
    """Reads one item at `at`; gives the value and where it ends. Refuses what is not canonical."""
    demand(depth <= 32, "CBOR nested too deeply")
    demand(at < len(data), "CBOR cut off")
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    demand(info < 28, "CBOR of indefinite length or with a reserved head")
    argument = info
    if info >= 24:
        width = 1 << (info - 24)
        demand(at + width <= len(data), "CBOR cut off")
        argument = int.from_bytes(data[at : at + width], "big")
        at += width
        if major != 7:
            smallest = 24 if width == 1 else 1 << (4 * width)
            demand(argument >= smallest, "CBOR head not in its shortest form")
    if major == 0:
        return argument, at
    if major == 1:
        return -1 - argument, at
    if major in (2, 3):
        content = data[at : at + argument]
        demand(len(content) == argument, "CBOR cut off")
        return (content if major == 2 else utf8(content)), at + argument
    if major == 4:
        items = []
        for _ in range(argument):
            item, at = read_item(data, at, depth + 1)
            items.append(item)
        return items, at
    if major == 5:
        pairs, before = Map(), b""
        for _ in range(argument):
            start = at
            key, at = read_item(data, at, depth + 1)
            encoded = data[start:at]
            demand(before < encoded, "CBOR map keys not sorted and unique")
            before = encoded
            value, at = read_item(data, at, depth + 1)
            pairs.append((key, value))
        return pairs, at
    if major == 6:
        item, at = read_item(data, at, depth + 1)
        return Tag((argument, item)), at
    if info in (20, 21, 22):
        return {20: False, 21: True, 22: None}[info], at
    if info >= 25:
        return read_float(info, argument), at
    demand(info < 24 or argument >= 32, "CBOR simple value not in its shortest form")
    return Simple(argument), at


def read_float(info, bits):
    """A float, which must be in the shortest width that keeps its value; NaN is 0x7e00."""
    codes = {25: ">e", 26: ">f", 27: ">d"}
    value = struct.unpack(codes[info], bits.to_bytes(1 << (info - 24), "big"))[0]
    if math.isnan(value):
        demand((info, bits) == (25, 0x7E00), "CBOR NaN not in its canonical form")
        return value
    for shorter in range(25, info):
        try:
            lossless = struct.unpack(codes[shorter], struct.pack(codes[shorter], value))[0] == value
        except OverflowError:
            lossless = False
        demand(not lossless, "CBOR float not in its shortest form")
    return value


def utf8(content):
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Broken("CBOR text that is not UTF-8") from None


# --- hashes, tree and proofs ----------------------------------------------------------------------


def blake3_hash(data):
    return blake3(data).digest()


def sha256_hash(data):
    return hashlib.sha256(data).digest()


class Tree:
    """The RFC 9162 tree of a growing log: roots of its perfect subtrees, largest first."""

    def __init__(self, digest=blake3_hash, size=0, peaks=()):
        demand(len(peaks) == size.bit_count(), "the number of tree peaks does not fit the size")
        self.digest, self.size, self.peaks = digest, size, list(peaks)

    def push(self, header):
        node = self.digest(b"\0" + header)
        size = self.size
        while size & 1:
            node = self.digest(b"\1" + self.peaks.pop() + node)
            size >>= 1
        self.peaks.append(node)
        self.size += 1

    def root(self):
        if not self.peaks:
            return self.digest(b"")
        *rest, node = self.peaks
        for left in reversed(rest):
            node = self.digest(b"\1" + left + node)
        return node


def root_of(leaves):
    """MTH of RFC 9162 §2.1.1, as it is defined, over leaf hashes."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return blake3_hash(b"\1" + root_of(leaves[:split]) + root_of(leaves[split:]))


def inclusion_proof(index, leaves):
    """PATH of RFC 9162 §2.1.3.1."""
    if len(leaves) == 1:
        return []
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if index < split:
        return inclusion_proof(index, leaves[:split]) + [root_of(leaves[split:])]
    return inclusion_proof(index - split, leaves[split:]) + [root_of(leaves[:split])]


def consistency_proof(older, leaves, whole=True):
    """SUBPROOF of RFC 9162 §2.1.4.1."""
    if older == len(leaves):
        return [] if whole else [root_of(leaves)]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if older <= split:
        return consistency_proof(older, leaves[:split], whole) + [root_of(leaves[split:])]
    return consistency_proof(older - split, leaves[split:], False) + [root_of(leaves[:split])]


# --- signatures -----------------------------------------------------------------------------------


def key_id(public):
    """`kid:` and the RFC 7638 thumbprint of the key."""
    x = base64.urlsafe_b64encode(public).rstrip(b"=").decode()
    jwk = '{"crv":"Ed25519","kty":"OKP","x":"%s"}' % x
    return "kid:" + base64.urlsafe_b64encode(sha256_hash(jwk.encode())).rstrip(b"=").decode()


def seal_message(run_id, size, root, head):
    name = run_id.encode()
    return b"R1-SEAL-v1\0" + struct.pack(">H", len(name)) + name + struct.pack(">Q", size) + root + head


def verify_signature(public, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        raise Broken("a signature does not verify") from None


# --- a log ----------------------------------------------------------------------------------------


def read_sequence(data):
    """Events as (header bytes, header, payload or None) and side records, in their order."""
    events, records, at = [], [], 0
    while at < len(data):
        start = at
        item, at = read_item(data, at)
        if isinstance(item, list) and not isinstance(item, Map):
            demand(len(item) == 2 and isinstance(item[0], Map), "an item is neither an event nor a record")
            demand(not records, "an event stands behind a record")
            _, header_end = read_item(data, start + 1)
            events.append((data[start + 1 : header_end], item[0], item[1]))
        else:
            demand(isinstance(item, Map) and isinstance(item.get("record"), str), "an item is neither an event nor a record")
            records.append(item)
    return events, records


class Log:
    """Walks one run's events and remembers where it stood after each."""

    def __init__(self, prune=None):
        self.run_id, self.size, self.head, self.tree, self.kind = None, 0, b"", Tree(), None
        # Before the first event nothing has been hashed: zeros stand for the last event.
        self.standings = {0: (self.tree.root(), bytes(32))}
        self.erased = set()
        self.named = {}
        if prune is not None:
            demand(prune.get("schema_version") == 2, "the prune record is not of a v2 log")
            self.run_id, self.size, self.head = prune.get("run_id"), prune.get("through"), prune.get("last_hash")
            self.tree = Tree(size=self.size, peaks=prune.get("peaks"))
            Tree(sha256_hash, self.size, prune.get("peaks_sha256"))
            self.standings[self.size] = (self.tree.root(), self.head)

    def follow(self, header_bytes, header, payload):
        seq = self.size + 1
        demand(header.keys() == HEADER_KEYS, f"event {seq}: not the keys of a v2 header")
        demand(header.get("seq") == seq, f"event {seq}: its seq is {header.get('seq')}")
        demand(self.run_id in (None, header.get("run_id")), f"event {seq}: belongs to {header.get('run_id')}")
        demand(header.get("prev_hash") == self.head, f"event {seq}: does not continue the chain")
        demand(self.kind not in TERMINAL_KINDS, f"event {seq}: stands behind the terminal event")
        demand((header.get("kind") == 1) == (seq == 1), f"event {seq}: RunStarted is the first event and no other")
        if payload is None:
            self.erased.add(seq)
        else:
            self.check_payload(seq, header, payload)
        self.run_id, self.size, self.kind = header.get("run_id"), seq, header.get("kind")
        self.head = blake3_hash(header_bytes)
        self.named[seq] = (self.head, header.get("ts"))
        self.tree.push(header_bytes)
        self.standings[seq] = (self.tree.root(), self.head)

    def check_payload(self, seq, header, payload):
        demand(isinstance(payload, bytes), f"event {seq}: its payload is not a byte string")
        demand(blake3_hash(payload) == header.get("payload_hash"), f"event {seq}: the payload is not the one that was logged")
        demand(len(payload) == header.get("payload_size"), f"event {seq}: the payload has another size")
        body, end = read_item(payload, 0)
        demand(end == len(payload) and isinstance(body, Map), f"event {seq}: the payload is not one map")
        if header.get("kind") in TERMINAL_KINDS:
            demand(body.get("merkle_root") == self.tree.root(), f"event {seq}: names another Merkle root")
            demand(body.get("log_size") == self.size, f"event {seq}: names another log size")


def check_record(log, record, keys):
    """Checks one side record against the log; gives a line that says what it shows."""
    name = record.get("record")
    if name == "erase":
        seq, redaction = record.get("seq"), record.get("redaction")
        demand(seq in log.erased or seq not in log.standings, f"event {seq} has an erase record and a payload")
        if redaction.get("run_id") == log.run_id and redaction.get("seq") in log.named:
            named = (redaction.get("hash"), redaction.get("ts"))
            demand(log.named[redaction.get("seq")] == named, f"the erase record of event {seq} names another event")
        log.erased.discard(seq)
        return f"event {seq} erased, see event {redaction.get('seq')} of {redaction.get('run_id')}"
    if name == "prune":
        return f"pruned through event {record.get('through')}"
    if name in ("seal", "checkpoint"):
        size = record.get("size")
        demand(record.get("run_id") == log.run_id, f"the {name} is another run's")
        demand(name == "checkpoint" or size == log.size, f"the seal covers {size} events of {log.size}")
        demand(size <= log.size, f"the {name} covers {size} events, the log has {log.size}")
        if size in log.standings:
            root, head = log.standings[size]
            demand(record.get("root") == root, f"the {name} names another Merkle root")
            demand(record.get("head") == head, f"the {name} names another last event")
        message = seal_message(log.run_id, size, record.get("root"), record.get("head"))
        public = keys.get(record.get("key_id"))
        if public is None:
            return f"{name} of {size} events by {record.get('key_id')} (signature not checked: give its key with --key)"
        verify_signature(public, record.get("signature"), message)
        return f"{name} of {size} events by {record.get('key_id')}, signature good"
    return f"record `{name}` is unknown here and was not checked"


def verify_export(data, keys=()):
    """Checks a whole export; gives the lines that say what holds."""
    try:
        return check_export(data, keys)
    except (AttributeError, TypeError, ValueError, struct.error):
        # Python's way to say that a field was missing or of another type.
        raise Broken("a record lacks what it should have") from None


def check_export(data, keys):
    known = {key_id(key): key for key in keys}
    events, records = read_sequence(data)
    demand(events, "the file holds no event")
    # A log that was pruned twice continues the later prune.
    prunes = [record for record in records if record.get("record") == "prune"]
    log = Log(max(prunes, key=lambda record: record.get("through"), default=None))
    for event in events:
        log.follow(*event)
    lines = [check_record(log, record, known) for record in records]
    demand(not log.erased, f"the payload of event {min(log.erased, default=0)} is missing without an erase record")
    state = "complete" if log.kind in TERMINAL_KINDS else "open"
    return [f"{log.run_id}: chain and tree hold, {log.size} events, {state}", f"root {log.tree.root().hex()}"] + lines


# --- the golden vectors ---------------------------------------------------------------------------


def describe(value):
    """The JSON form in which the golden vectors spell out a CBOR value."""
    if isinstance(value, Map):
        if all(isinstance(key, str) for key in value.keys()):
            return {key: describe(item) for key, item in value}
        return {"$map": [[describe(key), describe(item)] for key, item in value]}
    if isinstance(value, Tag):
        return {"$tag": [value[0], describe(value[1])]}
    if isinstance(value, Simple):
        return {"$simple": int(value)}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, list):
        return [describe(item) for item in value]
    if isinstance(value, int) and value < -(2**63):
        return {"$int": str(value)}
    if isinstance(value, float):
        return {"$float": value}
    return value


def same_description(ours, golden):
    if isinstance(golden, dict) and golden.keys() == {"$float"}:
        return isinstance(ours, dict) and repr(ours.get("$float")) == repr(float(golden["$float"]))
    if isinstance(golden, dict) and isinstance(ours, dict):
        return ours.keys() == golden.keys() and all(same_description(ours[key], golden[key]) for key in golden)
    if isinstance(golden, list) and isinstance(ours, list):
        return len(ours) == len(golden) and all(map(same_description, ours, golden))
    return type(ours) is type(golden) and ours == golden


def verify_golden_run(run, private):
    log, sha256_tree, leaves = Log(), Tree(sha256_hash), []
    for event in run["events"]:
        where = f"{run['run_id']} event {event['seq']}"
        header_bytes, payload = bytes.fromhex(event["header_cbor"]), bytes.fromhex(event["payload_cbor"])
        header, end = read_item(header_bytes, 0)
        demand(end == len(header_bytes), f"{where}: bytes behind the header")
        demand(header.get("kind") == event["kind"], f"{where}: kind")
        demand(same_description(describe(read_item(payload, 0)[0]), event["payload"]), f"{where}: payload")
        # A third opinion, from a library that many others use.
        demand(list(cbor2.loads(header_bytes)) == HEADER_KEYS, f"{where}: cbor2 reads another header")
        log.follow(header_bytes, header, payload)
        sha256_tree.push(header_bytes)
        leaves.append(blake3_hash(b"\0" + header_bytes))
        demand(log.head.hex() == event["event_hash"], f"{where}: event hash")
        demand(leaves[-1].hex() == event["leaf_hash"], f"{where}: leaf hash")
        demand(log.tree.root().hex() == event["root"], f"{where}: root")
        demand(root_of(leaves).hex() == event["root"], f"{where}: root by definition")
        demand(sha256_tree.root().hex() == event["root_sha256"], f"{where}: SHA-256 root")
    verify_golden_seal(run, log, private)
    for proof in run["inclusion"]:
        ours = inclusion_proof(proof["seq"] - 1, leaves[: proof["size"]])
        demand([node.hex() for node in ours] == proof["proof"], f"{run['run_id']}: inclusion proof of {proof['seq']}")
    for proof in run["consistency"]:
        ours = consistency_proof(proof["older"], leaves[: proof["newer"]])
        demand([node.hex() for node in ours] == proof["proof"], f"{run['run_id']}: consistency proof of {proof['older']}")
    return f"{run['run_id']}: {log.size} events, {len(run['inclusion'])} + {len(run['consistency'])} proofs and the seal agree"


def verify_golden_seal(run, log, private):
    seal = run["seal"]
    public = private.public_key().public_bytes_raw()
    message = seal_message(log.run_id, log.size, log.tree.root(), log.head)
    demand(message.hex() == seal["message"], f"{log.run_id}: signed message")
    demand(private.sign(message).hex() == seal["signature"], f"{log.run_id}: signature")
    demand(key_id(public) == seal["key_id"], f"{log.run_id}: key id")
    record, _ = read_item(bytes.fromhex(seal["record_cbor"]), 0)
    check_record(log, record, {key_id(public): public})


def verify_golden(data):
    golden = json.loads(data)
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(golden["secret_key"]))
    return [verify_golden_run(run, private) for run in golden["runs"]]


def main():
    parser = argparse.ArgumentParser(description="Checks an R1 v2 log, or the golden vectors, without R1.")
    parser.add_argument("file", help="a .cborseq export, or golden.json")
    parser.add_argument("--key", action="append", default=[], type=bytes.fromhex, metavar="HEX", help="an Ed25519 public key")
    arguments = parser.parse_args()
    try:
        with open(arguments.file, "rb") as file:
            data = file.read()
    except OSError as err:
        print(f"cannot read {arguments.file}: {err.strerror}", file=sys.stderr)
        return 2
    try:
        lines = verify_golden(data) if arguments.file.endswith(".json") else verify_export(data, arguments.key)
    except Broken as err:
        print(f"{arguments.file}: {err}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
