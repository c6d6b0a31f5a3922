use super::*;
use crate::patch::Tag;
use crate::patch::fit::fit;

/// What a patch makes of a file.
fn patched(file: &str, patch: &str) -> Result<String, String> {
    let wanted = Wanted::parse(patch).map_err(|err| err.to_string())?;
    let [Wanted::Update { pieces, .. }] = wanted.as_slice() else { panic!("{wanted:?}") };
    let made = fit(file.as_bytes(), pieces).map_err(|err| err.to_string())?;
    Ok(String::from_utf8(made).unwrap())
}

fn unified(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

fn marked(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

#[test]
fn line_numbers_are_only_a_hint() {
    let body = "@@ -40,3 +40,3 @@\n b\n-c\n+C\n d\n";
    assert_eq!(patched("a\nb\nc\nd\n", &unified(body)).unwrap(), "a\nb\nC\nd\n");
}

#[test]
fn counts_that_a_model_got_wrong_do_not_matter() {
    for header in ["@@ -1,9 +1,9 @@", "@@ -1,1 +1,1 @@", "@@ -1 +1,20 @@"] {
        let body = format!("{header}\n a\n-b\n+B\n+bb\n c\n@@ -4 +5 @@\n-d\n+D\n");
        assert_eq!(patched("a\nb\nc\nd\n", &unified(&body)).unwrap(), "a\nB\nbb\nc\nD\n", "{header}");
    }
}

#[test]
fn of_several_places_the_named_one_is_taken_and_without_a_name_none() {
    let file = "x\n-\nx\n-\nx\n";
    assert_eq!(patched(file, &unified("@@ -3 +3 @@\n-x\n+y\n")).unwrap(), "x\n-\ny\n-\nx\n");
    let error = patched(file, &unified("@@ -2 +2 @@\n-x\n+y\n")).unwrap_err();
    assert_eq!(error, "hunk 1 fits in 3 places; give more lines around it");
    let error = patched(file, &marked("-x\n+y\n")).unwrap_err();
    assert_eq!(error, "hunk 1 fits in 3 places; give more lines around it");
    assert_eq!(patched(file, &marked("@@ -\n-x\n+y\n")).unwrap(), "x\n-\ny\n-\nx\n");
    assert_eq!(patched(file, &marked("-x\n+y\n*** End of File\n")).unwrap(), "x\n-\nx\n-\ny\n");
}

#[test]
fn anchors_lead_from_one_to_the_next() {
    let file = "class A:\n  def f():\n    1\nclass B:\n  def f():\n    1\n";
    let body = "@@ class B:\n@@ def f():\n-    1\n+    2\n";
    assert_eq!(patched(file, &marked(body)).unwrap(), "class A:\n  def f():\n    1\nclass B:\n  def f():\n    2\n");
    let error = patched(file, &marked("@@ class C:\n-    1\n+    2\n")).unwrap_err();
    assert_eq!(error, "hunk 1: the file has no line `class C:` there");
}

#[test]
fn line_ends_and_the_last_line_stay_as_the_file_has_them() {
    let body = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    assert_eq!(patched("a\r\nb\r\n", &unified(body)).unwrap(), "a\r\nB\r\n");
    assert_eq!(patched("a\nb", &unified(body)).unwrap(), "a\nB");
    assert_eq!(patched("a\nb", &marked("-b\n+b\n+c\n")).unwrap(), "a\nb\nc");
    let ended = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n";
    assert_eq!(patched("a\nb", &unified(ended)).unwrap(), "a\nb\n");
    let unended = "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n";
    assert_eq!(patched("a\nb\n", &unified(unended)).unwrap(), "a\nb");
}

#[test]
fn blanks_at_the_ends_of_lines_are_forgiven_and_kept() {
    assert_eq!(patched("a  \nb\nc\t\n", &unified("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")).unwrap(), "a  \nB\nc\t\n");
}

#[test]
fn lines_that_are_not_there_are_shown_back() {
    let error = patched("a\n", &unified("@@ -1 +1 @@\n-nowhere\n+x\n")).unwrap_err();
    assert!(error.starts_with("hunk 1 does not fit") && error.ends_with("nowhere\n"), "{error}");
}

#[test]
fn a_removed_line_that_looks_like_a_header_is_a_removed_line() {
    let body = "@@ -1,3 +1,2 @@\n a\n--- b\n+++ c\n d\n";
    assert_eq!(patched("a\n-- b\nd\n", &unified(body)).unwrap(), "a\n++ c\nd\n");
}

#[test]
fn names_are_read_as_git_writes_them() {
    let patch = "diff --git \"a/t\\303\\274r \\\"x\\\"\" \"b/t\\303\\274r \\\"x\\\"\"\n\
        old mode 100644\nnew mode 100755\n\
        diff --git a/a b/c d b/a b/c d\ndeleted file mode 100644\n";
    let wanted = Wanted::parse(patch).unwrap();
    assert_eq!(
        wanted[0],
        Wanted::Update { path: "tür \"x\"".into(), move_to: None, executable: Some(true), pieces: vec![] }
    );
    assert_eq!(wanted[1], Wanted::Delete { path: "a b/c d".into() });
}

#[test]
fn what_is_no_patch_is_refused_with_its_line() {
    let line = |text: &str| match Wanted::parse(text).unwrap_err() {
        ParseError::Line { line, .. } | ParseError::Binary { line } => line,
        ParseError::Nothing => 0,
    };
    assert_eq!(line(""), 0);
    assert_eq!(line("hello\n"), 0);
    assert_eq!(line("@@ -1 +1 @@\n-a\n+b\n"), 1);
    assert_eq!(line("--- a/f\n+++ b/f\n@@ what @@\n"), 3);
    assert_eq!(line("diff --git a/b b/b\nBinary files a/b and b/b differ\n"), 1);
    assert_eq!(line("*** Begin Patch\nhello\n*** End Patch\n"), 2);
    assert_eq!(line("*** Begin Patch\n*** Add File: f\nhello\n*** End Patch\n"), 3);
    assert_eq!(line("*** Begin Patch\n*** Update File: f\n-a\nhello\n*** End Patch\n"), 4);
}

#[test]
fn a_new_file_has_what_its_lines_say() {
    let patch = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n";
    let expected = Wanted::Create { path: "f".into(), content: b"a\nb".to_vec(), executable: false };
    assert_eq!(Wanted::parse(patch).unwrap(), [expected]);
}

#[test]
fn text_around_a_patch_is_passed_over() {
    let patch = format!("From 1234\nSubject: x\n\n{}-- \n2.47\n", unified("@@ -1 +1 @@\n-a\n+b\n"));
    let wanted = Wanted::parse(&patch).unwrap();
    let [Wanted::Update { pieces, .. }] = wanted.as_slice() else { panic!("{wanted:?}") };
    assert_eq!(pieces[0].lines.iter().map(|line| line.tag).collect::<Vec<_>>(), [Tag::Removed, Tag::Added]);
}
