//! Which git commands only look. Whatever is not known to be one is not: a wrong no costs a question, a
//! wrong yes costs more.

/// Commands that change nothing, whatever their arguments, once those of [`REFUSED`] are out.
const LOOKING: &[&str] = &[
    "blame",
    "cat-file",
    "count-objects",
    "describe",
    "diff",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "version",
];

/// Options that write files, start programs or read outside of the repository. git takes every beginning of
/// them that is clear.
const REFUSED: &[&str] = &[
    "--contents",
    "--exec",
    "--exec-path",
    "--ext-diff",
    "--filters",
    "--no-index",
    "--open-files-in-pager",
    "--output",
    "--output-directory",
    "--show-signature",
    "--textconv",
    "--upload-pack",
];

/// Whether `git <args>` only looks.
pub(super) fn reads_only(args: &[String]) -> bool {
    // Options before the command choose another repository, configuration or program.
    let Some((command, rest)) = args.split_first() else { return false };
    if rest.iter().any(|arg| is_refused(arg) || leads_out(arg)) {
        return false;
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match command.as_str() {
        // A pager of choice, patterns from any file: alone or among other letters.
        "grep" => !rest.iter().any(|arg| is_letters(arg) && arg.contains(['O', 'f'])),
        "branch" => rest.iter().all(|arg| {
            ["-a", "-r", "-v", "-vv", "--all", "--list", "--remotes", "--show-current", "--verbose"].contains(arg)
        }),
        "tag" => match rest.split_first() {
            None => true,
            Some((&("-l" | "--list"), patterns)) => patterns.iter().all(|pattern| !pattern.starts_with('-')),
            Some(_) => false,
        },
        "remote" => matches!(rest.as_slice(), [] | ["-v" | "--verbose"]),
        "stash" => matches!(rest.as_slice(), ["list"] | ["show", ..]),
        "reflog" => matches!(rest.as_slice(), [] | ["show", ..]),
        "worktree" => rest.as_slice() == ["list"],
        "config" => matches!(rest.as_slice(), ["--get" | "get", _] | ["--list" | "-l" | "list"]),
        command => LOOKING.contains(&command),
    }
}

fn is_refused(arg: &str) -> bool {
    let name = arg.split('=').next().unwrap_or(arg);
    name.len() > 2 && name.starts_with("--") && REFUSED.iter().any(|refused| refused.starts_with(name))
}

/// A path out of the workspace: `git diff` compares any two files that it can read.
fn leads_out(arg: &str) -> bool {
    arg.starts_with(['/', '~']) || arg.split('/').any(|part| part == "..")
}

fn is_letters(arg: &str) -> bool {
    arg.starts_with('-') && !arg.starts_with("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(command: &str) -> bool {
        reads_only(&command.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn commands_that_look_are_known() {
        for command in [
            "status --short",
            "diff",
            "diff HEAD~1..HEAD -- src/a.rs",
            "log --oneline -n 5",
            "show HEAD:src/main.rs",
            "branch",
            "branch -a -v",
            "tag --list v1*",
            "remote -v",
            "stash list",
            "config --get user.name",
            "grep -n needle",
        ] {
            assert!(looks(command), "{command}");
        }
    }

    #[test]
    fn nothing_that_writes_runs_programs_or_looks_elsewhere_passes() {
        for command in [
            "commit -m x",
            "checkout .",
            "branch new",
            "branch -D old",
            "tag v1",
            "tag -d v1",
            "stash",
            "stash drop",
            "config user.name x",
            "config --get-all x y",
            "remote add x y",
            "remote update",
            "-c core.pager=x log",
            "-C /tmp status",
            "--git-dir=/x status",
            "diff --output=x",
            "log --outp x",
            "diff --ext-diff",
            "show --ext",
            "diff --no-index a b",
            "diff /dev/null /etc/passwd",
            "diff a ../../etc/passwd",
            "blame --contents /etc/passwd a",
            "grep -Ovim x",
            "grep -nOvim x",
            "grep --open=vim x",
            "cat-file --textconv HEAD:a",
            "cat-file --filters HEAD:a",
            "unknown",
            "",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
