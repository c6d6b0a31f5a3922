use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::workspace::Snapshot;

const CRASH_AT: &str = "R1_TEST_CRASH_AT";
const CRASH_IN: &str = "R1_TEST_CRASH_IN";

/// A tree with something to change, delete and rename in it.
fn plant(root: &Path) -> Workspace {
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
    fs::write(root.join("src/b.rs"), "fn b() {}\r\n").unwrap();
    fs::write(root.join("gone"), [0, 1, 2]).unwrap();
    fs::write(root.join("old name"), "text without end").unwrap();
    fs::set_permissions(root.join("old name"), fs::Permissions::from_mode(0o600)).unwrap();
    Workspace::open(root).unwrap()
}

/// Every kind of change at once.
fn batch(workspace: &Workspace) -> Batch {
    let path = |text: &str| workspace.path(text).unwrap();
    let at = |text: &str| workspace.snapshot(&path(text), 1 << 20).unwrap();
    let modify = Change::to(workspace, path("src/a.rs"), b"fn a() { b() }\n".to_vec()).unwrap();
    let executable = at("src/b.rs").map(|file| Snapshot { mode: file.mode | 0o111, ..file });
    let mode = Change { after: executable, ..Change::to(workspace, path("src/b.rs"), Vec::new()).unwrap() };
    let create = Change::to(workspace, path("deep/er/new"), b"new".to_vec()).unwrap();
    let delete = Change { after: None, ..Change::to(workspace, path("gone"), Vec::new()).unwrap() };
    let renamed = at("old name");
    let rename = Change {
        path: path("moved/new name"),
        from: Some(path("old name")),
        before: renamed.clone(),
        after: renamed,
        new_directories: 1,
        gone_directories: 0,
    };
    Batch::new(vec![modify, mode, create, delete, rename]).unwrap()
}

/// Every file and directory below `root`: path, mode, content.
fn tree(root: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let mode = path.metadata().unwrap().permissions().mode();
            let content = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            found.push((name, mode, content));
            if path.is_dir() {
                left.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn ep_25_apply_then_revert_is_identity_over_every_kind_of_change() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = plant(directory.path());
    let (before, batch) = (tree(directory.path()), batch(&workspace));
    let applied = batch.apply(&workspace, Options::default()).unwrap();
    let after = tree(directory.path());
    for change in batch.changes() {
        assert_eq!(workspace.snapshot(&change.path, 1 << 20).unwrap(), change.after, "{}", change.path);
        assert!(change.from.as_ref().is_none_or(|from| workspace.entry(from).unwrap().is_none()));
    }
    assert_eq!(applied.changes, batch.changes());
    assert_eq!(batch.apply(&workspace, Options::default()).unwrap(), applied, "a second time changes nothing");
    assert_eq!(tree(directory.path()), after);
    batch.reversed().apply(&workspace, Options::default()).unwrap();
    assert_eq!(tree(directory.path()), before);
    batch.reversed().reversed().apply(&workspace, Options::default()).unwrap();
    assert_eq!(tree(directory.path()), after);
}

/// Content of every sort: text with and without a last line end, both line ends, no text at all.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "([ab]{0,3}\n){0,8}".prop_map(String::into_bytes),
        "([ab]{0,3}\r\n){0,8}[ab]{0,3}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn mode() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0o644), Just(0o755), Just(0o600), Just(0o444)]
}

/// What happens to one file.
#[derive(Clone, Debug)]
enum Fate {
    Made(Vec<u8>, u32),
    Changed(Vec<u8>, u32, Vec<u8>, u32),
    Removed(Vec<u8>, u32),
    Renamed(Vec<u8>, u32, Vec<u8>),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        (content(), mode()).prop_map(|(content, mode)| Fate::Made(content, mode)),
        (content(), mode(), content(), mode()).prop_map(|(a, b, c, d)| Fate::Changed(a, b, c, d)),
        (content(), mode()).prop_map(|(content, mode)| Fate::Removed(content, mode)),
        (content(), mode(), content()).prop_map(|(a, b, c)| Fate::Renamed(a, b, c)),
    ]
}

