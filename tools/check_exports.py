#!/usr/bin/env python3
"""Checks what `r1 receipt create --export` writes with the libraries of others.

    check_exports.py DIRECTORY

DIRECTORY holds the receipt, its exports and the attest key as `attest.pem`. Each file is checked as it is, and must be
refused after one changed byte. Who says so is securesystemslib (DSSE), in-toto-attestation (the statement), rfc8785
(its bytes) and cryptography; what they have no part for, the tree of RFC 6962, is written out below.
"""

import base64
import hashlib
import json
import pathlib
import sys

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def attest_key(directory):
    """The P-256 key, under the name that the envelope calls it by."""
    pem = (directory / "attest.pem").read_text()
    keyid = json.loads((directory / "attest.json").read_text())["kid"].removeprefix("kid:")
    return SSlibKey(keyid, "ecdsa", "ecdsa-sha2-nistp256", {"public": pem})


def decode(text):
    """The bytes of base64 in its one right spelling; decoders take others for the same bytes."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not in canonical base64")
    return data


def check_envelope(text, key):
    """Gives the payload of an envelope that `key` signed."""
    value = json.loads(text)
    decode(value["payload"])
    decode(value["signatures"][0]["sig"])
    envelope = Envelope.from_dict(value)
    if list(envelope.signatures) != [key.keyid]:
        raise ValueError("another key id")
    envelope.verify([key], 1)
    return envelope.payload


def check_statement(payload, receipt):
    """The statement is one of in-toto, in canonical spelling, about this receipt."""
    value = json.loads(payload)
    if rfc8785.dumps(value) != payload:
        raise ValueError("not in canonical spelling")
    parsed = json_format.Parse(payload, statement_pb2.Statement())
    Statement.copy_from_pb(parsed).validate()
    if parsed.subject[0].digest["sha256"] != hashlib.sha256(receipt).hexdigest():
        raise ValueError("a statement about another receipt")
    if not value["predicate"]["not_proved"]:
        raise ValueError("it must say what it does not prove")
    return value


def check_note(note, vkey):
    """Gives origin, size and root of a checkpoint that `vkey` signed."""
    name, key_id, material = vkey.strip().split("+", 2)
    material = decode(material)
    if hashlib.sha256(f"{name}\n".encode() + material).digest()[:4].hex() != key_id:
        raise ValueError("the key id does not follow from the key")
    text, signatures = note.split("\n\n")
    start = f"\u2014 {name} "
    found = [line[len(start):] for line in signatures.split("\n") if line.startswith(start)]
    signature = decode(found[0])
    if signature[:4].hex() != key_id:
        raise ValueError("signed with another key")
    Ed25519PublicKey.from_public_bytes(material[1:]).verify(signature[4:], f"{text}\n".encode())
    origin, size, root = text.split("\n")
    return origin, int(size), decode(root)


def check_proof(text, vkey):
    """Gives leaf, place and origin of a tlog-proof whose checkpoint `vkey` signed."""
    head, note = text.split("\n\n", 1)
    version, extra, index, *path = head.split("\n")
    if version != "c2sp.org/tlog-proof@v1":
        raise ValueError("no tlog-proof")
    leaf = decode(extra.removeprefix("extra "))
    index = int(index.removeprefix("index "))
    origin, size, root = check_note(note, vkey)
    if root_from(leaf, index, size, [decode(item) for item in path]) != root:
        raise ValueError("the proof leads to another root")
    return leaf, index, origin


def root_from(leaf, index, size, path):
    """The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2)."""
    fn, sn = index, size - 1
    if fn > sn:
        raise ValueError("no such leaf")
    node = hashlib.sha256(b"\0" + leaf).digest()
    for item in path:
        if sn == 0:
            raise ValueError("too long a proof")
        if fn & 1 or fn == sn:
            node = hashlib.sha256(b"\1" + item + node).digest()
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = hashlib.sha256(b"\1" + node + item).digest()
        fn, sn = fn >> 1, sn >> 1
    if sn:
        raise ValueError("too short a proof")
    return node


def refuses(check, text):
    """Every changed byte is refused: some in each file, over its whole length."""
    step = max(1, len(text) // 97)
    for at in range(0, len(text), step):
        damaged = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1:]
        try:
            check(damaged)
        except (ValueError, KeyError, IndexError, TypeError, UnicodeError, InvalidSignature, VerificationError):
            continue
        except json_format.ParseError:
            continue
        sys.exit(f"byte {at} was changed, and nobody noticed: {damaged[max(0, at - 20):at + 20]!r}")


def main():
    directory = pathlib.Path(sys.argv[1])
    one = lambda pattern: next(path for path in sorted(directory.glob(pattern)))
    receipt = one("*.receipt.json").read_bytes()
    key = attest_key(directory)

    def envelope(text):
        return check_statement(check_envelope(text, key), receipt)

    text = one("*.intoto.json").read_text()
    statement = envelope(text)
    refuses(envelope, text)

    vkey = one("run_*.vkey").read_text()
    note = one("*.checkpoint").read_text()
    origin, size, root = check_note(note, vkey)
    log = statement["predicate"]["log"]
    assert origin.endswith(f"/runs/{log['run_id']}") and (size, root.hex()) == (log["size"], log["root_sha256"])
    refuses(lambda text: check_note(text, vkey), note)

    instance = (directory / "instance.vkey").read_text()
    proof = one("*.receipt.tlog-proof").read_text()
    leaf, _, _ = check_proof(proof, instance)
    entry = json.loads(leaf)["spec"]["dsseV002"]
    payload = base64.b64decode(json.loads(text)["payload"])
    assert base64.b64decode(entry["payloadHash"]["digest"]) == hashlib.sha256(payload).digest()
    refuses(lambda text: check_proof(text, instance), proof)

    event = one("run_*-*.tlog-proof").read_text()
    assert check_proof(event, vkey)[2] == origin
    refuses(lambda text: check_proof(text, vkey), event)
    print("statement, checkpoint and proofs hold, and no changed byte does")


if __name__ == "__main__":
    main()
