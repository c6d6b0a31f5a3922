//! One table: each figure beside a limit that was measured in the same run.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Whether to run each measurement just long enough to see that it still works.
pub(crate) fn quick() -> bool {
    std::env::var_os("R1_BENCH_QUICK").is_some()
}

/// `full` for a real run, `small` for a smoke test.
pub(crate) fn scaled(full: usize, small: usize) -> usize {
    if quick() { small } else { full }
}

/// The shortest of several runs of each of two things, taken in turn so that a busy moment hits both.
pub(crate) fn best_of<A, B>(rounds: usize, mut ours: A, mut peer: B) -> (Duration, Duration)
where
    A: FnMut() -> Duration,
    B: FnMut() -> Duration,
{
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..if quick() { 1 } else { rounds } {
        best.0 = best.0.min(ours());
        best.1 = best.1.min(peer());
    }
    best
}

/// How long `work` takes.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

/// How a figure must compare with its limit.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// At least this ratio of ours to the limit.
    AtLeast(f64),
    /// At most this ratio.
    AtMost(f64),
}

/// The rows so far.
#[derive(Default)]
pub(crate) struct Table {
    missed: Vec<String>,
    rows: usize,
}

impl Table {
    /// Prints a row at once, so that a long run shows where it is.
    pub(crate) fn row(&mut self, what: &str, ours: &str, limit: &str, ratio: f64, target: Target) {
        if self.rows == 0 {
            println!("| what | R1 | limit, measured in the same run | ratio | target | |");
            println!("|---|---|---|---|---|---|");
        }
        self.rows += 1;
        let (met, target) = match target {
            Target::AtLeast(least) => (ratio >= least, format!("≥ {least}")),
            Target::AtMost(most) => (ratio <= most, format!("≤ {most}")),
        };
        let mark = match met {
            _ if quick() => "not judged",
            true => "ok",
            false => "**missed**",
        };
        println!("| {what} | {ours} | {limit} | {ratio:.2} | {target} | {mark} |");
        let _ = std::io::stdout().flush();
        if !met {
            self.missed.push(what.to_owned());
        }
    }

    /// Says what was missed.
    pub(crate) fn finish(self) {
        println!();
        if quick() {
            println!("quick mode: {} measurements ran; their figures mean nothing", self.rows);
        } else if self.missed.is_empty() {
            println!("all {} targets are met", self.rows);
        } else {
            let (bold, plain) = if std::io::stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
            println!(
                "{bold}{} of {} targets are missed:{plain} {}",
                self.missed.len(),
                self.rows,
                self.missed.join("; ")
            );
        }
    }
}

/// Events per second, readable.
pub(crate) fn rate(events: usize, took: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a benchmark's count of events is small")]
    let per_second = events as f64 / took.as_secs_f64();
    match per_second {
        rate if rate >= 1e6 => format!("{:.2} M/s", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.0} k/s", rate / 1e3),
        rate if rate >= 1e3 => format!("{:.1} k/s", rate / 1e3),
        rate => format!("{rate:.0} /s"),
    }
}

/// How many times faster `ours` was than `peer`.
pub(crate) fn speed(ours: Duration, peer: Duration) -> f64 {
    peer.as_secs_f64() / ours.as_secs_f64()
}
