//! A second process: this test binary again, told by its environment what to do.
//!
//! It says on its standard output what a store acknowledged, one line each, right after the append
//! returned: `ack RUN NEXT HASH`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use r1_event::{Chain, Digest, Note, RunId, Seq};
use r1_store::conformance::sample::{LONG, batch, completed, message, run, started};
use r1_store::{AppendError, Document, DocumentChange, Expect, Head, SharedStore, SqliteOptions, SqliteStore};

/// Where a child that appends for ever notes, in a document per run, the seq at which the log goes on.
pub(crate) const NOTES: &str = "notes";

const STORE: &str = "R1_TEST_CHILD_STORE";
const ERRAND: &str = "R1_TEST_CHILD_ERRAND";

/// How many runs a child writes to at once.
pub(crate) const RUNS: u64 = 4;

/// What a child is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Append to all runs until killed.
    AppendForEver,
    /// Append to all runs until one append fails, then say `refused` and `read`.
    FillTheDisk,
    /// Append 50 times to each run from 100 on and end it.
    FinishRuns,
}

/// What a child said was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) run: RunId,
    pub(crate) next: Seq,
    pub(crate) hash: Digest,
}

/// This binary again, with `errand` on the store at `path`; `wrap` may put a shell around it.
pub(crate) fn spawn(path: &Path, errand: Errand, wrap: Option<&str>) -> (Child, Lines) {
    let binary = std::env::current_exe().expect("this test binary");
    let mut command = match wrap {
        Some(script) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "sh"]).arg(binary);
            shell
        }
        None => Command::new(binary),
    };
    let test = "sqlite::child::runs_an_errand_for_another_test";
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(STORE, path).env(ERRAND, format!("{errand:?}"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a child");
    let stdout = child.stdout.take().expect("its output");
    (child, Lines(BufReader::new(stdout)))
}

/// What a child says.
pub(crate) struct Lines(BufReader<ChildStdout>);

impl Lines {
    /// The next whole line; `None` at the end or if the line was cut off.
    pub(crate) fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok()?;
        line.strip_suffix('\n').map(Into::into)
    }

    /// The next acknowledgement, whatever else is said before it.
    pub(crate) fn next_ack(&mut self) -> Option<Ack> {
        loop {
            let line = self.next()?;
            if let Some(ack) = parse(&line) {
                return Some(ack);
            }
        }
    }
}

/// Reads an acknowledgement.
pub(crate) fn parse(line: &str) -> Option<Ack> {
    // The test harness may have written in front of it.
    let line = &line[line.find("ack ")?..];
    let mut words = line.split(' ').skip(1);
    let run = words.next()?.parse().ok()?;
    Some(Ack { run, next: Seq::new(words.next()?.parse().ok()?)?, hash: words.next()?.parse().ok()? })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "an errand for other tests, which run it in a process of its own"]
async fn runs_an_errand_for_another_test() {
    let path = std::env::var_os(STORE).expect("only other tests run this");
    // A log so small that its pages are copied into the database all the time.
    let options = SqliteOptions { log_pages: 50, ..SqliteOptions::default() };
    let store: SharedStore = Arc::new(SqliteStore::open(path, options).await.expect("the store opens"));
    match std::env::var(ERRAND).expect("an errand").as_str() {
        "AppendForEver" => {
            for n in 0..RUNS {
                let document = Document::new(run(n).to_string(), "1");
                let put = DocumentChange::Put { collection: NOTES.into(), document, expect: Expect::Absent };
                // False in all rounds but the first.
                store.change_documents(vec![put]).await.expect("a document");
            }
            append_to_all(&store, 0, u64::MAX).await;
        }
        "FillTheDisk" => {
            append_to_all(&store, 0, u64::MAX).await;
            let mut events = 0;
            for n in 0..RUNS {
                events += r1_store::conformance::sample::read_all(&store, &run(n)).await.len();
            }
            println!("read {events}");
        }
        "FinishRuns" => append_to_all(&store, 100, 50).await,
        other => panic!("no such errand: {other}"),
    }
}

/// Appends up to `count` batches to each run from `first` on, all at once, until one is refused.
async fn append_to_all(store: &SharedStore, first: u64, count: u64) {
    let writers = (first..first + RUNS).map(|n| tokio::spawn(append_to(store.clone(), run(n), count)));
    for writer in futures_util::future::join_all(writers).await {
        writer.expect("the writer does not panic");
    }
}

async fn append_to(store: SharedStore, run: RunId, count: u64) {
    // One owner across all rounds: a killed process's lease does not have to run out.
    let lease = store.acquire(&run, "child", LONG).await.expect("a lease").lease;
    let mut chain = store.chain(&run).await.expect("readable").unwrap_or_else(|| Chain::new(run.clone()));
    let mut noted = store.document(NOTES, run.as_str()).await.expect("readable");
    for round in 0..count {
        // Sizes from a few bytes to several pages.
        let size = [10, 300, 2_000, 9_000][usize::try_from(round % 4).expect("small")];
        let first = (chain.size() == 0).then(|| started("crash test"));
        let more = (0..round % 3 + 1).map(|n| message(format!("{n}").repeat(size)));
        let mut next = batch(&chain, first.into_iter().chain(more));
        chain = next.after().clone();
        if let Some(document) = &mut noted {
            let (revision, body) = (document.revision, chain.next_seq().to_string().into());
            next.note(Note { collection: NOTES.into(), key: run.to_string(), revision, body });
            document.revision += 1;
        }
        match store.append(&lease, next).await {
            Ok(Head { next, hash, .. }) => println!("ack {run} {next} {}", hash.expect("not empty")),
            Err(err) => return println!("refused {}", describe(&err)),
        }
    }
    store.append(&lease, batch(&chain, [completed()])).await.expect("the end");
}

fn describe(err: &AppendError) -> &'static str {
    match err {
        AppendError::Unavailable { .. } => "unavailable",
        AppendError::Failed { .. } => "failed",
        AppendError::OutcomeUnknown { .. } => "unknown",
        AppendError::Poisoned { .. } => "poisoned",
        AppendError::Conflict { .. }
        | AppendError::Fenced { .. }
        | AppendError::Finished { .. }
        | AppendError::BlobMissing { .. }
        | AppendError::CommandWithdrawn { .. }
        | AppendError::NoteMoved { .. } => "for another reason",
    }
}
