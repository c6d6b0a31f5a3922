//! The commands that a project is usually checked with, told from its files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::preset::gate_id;

/// What the gate of this name runs in a project if its preset does not say; `None` if the project shows nothing.
#[must_use]
pub fn detected_command(id: &str, project: &Path) -> Option<String> {
    match id {
        gate_id::TESTS => tests(project),
        gate_id::LINT => lint(project),
        _ => None,
    }
}

/// The command that runs the tests, if the project shows one.
fn tests(workspace: &Path) -> Option<String> {
    let has = |name: &str| workspace.join(name).exists();
    if has("Cargo.toml") {
        return Some("cargo test".into());
    }
    if has("go.mod") {
        return Some("go test ./...".into());
    }
    if let Some(script) = npm_script(workspace, "test") {
        return Some(script);
    }
    if has("pytest.ini") || has("tests/conftest.py") || has("conftest.py") || mentions(workspace, "pytest") {
        return Some("python3 -m pytest".into());
    }
    make_target(workspace, "test")
}

/// The command that runs the linter, if the project shows one.
fn lint(workspace: &Path) -> Option<String> {
    let has = |name: &str| workspace.join(name).exists();
    if has("Cargo.toml") {
        return Some("cargo clippy --all-targets --message-format=short".into());
    }
    if has("go.mod") {
        return Some("go vet ./...".into());
    }
    if let Some(script) = npm_script(workspace, "lint") {
        return Some(script);
    }
    if has("ruff.toml") || has(".ruff.toml") || mentions(workspace, "[tool.ruff") {
        return Some("ruff check --output-format=concise .".into());
    }
    if has(".flake8") {
        return Some("python3 -m flake8".into());
    }
    make_target(workspace, "lint")
}

/// A script of `package.json`, run by the manager whose lock file is there.
fn npm_script(workspace: &Path, name: &str) -> Option<String> {
    let package: Value = serde_json::from_slice(&fs::read(workspace.join("package.json")).ok()?).ok()?;
    // What `npm init` writes runs no test.
    package.get("scripts")?.get(name)?.as_str().filter(|script| !script.contains("no test specified"))?;
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    let manager = locks.iter().find(|(lock, _)| workspace.join(lock).exists()).map_or("npm", |(_, manager)| *manager);
    Some(format!("{manager} run {name}"))
}

fn mentions(workspace: &Path, word: &str) -> bool {
    let read = |name: &str| fs::read_to_string(workspace.join(name)).is_ok_and(|text| text.contains(word));
    ["pyproject.toml", "setup.cfg", "tox.ini"].into_iter().any(read)
}

fn make_target(workspace: &Path, target: &str) -> Option<String> {
    let makefile = ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|name| {
        let text = fs::read_to_string(workspace.join(name)).ok()?;
        text.lines().any(|line| line.strip_prefix(target).is_some_and(|rest| rest.starts_with(':'))).then_some(())
    });
    makefile.map(|()| format!("make {target}"))
}

#[cfg(test)]
mod told_from_files {
    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    #[test]
    fn a_project_shows_how_it_is_tested_and_linted() {
        let cases: [(&[(&str, &str)], Option<&str>, Option<&str>); 6] = [
            (&[("Cargo.toml", "")], Some("cargo test"), Some("cargo clippy --all-targets --message-format=short")),
            (&[("go.mod", "")], Some("go test ./..."), Some("go vet ./...")),
            (
                &[("package.json", r#"{"scripts":{"test":"jest","lint":"eslint ."}}"#), ("pnpm-lock.yaml", "")],
                Some("pnpm run test"),
                Some("pnpm run lint"),
            ),
            (&[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)], None, None),
            (
                &[("pyproject.toml", "[tool.ruff]\n[tool.pytest.ini_options]")],
                Some("python3 -m pytest"),
                Some("ruff check --output-format=concise ."),
            ),
            (&[("Makefile", "test: all\n\tx\ntests:\n")], Some("make test"), None),
        ];
        for (files, test, lint_command) in cases {
            let dir = project(files);
            assert_eq!(tests(dir.path()).as_deref(), test, "{files:?}");
            assert_eq!(lint(dir.path()).as_deref(), lint_command, "{files:?}");
        }
    }
}