/// Puts the files of `fates` into the workspace and tells the batch that makes them happen.
fn fated(workspace: &Workspace, fates: &[Fate]) -> Batch {
    let snapshot = |bytes: &[u8], mode| Some(Snapshot { bytes: bytes.to_vec().into(), mode });
    let change = |index: usize, fate: &Fate| {
        let path = workspace.path(&format!("d{}/f{index}", index % 2)).unwrap();
        let moved = workspace.path(&format!("m{}/f{index}", index % 2)).unwrap();
        let (from, path, before, after) = match fate {
            Fate::Made(bytes, mode) => (None, path, None, snapshot(bytes, *mode)),
            Fate::Changed(old, old_mode, new, new_mode) => {
                (None, path, snapshot(old, *old_mode), snapshot(new, *new_mode))
            }
            Fate::Removed(bytes, mode) => (None, path, snapshot(bytes, *mode), None),
            Fate::Renamed(old, mode, new) => (Some(path), moved, snapshot(old, *mode), snapshot(new, *mode)),
        };
        Change { path, from, before, after, new_directories: 0, gone_directories: 0 }
    };
    let mut changes: Vec<_> = fates.iter().enumerate().map(|(index, fate)| change(index, fate)).collect();
    let lock = workspace.lock().unwrap();
    for change in &changes {
        if let Some(before) = &change.before {
            lock.restore(change.source(), Some(before)).unwrap();
        }
    }
    for change in &mut changes {
        if change.before.is_none() || change.from.is_some() {
            change.new_directories = crate::patch::missing_directories(workspace, &change.path).unwrap();
        }
    }
    Batch::new(changes).unwrap()
}

/// Whether git has no words for a change: of modes it knows only whether a file can be run.
fn says_nothing(change: &Change) -> bool {
    let seen = |file: &Option<Snapshot>| file.as_ref().map(|file| (file.bytes.clone(), file.mode & 0o100));
    change.from.is_none() && seen(&change.before) == seen(&change.after)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn ep_25_apply_then_revert_is_identity_over_whatever_files_hold(fates in prop::collection::vec(fate(), 1..5)) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let batch = fated(&workspace, &fates);
        let before = tree(directory.path());
        let applied = batch.apply(&workspace, Options::default()).unwrap();
        for change in batch.changes() {
            prop_assert_eq!(&workspace.snapshot(&change.path, 1 << 20).unwrap(), &change.after);
        }
        Batch::new(applied.changes).unwrap().reversed().apply(&workspace, Options::default()).unwrap();
        prop_assert_eq!(tree(directory.path()), before);
    }

    /// git makes of our diffs what we make of the changes; of binary files it can make nothing.
    #[test]
    fn git_applies_our_diffs_to_the_same_tree(fates in prop::collection::vec(fate(), 1..4)) {
        let (ours, gits) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let workspaces = [&ours, &gits].map(|directory| Workspace::open(directory.path()).unwrap());
        let [batch, _] = workspaces.each_ref().map(|workspace| fated(workspace, &fates));
        prop_assume!(!batch.changes().iter().any(|change| change.is_binary() || says_nothing(change)));
        let diff: Vec<u8> = batch.changes().iter().flat_map(|change| crate::patch::diff(change).text).collect();
        batch.apply(&workspaces[0], Options::default()).unwrap();
        if diff.is_empty() {
            return Ok(());
        }
        let patch = ours.path().join("../").join(format!("{}.diff", ours.path().file_name().unwrap().display()));
        fs::write(&patch, &diff).unwrap();
        let mut git = Command::new("git");
        let applied = git.args(["apply", "--whitespace=nowarn"]).arg(&patch).current_dir(gits.path()).output().unwrap();
        fs::remove_file(&patch).unwrap();
        let [said, diff] = [&applied.stderr, &diff].map(|bytes| String::from_utf8_lossy(bytes));
        prop_assert!(applied.status.success(), "{said}\n{diff}");
        // git leaves no empty directories and knows only whether a file can be run.
        let files = |root: &Path| -> Vec<_> {
            let files = tree(root).into_iter().filter(|(name, ..)| !root.join(name).is_dir());
            files.map(|(name, mode, content)| (name, mode & 0o100, content)).collect()
        };
        prop_assert_eq!(files(ours.path()), files(gits.path()));
    }
}

