use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

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
    assert_ne!(before, after);
    assert_eq!(applied.changes, batch.changes());
    assert_eq!(batch.apply(&workspace, Options::default()).unwrap(), applied, "a second time changes nothing");
    assert_eq!(tree(directory.path()), after);
    batch.reversed().apply(&workspace, Options::default()).unwrap();
    assert_eq!(tree(directory.path()), before);
    batch.reversed().reversed().apply(&workspace, Options::default()).unwrap();
    assert_eq!(tree(directory.path()), after);
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
