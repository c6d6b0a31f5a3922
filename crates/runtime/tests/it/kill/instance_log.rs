//! The log of receipts on a real disk, under processes that are killed while they append to it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use r1_event::Digest;
use r1_event::merkle::proof::ProofBuilder;
use r1_event::merkle::{Sha256, TreeHash as _};
use r1_receipt::export::NoteKey;
use r1_receipt::key::SecretKey;
use r1_runtime::instance_log::{InstanceLog, Logged};

use super::{Random, seed};

const DIRECTORY: &str = "R1_TEST_APPEND_TO";
const SERIES: &str = "R1_TEST_APPEND_SERIES";
const FROM: &str = "R1_TEST_APPEND_FROM";

const NAME: &str = "example.org/r1";
const APPENDS: usize = 1_000;

/// Acknowledged appends between two kills, at most.
const LIVES: u64 = 12;

fn secret() -> SecretKey {
    SecretKey::from_seed([7; 32])
}

fn entry(series: &str, number: usize) -> String {
    format!("{series} {number} {}", "x".repeat(number % 97))
}

/// What a process was told of an append before it said so.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Acknowledged {
    index: usize,
    size: u64,
    root: Digest,
}

/// A process that appends one entry of its series after the other, and says so each time.
struct Appender {
    series: &'static str,
    child: Child,
    output: BufReader<ChildStdout>,
    /// The entry that it is at: the one before it is acknowledged, this one may be there or not.
    next: usize,
}

impl Appender {
    fn start(directory: &Path, series: &'static str, next: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kill::instance_log::appends_for_another_test", "--ignored", "--nocapture"]);
        command.env(DIRECTORY, directory).env(SERIES, series).env(FROM, next.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { series, child, output, next }
    }

    /// The next entry, and what became of it.
    fn acknowledged(&mut self) -> (String, Acknowledged) {
        let said = self.said().expect("it goes on until it is killed");
        (entry(self.series, self.next - 1), said)
    }

    /// What it says next; `None` when it is gone. The harness's own lines are passed over.
    fn said(&mut self) -> Option<Acknowledged> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            // A line that a kill cut short says nothing.
            if let Some(words) = line.strip_prefix("appended ").and_then(|words| words.strip_suffix('\n')) {
                let [number, index, checkpoint] = words.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                    panic!("{line}")
                };
                assert_eq!(number, self.next.to_string());
                self.next += 1;
                let secret = secret();
                let key = NoteKey::new(NAME, &secret).unwrap();
                let signed = key.read_checkpoint(&checkpoint.replace('|', "\n")).unwrap();
                return Some(Acknowledged { index: index.parse().unwrap(), size: signed.size, root: signed.root });
            }
            line.clear();
        }
        None
    }

    /// Kills it; what it said before counts.
    fn kill(mut self) -> (usize, Vec<(String, Acknowledged)>) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut last = Vec::new();
        while let Some(said) = self.said() {
            last.push((entry(self.series, self.next - 1), said));
        }
        (self.next, last)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "works for other tests, which run it in a process of its own"]