#[test]
fn ep_25_a_batch_of_which_one_file_drifted_leaves_the_tree_untouched() {
    for drifted in ["src/a.rs", "gone", "old name", "moved/new name", "deep/er/new"] {
        let directory = tempfile::tempdir().unwrap();
        let workspace = plant(directory.path());
        let batch = batch(&workspace);
        fs::create_dir_all(directory.path().join(drifted).parent().unwrap()).unwrap();
        fs::write(directory.path().join(drifted), "someone else was here\n").unwrap();
        let before = tree(directory.path());
        for allow_offset in [false, true] {
            match batch.apply(&workspace, Options { allow_offset, recover: false }) {
                // A renamed file's content may drift: its name is all that changes.
                Ok(_) => assert!(allow_offset && drifted == "old name"),
                Err(ApplyError::Conflict(conflict)) => {
                    let [path] = conflict.paths.as_slice() else { panic!("{conflict:?}") };
                    assert_eq!(path.path.as_str(), drifted);
                    assert_eq!(path.actual, Some(Revision::of(b"someone else was here\n")));
                    assert_eq!(tree(directory.path()), before);
                }
                Err(other) => panic!("{drifted}: {other}"),
            }
        }
    }
}

#[test]
fn ep_25_a_drifted_file_is_patched_where_every_hunk_fits_once() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let file = directory.path().join("f");
    let numbers = |range: std::ops::Range<u32>| range.map(|n| format!("{n}\n")).collect::<String>();
    fs::write(&file, numbers(0..40)).unwrap();
    let path = workspace.path("f").unwrap();
    let after = numbers(0..40).replace("\n10\n", "\nten\n").replace("\n30\n", "\nthirty\n");
    let batch = Batch::new(vec![Change::to(&workspace, path, after.clone().into()).unwrap()]).unwrap();

    fs::write(&file, format!("above\n{}", numbers(0..40))).unwrap();
    let Err(ApplyError::Conflict(conflict)) = batch.apply(&workspace, Options::default()) else { panic!() };
    assert_eq!(conflict.paths[0].hunks, [HunkFit { hunk: 1, places: 1 }, HunkFit { hunk: 2, places: 1 }]);
    let applied = batch.apply(&workspace, Options { allow_offset: true, recover: false }).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("above\n{after}"));
    // What was really done can be undone exactly.
    Batch::new(applied.changes).unwrap().reversed().apply(&workspace, Options::default()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("above\n{}", numbers(0..40)));

    // One hunk fits nowhere, the other twice.
    let doubled = format!("{}{}", numbers(25..36), numbers(25..36));
    fs::write(&file, &doubled).unwrap();
    let allowed = Options { allow_offset: true, recover: false };
    let Err(ApplyError::Conflict(conflict)) = batch.apply(&workspace, allowed) else { panic!() };
    assert_eq!(conflict.paths[0].hunks, [HunkFit { hunk: 1, places: 0 }, HunkFit { hunk: 2, places: 2 }]);
    assert_eq!(fs::read_to_string(&file).unwrap(), doubled);

    // Both fit, one of them twice.
    let doubled = format!("{}{}", numbers(0..40), numbers(25..36));
    fs::write(&file, &doubled).unwrap();
    let Err(ApplyError::Conflict(conflict)) = batch.apply(&workspace, allowed) else { panic!() };
    assert_eq!(conflict.paths[0].hunks, [HunkFit { hunk: 1, places: 1 }, HunkFit { hunk: 2, places: 2 }]);
    assert_eq!(fs::read_to_string(&file).unwrap(), doubled);
}

#[test]
fn ep_25_patches_of_one_file_are_reverted_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let file = directory.path().join("f");
    let original: String = (0..60).map(|n| format!("{n}\n")).collect();
    fs::write(&file, &original).unwrap();
    let path = workspace.path("f").unwrap();
    let mut batches = Vec::new();
    for line in [10, 30, 50] {
        let text = fs::read_to_string(&file).unwrap().replace(&format!("\n{line}\n"), "\nchanged\nand more\n");
        let batch = Batch::new(vec![Change::to(&workspace, path.clone(), text.into()).unwrap()]).unwrap();
        batch.apply(&workspace, Options::default()).unwrap();
        batches.push(batch);
    }
    for index in [1, 0, 2] {
        let options = Options { allow_offset: true, recover: false };
        batches[index].reversed().apply(&workspace, options).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), original);
}

