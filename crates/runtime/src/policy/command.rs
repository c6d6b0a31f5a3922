//! What a call would run, as rules see it.

use super::pattern;
use super::shell::{self, Word};

/// The commands of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) commands: Vec<SimpleCommand>,
    /// Whether this is all that would happen: nothing is substituted, nothing outside of the workspace
    /// is read or written by redirection.
    pub(super) is_transparent: bool,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    words: Vec<Word>,
    /// Whether it changes its environment first.
    assigns: bool,
}

/// Shells, whose `-c` has commands in it.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// Programs that run another one, which stands among their arguments.
const WRAPPERS: [&str; 25] = [
    "builtin", "busybox", "chroot", "command", "doas", "env", "eval", "exec", "find", "ionice", "nice", "nohup",
    "parallel", "setsid", "ssh", "stdbuf", "strace", "su", "sudo", "time", "timeout", "trap", "unshare", "watch",
    "xargs",
];

impl CommandLine {
    pub(super) fn of(argv: &[String]) -> Self {
        let words = argv.iter().map(|text| Word { text: text.clone(), is_dynamic: false }).collect();
        let mut line = Self { commands: Vec::new(), is_transparent: true };
        line.add(words, 0);
        line
    }

    /// Adds a command, or those inside of a shell's `-c`.
    fn add(&mut self, mut words: Vec<Word>, depth: usize) {
        let assignments = words.iter().take_while(|word| is_assignment(&word.text)).count();
        words.drain(..assignments);
        if let Some(script) = script(&words) {
            // The shell itself does nothing; what it is given with variables set does something else.
            self.is_transparent &= assignments == 0 && depth < 4 && !script.is_dynamic;
            if depth < 4 {
                self.add_script(&script.text.clone(), depth + 1);
            }
            return;
        }
        if words.first().is_some_and(|program| base_name(&program.text) == "eval") {
            let text: Vec<_> = words.iter().skip(1).map(|word| word.text.as_str()).collect();
            self.is_transparent = false;
            if depth < 4 {
                self.add_script(&text.join(" "), depth + 1);
            }
        }
        if !words.is_empty() {
            self.commands.push(SimpleCommand { words, assigns: assignments > 0 });
        } else if assignments > 0 {
            // Variables for what follows.
            self.is_transparent = false;
        }
    }

    fn add_script(&mut self, script: &str, depth: usize) {
        let line = shell::parse(script);
        self.is_transparent &= !line.is_opaque && line.redirects.iter().all(stays_inside);
        line.commands.into_iter().for_each(|words| self.add(words, depth));
    }
}

impl SimpleCommand {
    /// Whether it begins with these words and nothing changes what they mean: for allowing.
    pub(super) fn is_plainly(&self, prefix: &str) -> bool {
        let mut words = self.words.iter();
        !self.assigns
            && prefix.split_whitespace().all(|expected| {
                words.next().is_some_and(|word| !word.is_dynamic && pattern::matches(expected, &word.text, None))
            })
    }

    /// Whether it could be this command, perhaps through another program, by its whole path, or with
    /// options in between: for asking and denying.
    pub(super) fn may_be(&self, prefix: &str) -> bool {
        let expected: Vec<_> = prefix.split_whitespace().collect();
        let is_wrapped = self.words.first().is_some_and(|word| WRAPPERS.contains(&base_name(&word.text)));
        let starts = if is_wrapped { self.words.len() } else { 1 };
        (0..starts).any(|start| begins_loosely(&self.words[start..], &expected))
    }
}

fn begins_loosely(words: &[Word], expected: &[&str]) -> bool {
    let Some((program, arguments)) = expected.split_first() else { return false };
    let Some((first, mut rest)) = words.split_first() else { return false };
    let is_program =
        pattern::matches(program, &first.text, None) || pattern::matches(program, base_name(&first.text), None);
    if !is_program {
        return false;
    }
    for expected in arguments {
        loop {
            let Some((word, behind)) = rest.split_first() else { return false };
            rest = behind;
            if pattern::matches(expected, &word.text, None) {
                break;
            }
            if !word.text.starts_with('-') {
                return false;
            }
            // What stands behind an option may be its value.
            if let Some((value, behind)) = rest.split_first()
                && !value.text.starts_with('-')
                && !pattern::matches(expected, &value.text, None)
            {
                rest = behind;
            }
        }
    }
    true
}

/// The script of `sh -c script`.
fn script(words: &[Word]) -> Option<&Word> {
    let (program, arguments) = words.split_first()?;
    if !SHELLS.contains(&base_name(&program.text)) {
        return None;
    }
    let options = arguments.iter().take_while(|word| word.text.starts_with('-') || word.text.starts_with('+'));
    let (at, _) = options.enumerate().find(|(_, word)| !word.text.starts_with("--") && word.text.contains('c'))?;
    arguments[at + 1..].iter().find(|word| !word.text.starts_with('-'))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Whether a redirection stays in the workspace.
fn stays_inside(file: &Word) -> bool {
    let path = file.text.as_str();
    let is_device = matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr");
    let is_below = !path.starts_with(['/', '~']) && !path.split('/').any(|part| part == "..");
    !file.is_dynamic && !path.is_empty() && (is_device || is_below)
}