fn appends_for_another_test() {
    std::thread::spawn(|| {
        // Whoever started this process holds the other end of its input.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    let variable = |name| std::env::var(name).expect("only other tests run this");
    let (directory, series) = (variable(DIRECTORY), variable(SERIES));
    let secret = secret();
    let key = NoteKey::new(NAME, &secret).unwrap();
    println!();
    for number in variable(FROM).parse().unwrap().. {
        // Opened each time, as by each command that makes a receipt.
        let mut log = InstanceLog::open(Path::new(&directory)).unwrap();
        let Logged { inclusion, checkpoint } = log.append(entry(&series, number).as_bytes(), &key).unwrap();
        drop(log);
        println!("appended {number} {} {}", inclusion.index, checkpoint.replace('\n', "|"));
    }
}

#[test]
fn stoke_28_a_thousand_appends_on_a_real_disk_survive_processes_that_are_killed() {
    let seed = seed();
    println!("R1_TEST_SEED={seed}");
    let mut random = Random(seed);
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = directory.path();

    let mut acknowledged: BTreeMap<String, Acknowledged> = BTreeMap::new();
    let mut appenders = ["one", "two"].map(|series| Some(Appender::start(directory, series, 0)));
    let mut kills = 0;
    while acknowledged.len() < APPENDS {
        let turn = usize::try_from(random.below(2)).unwrap();
        let mut appender = appenders[turn].take().unwrap();
        for _ in 0..random.below(LIVES) {
            acknowledged.extend([appender.acknowledged()]);
        }
        let acknowledged_at = Instant::now();
        acknowledged.extend([appender.acknowledged()]);
        // Somewhere within its next append, which takes about as long as the last one.
        let moment = Duration::from_nanos(random.below(1 + acknowledged_at.elapsed().as_nanos() as u64));
        let acknowledged_at = Instant::now();
        while acknowledged_at.elapsed() < moment {
            std::hint::spin_loop();
        }
        let series = appender.series;
        let (next, last) = appender.kill();
        acknowledged.extend(last);
        kills += 1;
        appenders[turn] = Some(Appender::start(directory, series, next));
    }
    for appender in appenders.into_iter().flatten() {
        acknowledged.extend(appender.kill().1);
    }
    println!("{kills} processes were killed");

    let secret = secret();
    let key = NoteKey::new(NAME, &secret).unwrap();
    let mut log = InstanceLog::open(directory).unwrap();
    let last = log.append(b"and one more", &key).unwrap();
    assert_eq!(last.inclusion.index + 1, last.inclusion.size, "the log goes on");
    let entries = entries(&log.to_tiles(&key).unwrap().into_iter().collect());
    assert_eq!(entries.len() as u64, last.inclusion.size);
    let mut once = entries.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), entries.len(), "no entry is there twice");
    for (entry, Acknowledged { index, .. }) in &acknowledged {
        assert_eq!(entries.get(*index), Some(entry), "what was acknowledged is where it was");
    }
    // Besides those there is at most what each series was at when it was last killed, and the last one.
    assert!((acknowledged.len() + 1..=acknowledged.len() + 3).contains(&entries.len()), "{}", entries.len());

    // Somebody else's code says that each checkpoint extends the one before, so any two agree.
    let leaves: Vec<Digest> = entries.iter().map(|entry| Sha256::leaf(entry.as_bytes())).collect();
    let mut signed: BTreeMap<u64, Digest> = BTreeMap::new();
    for Acknowledged { size, root, .. } in acknowledged.values() {
        assert_eq!(signed.insert(*size, *root).unwrap_or(*root), *root, "one history is signed");
    }
    signed.insert(last.inclusion.size, last.inclusion.root);
    let signed: Vec<(u64, Digest)> = signed.into_iter().collect();
    for pair in signed.windows(2) {
        let [(older, older_root), (newer, newer_root)] = pair else { unreachable!() };
        let mut proof = ProofBuilder::<Sha256>::consistency(*older, *newer).unwrap();
        leaves[..*newer as usize].iter().for_each(|leaf| proof.push(*leaf));
        let proof = proof.finish().unwrap().iter().map(hash).collect();
        tlog_tiles::check_tree(&proof, *newer, hash(newer_root), *older, hash(older_root)).unwrap();
    }
}

/// All entries of the log, from its static files.
fn entries(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let mut entries = Vec::new();
    // In order: full bundles have names of three digits, the last one may be partial.
    for bundle in files.iter().filter_map(|(name, bundle)| name.starts_with("tile/entries/").then_some(bundle)) {
        let mut bundle = &bundle[..];
        while let Some((length, rest)) = bundle.split_first_chunk::<2>() {
            let (entry, rest) = rest.split_at(u16::from_be_bytes(*length).into());
            entries.push(String::from_utf8(entry.to_vec()).unwrap());
            bundle = rest;
        }
    }
    entries
}

fn hash(digest: &Digest) -> tlog_tiles::Hash {
    tlog_tiles::Hash(*digest.as_bytes())
}
