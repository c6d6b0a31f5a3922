#!/usr/bin/env python3
"""The independent verifier knows the published vectors, and the edges of JSON and Ed25519."""

import json
import pathlib
import unittest

from verify_receipt import TEST_KEY, Key, canonical, moment, read_json, verdict

FIXTURES = pathlib.Path(__file__).parent.parent / "crates/receipt/tests/fixtures"
KEYS = [Key.read(TEST_KEY)]


def vector(name):
    return (FIXTURES / f"vector_{name}.receipt.json").read_bytes()


class VerifyReceipt(unittest.TestCase):
    def test_the_vectors_get_their_verdicts(self):
        self.assertEqual(verdict(vector("a"), KEYS, integrity=True), ("VALID", None))
        self.assertEqual(verdict(vector("a"), KEYS), ("INVALID bad_body", 0))
        self.assertEqual(verdict(vector("b"), KEYS), ("VALID", None))
        self.assertEqual(verdict(vector("b"), []), ("UNTRUSTED key_unknown", None))

    def test_no_flipped_bit_is_valid(self):
        data = vector("b")
        for at in range(0, len(data) * 8, 13):
            damaged = bytearray(data)
            damaged[at // 8] ^= 1 << (at % 8)
            self.assertNotEqual(verdict(bytes(damaged), KEYS)[0], "VALID", f"bit {at}")

    def test_the_key_has_its_name(self):
        self.assertEqual(KEYS[0].kid, "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")

    def test_keys_of_small_order_are_weak(self):
        for public in ("00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f", "ee" + "ff" * 30 + "ff"):
            self.assertTrue(Key.read(public).is_weak(), public)
        self.assertFalse(KEYS[0].is_weak())

    def test_json_beyond_the_librarys_depth_is_still_json_or_not(self):
        deep = "[" * 100_000
        self.assertIsNotNone(read_json(deep + "]" * 100_000))
        self.assertIsNone(read_json(deep + "]" * 99_999))
        self.assertIsNone(read_json(deep + "1," + "]" * 100_000))
        self.assertEqual(verdict((deep + "]" * 100_000).encode(), KEYS)[0], "INVALID too_deep")

    def test_keys_are_sorted_by_utf16(self):
        self.assertEqual(canonical({"\ue000": 1, "\U00010000": 2}), '{"\U00010000":2,"\ue000":1}')

    def test_key_dates_count(self):
        receipt = json.loads(vector("b"))
        self.assertEqual(receipt["events"][-1]["body"]["at"], "1777000000015000000")
        entry = {"kid": KEYS[0].kid, "use": "receipt", "not_before": "2026-04-24T03:06:40Z"}
        for change, expected in (
            ({}, "VALID"),
            ({"use": "log"}, "UNTRUSTED key_use"),
            ({"not_before": "2026-04-24T03:06:40.015000001Z"}, "UNTRUSTED key_not_yet_valid"),
            ({"not_before": "2026-04-24T05:06:40.015+02:00"}, "VALID"),
            ({"not_after": "2026-04-24T03:06:40Z"}, "UNTRUSTED key_expired"),
            ({"not_after": "2026-04-24T03:06:40.015Z"}, "VALID"),
            ({"revoked_at": "2026-04-24T03:06:40.014999999Z", "revoked_reason": "retired"}, "UNTRUSTED key_revoked"),
            ({"revoked_at": "2026-04-24T03:06:40.015Z", "revoked_reason": "retired"}, "VALID"),
            ({"revoked_at": "2027-01-01T00:00:00Z", "revoked_reason": "retired"}, "VALID"),
            ({"revoked_at": "2027-01-01T00:00:00Z", "revoked_reason": "compromised"}, "UNTRUSTED key_revoked"),
        ):
            key = Key(KEYS[0].public, entry | change)
            self.assertEqual(verdict(vector("b"), [key])[0], expected, change)

    def test_of_two_entries_the_stricter_counts(self):
        valid = {"kid": KEYS[0].kid, "use": "receipt", "not_before": "1970-01-01T00:00:00Z"}
        compromised = valid | {"revoked_at": "2027-01-01T00:00:00Z", "revoked_reason": "compromised"}
        keys = [Key(KEYS[0].public, entry) for entry in (valid, compromised)]
        for order in (keys, keys[::-1]):
            self.assertEqual(verdict(vector("b"), order)[0], "UNTRUSTED key_revoked")

    def test_times_have_up_to_nine_digits_of_a_second(self):
        self.assertEqual(moment("1970-01-01T00:00:01.5Z"), 1_500_000_000)
        self.assertEqual(moment("1969-12-31T23:59:59.999999999Z"), -1)
        for text in ("1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00.0000000001Z", "soon"):
            with self.assertRaises(ValueError):
                moment(text)


if __name__ == "__main__":
    unittest.main()
