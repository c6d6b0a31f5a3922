//! What of the model's answers counts for the phases: fenced blocks with a name.

use crate::gate::Phase;

/// Files that a plan names, in its block `files`.
pub(super) fn declared_files(text: &str) -> Vec<String> {
    let named = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line).trim_matches('`');
        line.strip_prefix("./").unwrap_or(line).trim().to_owned()
    };
    let mut files: Vec<_> = block(text, "files").unwrap_or_default().lines().map(named).collect();
    files.retain(|file| !file.is_empty());
    files.sort_unstable();
    files.dedup();
    files
}

/// The phase that the model wants to go back to, in its block `phase`.
pub(super) fn back_to(text: &str) -> Option<Phase> {
    block(text, "phase")?.trim().to_uppercase().parse().ok()
}

/// The message of a commit, in its block `commit`.
pub(super) fn commit_message(text: &str) -> Option<String> {
    block(text, "commit").map(|message| message.trim().to_owned()).filter(|message| !message.is_empty())
}

/// The last fenced block of this name that has an end.
fn block(text: &str, name: &str) -> Option<String> {
    let mut found = None;
    let mut open: Option<(bool, Vec<&str>)> = None;
    for line in text.lines() {
        let fence = line.trim().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(info)) => open = Some((info.trim() == name, Vec::new())),
            (None, None) => {}
            (Some((is_it, lines)), Some("")) => {
                if *is_it {
                    found = Some(lines.join("\n"));
                }
                open = None;
            }
            (Some((_, lines)), _) => lines.push(line),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_from_their_block_however_they_are_listed() {
        let text =
            "I will change two.\n\n```files\n- ./src/lib.rs\n`tests/a b.rs`\n\n* src/lib.rs\n```\nand that is all";
        assert_eq!(declared_files(text), ["src/lib.rs", "tests/a b.rs"]);
        assert!(declared_files("```text\nsrc/lib.rs\n```").is_empty());
        assert!(declared_files("```files\nsrc/lib.rs").is_empty(), "a block without an end is none");
    }

    #[test]
    fn the_last_block_of_a_name_counts_and_others_do_not_hide_it() {
        let text = "```sh\ncargo test\n```\n```commit\nfirst\n```\n```commit\nFix it\n\nBecause.\n```";
        assert_eq!(commit_message(text).as_deref(), Some("Fix it\n\nBecause."));
        assert_eq!(commit_message("```commit\n\n```"), None);
    }

    #[test]
    fn the_way_back_is_a_phase() {
        assert_eq!(back_to("no good\n```phase\nexecute\n```"), Some(Phase::Execute));
        assert_eq!(back_to("```phase\nlunch\n```"), None);
    }
}