#[test]
fn a_failure_half_way_is_put_back() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = plant(directory.path());
    let batch = batch(&workspace);
    let before = tree(directory.path());
    // Another program writes `src/a.rs` after it was looked at.
    let places = Cell::new(0);
    let meddle = |step| {
        if step == Step::Place {
            places.set(places.get() + 1);
            if places.get() == 2 {
                fs::write(directory.path().join("src/a.rs"), "meddled\n").unwrap();
            }
        }
    };
    let failed = batch.apply_watched(&workspace, Options::default(), &meddle);
    assert!(matches!(failed, Err(ApplyError::Workspace(WorkspaceError::Busy { .. }))), "{failed:?}");
    let mut expected = before;
    for (name, _, content) in &mut expected {
        if name == "src/a.rs" {
            *content = b"meddled\n".to_vec();
        }
    }
    assert_eq!(tree(directory.path()), expected);
}

#[test]
fn two_changes_of_one_path_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = plant(directory.path());
    let path = workspace.path("src/a.rs").unwrap();
    let change = Change::to(&workspace, path, b"x".to_vec()).unwrap();
    assert!(matches!(Batch::new(vec![change.clone(), change]), Err(ApplyError::Twice { .. })));
}

/// Not a test of its own: the process that dies in the middle of a batch.
#[test]
fn crashing_child() {
    let (Ok(at), Ok(root)) = (std::env::var(CRASH_AT), std::env::var(CRASH_IN)) else { return };
    let at: usize = at.parse().unwrap();
    let workspace = Workspace::open(Path::new(&root)).unwrap();
    let steps = Cell::new(0);
    let crash = |_| {
        if steps.replace(steps.get() + 1) == at {
            std::process::abort();
        }
    };
    batch(&workspace).apply_watched(&workspace, Options::default(), &crash).unwrap();
}

/// Runs the batch in a process that dies before its `step`th step; whether it got that far.
fn crash(root: &Path, step: usize) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "patch::apply::tests::crashing_child", "--nocapture"])
        .env(CRASH_AT, step.to_string())
        .env(CRASH_IN, root)
        .output()
        .unwrap()
        .status;
    !status.success()
}

#[test]
fn ep_25_a_crash_at_each_step_recovers() {
    let mut step = 0;
    loop {
        let directory = tempfile::tempdir().unwrap();
        let workspace = plant(directory.path());
        let batch = batch(&workspace);
        let crashed = crash(directory.path(), step);
        batch.apply(&workspace, Options { allow_offset: false, recover: true }).unwrap();
        let whole = tempfile::tempdir().unwrap();
        let other = plant(whole.path());
        self::batch(&other).apply(&other, Options::default()).unwrap();
        assert_eq!(tree(directory.path()), tree(whole.path()), "after a crash before step {step}");
        batch.reversed().apply(&workspace, Options::default()).unwrap();
        let untouched = tempfile::tempdir().unwrap();
        plant(untouched.path());
        assert_eq!(tree(directory.path()), tree(untouched.path()), "reverted after a crash before step {step}");
        if !crashed {
            break;
        }
        step += 1;
    }
    // 4 files staged and placed, 2 removed.
    assert_eq!(step, 10);
}

#[test]
fn ep_25_a_crash_whose_rest_became_impossible_is_rolled_back() {
    for step in 4..10 {
        let directory = tempfile::tempdir().unwrap();
        let workspace = plant(directory.path());
        let batch = batch(&workspace);
        assert!(crash(directory.path(), step));
        // Drifts whether its change was made or not.
        fs::write(directory.path().join("src/b.rs"), "someone else\n").unwrap();
        let result = batch.apply(&workspace, Options { allow_offset: false, recover: true });
        assert!(matches!(result, Err(ApplyError::Conflict(_))), "{result:?}");
        let untouched = tempfile::tempdir().unwrap();
        plant(untouched.path());
        fs::write(untouched.path().join("src/b.rs"), "someone else\n").unwrap();
        let (mut found, mut expected) = (tree(directory.path()), tree(untouched.path()));
        // The drifted file is not the batch's any more, whatever its mode.
        for tree in [&mut found, &mut expected] {
            tree.retain(|(name, ..)| name != "src/b.rs");
        }
        assert_eq!(found, expected, "after a crash before step {step}");
    }
}
