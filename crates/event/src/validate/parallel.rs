//! The first half of a check on several threads.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::{Ending, ExaminedPage, Examiner, Validator};
use crate::finding::Verdict;
use crate::record::Record;

/// Pages on their way to and from one thread. More would only cost memory.
const IN_FLIGHT: usize = 2;

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
                page?.iter().for_each(|record| self.push(record));
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

    /// Hands pages to the workers in turn and takes their results back in the same order.
    fn dispatch<E>(
        &mut self,
        pages: impl Iterator<Item = Result<Vec<Record>, E>>,
        workers: &[Worker],
    ) -> Result<(), E> {
        let depth = workers.len() * IN_FLIGHT;
        let mut taken = 0;
        let mut given = 0;
        for page in pages {
            if given - taken == depth {
                self.collect(&workers[taken % workers.len()]);
                taken += 1;
            }
            // A worker lives as long as this call, so the page always arrives.
            let _ = workers[given % workers.len()].pages.send(page?);
            given += 1;
        }
        for next in taken..given {
            self.collect(&workers[next % workers.len()]);
        }
        Ok(())
    }

    fn collect(&mut self, worker: &Worker) {
        // A worker answers every page; none is missing unless it panicked, which the scope passes on.
        if let Ok(page) = worker.results.recv() {
            self.observe(page);
        }
    }
}

struct Worker {
    pages: SyncSender<Vec<Record>>,
    results: Receiver<ExaminedPage>,
}

impl Worker {
    fn spawn<'scope>(scope: &'scope thread::Scope<'scope, '_>, examiner: &Examiner) -> Self {
        let (pages, inbox) = sync_channel::<Vec<Record>>(IN_FLIGHT);
        let (outbox, results) = sync_channel(IN_FLIGHT);
        let examiner = examiner.clone();
        scope.spawn(move || {
            for page in inbox {
                if outbox.send(examiner.examine(&page)).is_err() {
                    break;
                }
            }
        });
        Self { pages, results }
    }
}
