//! How many tests ran and passed, told from what test runners print.

use std::sync::LazyLock;

use regex::Regex;

/// Tests of one command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Counts {
    pub(super) const fn run(self) -> usize {
        self.passed + self.failed
    }
}

/// What each runner prints at its end. A line is read by the first that knows it.
struct Patterns {
    colours: Regex,
    cargo: Regex,
    nextest: Regex,
    pytest: Regex,
    unittest: Regex,
    unittest_failed: Regex,
    jest: Regex,
    vitest: Regex,
    mocha: Regex,
    tap: Regex,
    go_test: Regex,
    go_package: Regex,
}

#[expect(clippy::expect_used, reason = "the expressions are constants, and tests use them")]
static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let regex = |text: &str| Regex::new(text).expect("a sound expression");
    Patterns {
        colours: regex("\x1b\\[[0-9;]*[A-Za-z]"),
        cargo: regex(r"^test result: \w+\. (\d+) passed; (\d+) failed;"),
        nextest: regex(r"^\s*Summary \[.*?\] +(\d+)(?:/\d+)? tests? run: (\d+) passed"),
        pytest: regex(
            r"^(?:=+ )?((?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests passed)(?:, )?)+|no tests ran) in [\d.:]+ ?s",
        ),
        unittest: regex(r"^Ran (\d+) tests? in "),
        unittest_failed: regex(r"^FAILED \((.*)\)$"),
        jest: regex(r"^Tests: +(.*\d+ total)$"),
        vitest: regex(r"^ +Tests +(.*?)\s*\(\d+\)$"),
        mocha: regex(r"^ +(\d+) (passing|failing)\b"),
        tap: regex(r"^(?:#|ℹ) (pass|fail) (\d+)$"),
        go_test: regex(r"^--- (PASS|FAIL): "),
        go_package: regex(r"^(ok|FAIL|---)\s+\S+\s+(?:\(cached\)|[\d.]+s)(.*)$"),
    }
});

/// What the runners that are known say together; `None` if none of them spoke.
pub(super) fn count(output: &str) -> Option<Counts> {
    let patterns = &*PATTERNS;
    let output = patterns.colours.replace_all(output, "");
    let mut counts = Counts::default();
    let mut spoke = false;
    let mut go = Go::default();
    for line in output.lines() {
        let number = |text: &str| text.parse::<usize>().unwrap_or(0);
        let (mut passed, mut failed) = (0, 0);
        if let Some(found) = patterns.cargo.captures(line) {
            (passed, failed) = (number(&found[1]), number(&found[2]));
        } else if let Some(found) = patterns.nextest.captures(line) {
            (passed, failed) = (number(&found[2]), number(&found[1]).saturating_sub(number(&found[2])));
        } else if let Some(found) = patterns.pytest.captures(line) {
            passed = sum(&found[1], &["passed"]);
            failed = sum(&found[1], &["failed", "error", "errors"]);
        } else if let Some(found) = patterns.unittest.captures(line) {
            passed = number(&found[1]);
        } else if let Some(found) = patterns.unittest_failed.captures(line) {
            // The sum of all came before.
            failed = found[1].split(", ").filter_map(|part| part.split_once('=')).map(|(_, count)| number(count)).sum();
            counts.passed = counts.passed.saturating_sub(failed);
        } else if let Some(found) = patterns.jest.captures(line).or_else(|| patterns.vitest.captures(line)) {
            (passed, failed) = (sum(&found[1], &["passed"]), sum(&found[1], &["failed"]));
        } else if let Some(found) = patterns.mocha.captures(line) {
            let count = number(&found[1]);
            if &found[2] == "passing" { passed = count } else { failed = count }
        } else if let Some(found) = patterns.tap.captures(line) {
            let count = number(&found[2]);
            if &found[1] == "pass" { passed = count } else { failed = count }
        } else {
            spoke |= go.hear(line, patterns);
            continue;
        }
        spoke = true;
        counts.passed += passed;
        counts.failed += failed;
    }
    let go = go.counts();
    let counts = Counts { passed: counts.passed + go.passed, failed: counts.failed + go.failed };
    spoke.then_some(counts)
}

/// `go test` names single tests only if told to; without, packages count.
#[derive(Default)]
struct Go {
    tests: Counts,
    packages: Counts,
}

impl Go {
    fn hear(&mut self, line: &str, patterns: &Patterns) -> bool {
        if let Some(found) = patterns.go_test.captures(line) {
            if &found[1] == "PASS" {
                self.tests.passed += 1
            } else {
                self.tests.failed += 1
            }
            return true;
        }
        match patterns.go_package.captures(line) {
            Some(found) if &found[1] == "FAIL" => self.packages.failed += 1,
            Some(found) if &found[1] == "ok" => {
                self.packages.passed += usize::from(!found[2].contains("[no tests to run]"));
            }
            Some(_) | None => return line.contains("[no test files]"),
        }
        true
    }

    fn counts(self) -> Counts {
        if self.tests.passed > 0 {
            return self.tests;
        }
        // Without `-v` only tests that fail have a line; packages say of the rest.
        Counts { failed: self.packages.failed.max(self.tests.failed), ..self.packages }
    }
}

/// The numbers before these words.
fn sum(text: &str, words: &[&str]) -> usize {
    let mut before = "";
    let mut sum = 0;
    for part in text.split([' ', ',', '|']).filter(|part| !part.is_empty()) {
        if words.contains(&part) {
            sum += before.parse().unwrap_or(0);
        }
        before = part;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_test_runners_print_is_counted() {
        let cases = [
            (
                "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\ntest result: FAILED. 1 passed; 2 failed; 0 ignored;",
                (6, 2),
            ),
            ("     Summary [   0.123s] 7 tests run: 6 passed (1 slow), 1 failed, 2 skipped", (6, 1)),
            ("\x1b[32m     Summary\x1b[0m [   0.123s] 1 test run: 1 passed, 0 skipped", (1, 0)),
            ("===== 1 failed, 12 passed, 2 skipped, 1 error in 0.34s =====", (12, 2)),
            ("3 passed in 0.01s", (3, 0)),
            ("===== no tests ran in 0.01s =====", (0, 0)),
            ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1)", (3, 2)),
            ("Ran 0 tests in 0.000s\n\nOK", (0, 0)),
            ("Tests:       1 failed, 2 skipped, 5 passed, 8 total", (5, 1)),
            (" Test Files  1 passed (1)\n      Tests  2 failed | 5 passed (7)", (5, 2)),
            ("\n  5 passing (12ms)\n  1 failing\n", (5, 1)),
            ("# tests 3\n# pass 2\n# fail 1", (2, 1)),
            ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample/a\t0.002s\n", (1, 1)),
            ("ok  \texample/a\t0.002s\nok  \texample/b\t(cached)\n?   \texample/c\t[no test files]", (2, 0)),
            ("?   \texample/c\t[no test files]", (0, 0)),
            ("ok  \texample/a\t0.002s [no tests to run]", (0, 0)),
            ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored;", (0, 0)),
        ];
        for (output, (passed, failed)) in cases {
            assert_eq!(count(output), Some(Counts { passed, failed }), "{output}");
        }
    }

    #[test]
    fn other_output_is_no_count() {
        for output in ["", "all good\n", "building 5 passed\n", "3 tests\n"] {
            assert_eq!(count(output), None, "{output}");
        }
    }
}
