#!/usr/bin/env python3
"""Writes docs/conformance.md: which tests cover which numbered check.

    conformance.py           write the file
    conformance.py --check   fail if it is not what would be written

The checks are the numbered lines of `docs/conformance/FAMILY.md`. A test covers check N of a family if
its name begins with `FAMILY_NN_`. A test of a number that no list has is an error: it would look like
cover and be none. So is, per family, the same number twice.
"""

import argparse
import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = ROOT / "docs" / "conformance"
OUTPUT = ROOT / "docs" / "conformance.md"

FAMILIES = ("log", "ep", "stoke", "api", "rec")
# Test functions, and names in the list of a suite that a macro turns into tests for each backend.
NAME = re.compile(r"\b((%s)_(\d{2,3})_[a-z0-9_]+)\b" % "|".join(FAMILIES))
CHECK = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)

INTRODUCTION = """# Conformance

Made by `tools/conformance.py` from `docs/conformance/` and the names of the tests; `./test generated`
fails when it is out of date. A check without a test is not claimed.
"""


def read_checks(family):
    """Number → statement; None where the family has no list yet."""
    path = LISTS / f"{family}.md"
    if not path.exists():
        return None
    checks = {}
    for number, statement in CHECK.findall(path.read_text()):
        if int(number) in checks:
            sys.exit(f"{path.relative_to(ROOT)}: check {number} is there twice")
        checks[int(number)] = statement
    return checks


def find_tests():
    """Family → number → test name → crates that have it."""
    tests = {family: defaultdict(lambda: defaultdict(set)) for family in FAMILIES}
    for path in sorted((ROOT / "crates").glob("*/**/*.rs")):
        crate = path.relative_to(ROOT).parts[1]
        for name, family, number in NAME.findall(without_comments(path.read_text())):
            tests[family][int(number)][name].add(crate)
    return tests


def without_comments(source):
    return re.sub(r"//[^\n]*", "", source)


def section(family, checks, tests):
    strays = sorted(name for number in tests if number not in checks for name in tests[number])
    if strays:
        sys.exit(f"docs/conformance/{family}.md has no check for: {', '.join(strays)}")
    covered = sum(number in tests for number in checks)
    lines = [f"\n## {family}: {covered} of {len(checks)} checks have tests\n", "| # | must hold | tests |", "|---|---|---|"]
    for number, statement in sorted(checks.items()):
        lines.append(f"| {number} | {statement} | {describe(tests.get(number, {}))} |")
    open_checks = [str(number) for number in sorted(checks) if number not in tests]
    if open_checks:
        lines.append(f"\nNot covered yet: {', '.join(open_checks)}.")
    return "\n".join(lines) + "\n"


def describe(tests):
    named = sorted((", ".join(sorted(crates)), name) for name, crates in tests.items())
    return "<br>".join(f"{crates}: `{name}`" for crates, name in named) or "–"


def render():
    tests = find_tests()
    parts = [INTRODUCTION]
    for family in FAMILIES:
        checks = read_checks(family)
        if checks is not None:
            parts.append(section(family, checks, tests[family]))
        elif tests[family]:
            sys.exit(f"there are {family}_NN_ tests but no docs/conformance/{family}.md")
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description="Writes docs/conformance.md.")
    parser.add_argument("--check", action="store_true", help="only compare, and fail on a difference")
    arguments = parser.parse_args()
    text = render()
    if not arguments.check:
        OUTPUT.write_text(text)
    elif not OUTPUT.exists() or OUTPUT.read_text() != text:
        print("docs/conformance.md is out of date: run `python3 tools/conformance.py`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
