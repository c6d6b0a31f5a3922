//! The first half of a check on several threads.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::{Ending, ExaminedPage, Examiner, Validator};
use crate::finding::Verdict;
use crate::record::Record;

/// Pages on their way to one thread. More would only cost memory.
const IN_FLIGHT: usize = 2;
/// How many events a thread examines before it hands over what it found: few enough to be still in the
/// processor's cache when they are put together.
const CHUNK: usize = 128;
/// Chunks on their way back from one thread.
const CHUNKS_IN_FLIGHT: usize = 16;

impl Validator {
    /// Checks a whole log, given page by page, with `threads` threads for the part that can be shared.
    ///
    /// The pages are pulled on the calling thread, at most a few ahead of the check, so memory stays
    /// at a few pages per thread.
    pub fn run<E>(
        mut self,
        pages: impl IntoIterator<Item = Result<Vec<Record>, E>>,
        threads: usize,
    ) -> Result<Verdict, E> {
        let mut pages = pages.into_iter();
        if threads < 2 {
            for page in pages {
                page?.chunks(CHUNK).for_each(|chunk| self.push_all(chunk));
            }
            return Ok(self.finish_with(Ending::Clean));
        }
        let Some(first) = pages.next().transpose()? else { return Ok(self.finish()) };
        let Some(examiner) = first.first().map(|record| self.examiner(record)) else { return Ok(self.finish()) };
        let all = std::iter::once(Ok(first)).chain(pages);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| Worker::spawn(scope, &examiner)).collect();
            self.dispatch(all, &workers)
        })?;
        Ok(self.finish())
    }

    fn push_all(&mut self, records: &[Record]) {
        if let Some(first) = records.first() {
            let examined = self.examiner(first).examine(records);
            self.observe(examined);
        }
    }

    /// Hands pages to the workers in turn and takes their results back in the same order.
    fn dispatch<E>(
        &mut self,
        pages: impl Iterator<Item = Result<Vec<Record>, E>>,
        workers: &[Worker],
    ) -> Result<(), E> {
        let depth = workers.len() * IN_FLIGHT;
        // The worker of each page that is on its way, and how many chunks it will answer with.
        let mut under_way = VecDeque::with_capacity(depth);
        let mut turn = workers.iter().cycle();
        for page in pages {
            if under_way.len() == depth
                && let Some((worker, chunks)) = under_way.pop_front()
            {
                self.collect(worker, chunks);
            }
            let page = page?;
            if let Some(worker) = turn.next() {
                under_way.push_back((worker, page.len().div_ceil(CHUNK)));
                // A worker lives as long as this call, so the page always arrives.
                let _ = worker.pages.send(page);
            }
        }
        for (worker, chunks) in under_way {
            self.collect(worker, chunks);
        }
        Ok(())
    }

    fn collect(&mut self, worker: &Worker, chunks: usize) {
        // A worker answers every page; nothing is missing unless it panicked, which the scope passes on.
        worker.results.iter().take(chunks).for_each(|chunk| self.observe(chunk));
    }
}

struct Worker {
    pages: SyncSender<Vec<Record>>,
    results: Receiver<ExaminedPage>,
}

impl Worker {
    fn spawn<'scope>(scope: &'scope thread::Scope<'scope, '_>, examiner: &Examiner) -> Self {
        let (pages, inbox) = sync_channel::<Vec<Record>>(IN_FLIGHT);
        let (outbox, results) = sync_channel(CHUNKS_IN_FLIGHT);
        let examiner = examiner.clone();
        scope.spawn(move || {
            for page in inbox {
                for chunk in page.chunks(CHUNK) {
                    if outbox.send(examiner.examine(chunk)).is_err() {
                        return;
                    }
                }
            }
        });
        Self { pages, results }
    }
}
