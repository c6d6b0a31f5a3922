//! Do the changed files parse, or does the project build?

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::parsers::{Parser, Program, parse, rust_edition};
use super::{Found, Judgement, Question, commands, share};
use crate::gate::command::{self, End};
use crate::gate::outcome::Reason;

/// Longer files are not judged: nobody wrote them.
const MOST_BYTES: u64 = 8 << 20;

/// Files that one call of a program is given.
const AT_ONCE: usize = 256;

/// Parses each file and writes on a line what the program returned, or one word if it does not work here.
const LOOP: &str = r#"
if ! printf '%s\n' "$1" | parse sample "$3" >/dev/null 2>&1; then echo absent; exit 0; fi
shift
while [ $# -gt 0 ]; do
  printf '%s:\n' "$1" >&2
  parse "$1" "$2" <"$1" >/dev/null
  echo $?
  shift 2
done
"#;

pub(super) async fn check(question: &Question<'_>) -> Result<Found, String> {
    match &question.rule.command {
        Some(line) => build(question, line).await,
        None => parse_all(question).await,
    }
}

async fn build(question: &Question<'_>, line: &str) -> Result<Found, String> {
    Ok(match commands::run(question, line).await {
        Ok((ran, code)) => {
            let score = if code == 0 { 1000 } else { 0 };
            Found::score(score, Reason::BelowThreshold, ran.evidence()).after(&ran)
        }
        Err(found) => found,
    })
}

async fn parse_all(question: &Question<'_>) -> Result<Found, String> {
    let mut tally = Tally::default();
    let mut programs: BTreeMap<&'static Program, Vec<&str>> = BTreeMap::new();
    for path in question.tree.present() {
        let Some(bytes) = read(&question.context.workspace.join(path)) else {
            tally.skipped.push(path.to_owned());
            continue;
        };
        match Parser::of(path, &bytes) {
            Some(Parser::Program(program)) => programs.entry(program).or_default().push(path),
            Some(parser) => match parse(parser, &bytes) {
                Ok(()) => tally.good += 1,
                Err(why) => tally.bad.push(format!("{path}: {why}")),
            },
            None => tally.skipped.push(path.to_owned()),
        }
    }
    for (program, files) in programs {
        for files in files.chunks(AT_ONCE) {
            ask(question, program, files, &mut tally).await?;
        }
    }
    let evidence = tally.evidence();
    match tally.good + tally.bad.len() {
        0 => Ok(Found::new(Judgement::NothingToCheck, evidence)),
        all => Ok(Found::score(share(tally.good, all), Reason::BelowThreshold, evidence)),
    }
}

/// Lets a program parse some files.
async fn ask(question: &Question<'_>, program: &Program, files: &[&str], tally: &mut Tally) -> Result<(), String> {
    let workspace = &question.context.workspace;
    let mut arguments = vec![program.sample.to_owned()];
    arguments.extend(files.iter().flat_map(|path| [(*path).to_owned(), rust_edition(workspace, path)]));
    let script = format!("parse() {{ {}; }}{LOOP}", program.line);
    let ran = command::run_script(question.context, &script, &arguments, question.rule.timeout()).await;
    if ran.end != End::Exited(0) {
        return Err(format!("`{}` did not get through the files\n{}", program.name, ran.evidence()));
    }
    if ran.stdout.trim() == "absent" {
        tally.skipped.extend(files.iter().map(|path| (*path).to_owned()));
        return Ok(());
    }
    let codes: Vec<i32> = ran.stdout.lines().filter_map(|line| line.parse().ok()).collect();
    if codes.len() != files.len() {
        return Err(format!("`{}` answered for {} of {} files", program.name, codes.len(), files.len()));
    }
    for (path, code) in files.iter().zip(codes) {
        match code {
            0 => tally.good += 1,
            // 126 and more: the shell says that it was not started, or killed.
            126.. => return Err(format!("`{}` crashed on {path}\n{}", program.name, ran.stderr)),
            _ => tally.bad.push(format!("{path}: `{}` says no", program.name)),
        }
    }
    if !tally.bad.is_empty() {
        tally.said.push_str(&ran.stderr);
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    good: usize,
    bad: Vec<String>,
    skipped: Vec<String>,
    /// What programs said.
    said: String,
}

impl Tally {
    fn evidence(&self) -> String {
        let mut text =
            format!("{} files parse, {} do not, {} not judged\n", self.good, self.bad.len(), self.skipped.len());
        self.bad.iter().for_each(|bad| text.extend([bad.as_str(), "\n"]));
        self.skipped.iter().for_each(|path| {
            let _ = writeln!(text, "not judged: {path}");
        });
        text.push_str(&self.said);
        text
    }
}

/// The content of a regular file that is not too long.
fn read(path: &Path) -> Option<Vec<u8>> {
    let facts = fs::symlink_metadata(path).ok()?;
    if !facts.is_file() || facts.len() > MOST_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
