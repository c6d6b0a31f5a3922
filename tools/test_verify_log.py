#!/usr/bin/env python3
"""The independent verifier agrees with R1's golden exports, and sees through damaged ones."""

import pathlib
import unittest

from verify_log import Broken, read_item, verify_export

FIXTURES = pathlib.Path(__file__).parent.parent / "crates/event/tests/fixtures/v2"
# Test 1 of RFC 8032 §7.1 signs the golden logs.
KEY = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")


def export(name):
    return (FIXTURES / name).read_bytes()


def items(data):
    found, at = [], 0
    while at < len(data):
        _, end = read_item(data, at)
        found.append(data[at:end])
        at = end
    return found


def verdict(data):
    try:
        return verify_export(data, [KEY])
    except Broken as err:
        return str(err)


class VerifyLog(unittest.TestCase):
    def test_sound_exports_hold(self):
        self.assertIn("signature good", verdict(export("golden.cborseq"))[-1])
        self.assertIn("event 2 erased, see event 3", " ".join(verdict(export("erased.cborseq"))))
        self.assertIn("pruned through event 11", " ".join(verdict(export("pruned.cborseq"))))

    def test_a_flipped_bit_never_gives_the_same_verdict(self):
        data = export("golden.cborseq")
        sound = verdict(data)
        for at in range(0, len(data), 3):
            damaged = bytearray(data)
            damaged[at] ^= 1 << (at // 3 % 8)
            self.assertNotEqual(verdict(bytes(damaged)), sound, f"bit {at // 3 % 8} of byte {at}")

    def test_dropped_repeated_and_swapped_events_are_found(self):
        sound = items(export("golden.cborseq"))
        for at in range(15):
            self.assertIsInstance(verdict(b"".join(sound[:at] + sound[at + 1 :])), str)
            self.assertIsInstance(verdict(b"".join(sound[: at + 1] + sound[at:])), str)
            self.assertIsInstance(verdict(b"".join(sound[:at] + [sound[at + 1], sound[at]] + sound[at + 2 :])), str)

    def test_an_erasure_without_its_record_is_found(self):
        sound = items(export("erased.cborseq"))
        self.assertIn("missing without an erase record", verdict(b"".join(sound[:4] + sound[5:])))


if __name__ == "__main__":
    unittest.main()
