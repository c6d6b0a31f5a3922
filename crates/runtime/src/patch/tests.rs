use std::fs;

use proptest::prelude::*;

use super::*;
use crate::patch::lines::lines;

fn file(text: &str) -> Option<Snapshot> {
    Some(Snapshot { bytes: text.to_owned().into(), mode: 0o644 })
}

fn change(path: &str, before: Option<Snapshot>, after: Option<Snapshot>) -> Change {
    let path = path.to_owned().try_into().unwrap();
    Change { path, from: None, before, after, new_directories: 0, gone_directories: 0 }
}

fn shown(change: &Change) -> String {
    String::from_utf8(diff(change).text).unwrap()
}

#[test]
fn a_diff_reads_as_git_writes_it() {
    let before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";
    let after = before.replace("five", "FIVE");
    assert_eq!(
        shown(&change("src/a.txt", file(before), file(&after))),
        "diff --git a/src/a.txt b/src/a.txt\n--- a/src/a.txt\n+++ b/src/a.txt\n\
         @@ -2,7 +2,7 @@\n two\n three\n four\n-five\n+FIVE\n six\n seven\n eight\n"
    );
    assert_eq!(
        shown(&change("new", None, file("a\nb"))),
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n\
         @@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    );
    assert_eq!(
        shown(&change("old", file("a\n"), None)),
        "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    );
    let executable = file("a\n").map(|file| Snapshot { mode: 0o755, ..file });
    assert_eq!(
        shown(&change("run", file("a\n"), executable)),
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
    );
    let renamed =
        Change { from: Some("from".to_owned().try_into().unwrap()), ..change("to", file("a\n"), file("a\n")) };
    assert_eq!(shown(&renamed), "diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n");
    assert_eq!(shown(&change("b", file("\0"), file("\0\0"))), "diff --git a/b b/b\nBinary files a/b and b/b differ\n");
}

#[test]
fn stats_count_lines_and_hunks() {
    let change = change("a", file("1\n2\n3\n"), file("1\nx\ny\n3\n"));
    assert_eq!(diff(&change).stats, Stats { additions: 2, deletions: 1, hunks: 1 });
}

#[test]
fn facts_survive_the_log() {
    let facts = PatchFacts::of(&change("a", None, file("x")), Stats::default());
    let json = serde_json::to_value(&facts).unwrap();
    assert_eq!(json["result"]["mode"], "0644");
    assert_eq!(serde_json::from_value::<PatchFacts>(json).unwrap(), facts);
}

/// Lines that repeat, end in every way, and have no end.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof!["[abc]{0,2}\n", "[abc]{0,2}\r\n", Just("-- x\n".to_owned()), Just("\\ x\n".to_owned())];
    (prop::collection::vec(line, 0..14), prop::option::of("[abc]{1,3}"))
        .prop_map(|(lines, rest)| (lines.concat() + rest.as_deref().unwrap_or_default()).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// What other people's programs make of our diffs is what we meant.
    #[test]
    fn another_reader_of_diffs_makes_the_same_file(before in content(), after in content()) {
        let snapshot = |bytes: &[u8]| Some(Snapshot { bytes: bytes.to_vec().into(), mode: 0o644 });
        let diff = diff(&change("a", snapshot(&before), snapshot(&after)));
        if before != after {
            let start = diff.text.windows(4).position(|window| window == b"--- ").unwrap();
            let patch = diffy::Patch::from_bytes(&diff.text[start..]).unwrap();
            prop_assert_eq!(diffy::apply_bytes(&before, &patch).unwrap(), after);
        }
    }

    #[test]
    fn hunks_that_fit_in_one_place_make_the_file(before in content(), after in content()) {
        let snapshot = |bytes: &[u8]| Some(Snapshot { bytes: bytes.to_vec().into(), mode: 0o644 });
        let hunks = diff::hunks(&change("a", snapshot(&before), snapshot(&after)));
        let lines = lines(&before);
        let clear = hunks.iter().all(|hunk| hunk.places(&lines).len() == 1);
        match hunk::put(&lines, &hunks) {
            Some(made) => prop_assert_eq!(made, after),
            None => prop_assert!(!clear),
        }
    }

    /// A diff that we wrote is one that we read.
    #[test]
    fn our_own_diffs_are_read_and_fit(before in content(), after in content()) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let (before, after) = (uniform(&before), uniform(&after));
        fs::write(directory.path().join("a b"), &before).unwrap();
        let made = Change::to(&workspace, workspace.path("a b").unwrap(), after.clone()).unwrap();
        if !made.is_empty() {
            let wanted = Wanted::parse(&shown(&made)).unwrap();
            prop_assert_eq!(wanted.len(), 1);
            let change = wanted[0].change(&workspace).unwrap();
            prop_assert_eq!(String::from_utf8(change.after.unwrap().bytes.to_vec()), String::from_utf8(after));
        }
    }
}

/// With one kind of line ends: those of a model's patch are taken from the file.
fn uniform(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| *byte != b'\r').collect()
}
