//! The runs whose facts were needed lately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use r1_event::RunId;
use r1_protocol::EnvelopeWriter;

/// A bounded memory: two halves, of which the older is forgotten when the younger is full. What is asked for
/// moves to the younger, so what is needed often stays.
pub(super) struct Known {
    half: usize,
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    young: HashMap<RunId, Arc<EnvelopeWriter>>,
    old: HashMap<RunId, Arc<EnvelopeWriter>>,
}

impl Known {
    pub(super) fn new(capacity: usize) -> Self {
        Self { half: capacity.div_ceil(2).max(1), halves: Mutex::default() }
    }

    pub(super) fn get(&self, run: &RunId) -> Option<Arc<EnvelopeWriter>> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = halves.young.get(run) {
            return Some(writer.clone());
        }
        let (run, writer) = halves.old.remove_entry(run)?;
        halves.keep(self.half, run, writer.clone());
        Some(writer)
    }

    pub(super) fn keep(&self, run: RunId, writer: Arc<EnvelopeWriter>) {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner).keep(self.half, run, writer);
    }
}

impl Halves {
    fn keep(&mut self, half: usize, run: RunId, writer: Arc<EnvelopeWriter>) {
        if self.young.len() >= half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(run, writer);
    }
}

#[cfg(test)]
mod tests {
    use r1_event::{Payload, UnixNanos};
    use r1_protocol::RunFacts;

    use super::*;

    fn writer(run: &RunId) -> Arc<EnvelopeWriter> {
        let mut batch = r1_event::Batch::new(&r1_event::Chain::new(run.clone()));
        batch.push(UnixNanos(0), Payload::RunStarted(Box::default())).unwrap();
        Arc::new(EnvelopeWriter::new(RunFacts::of_first(&batch.records()[0], None).unwrap()))
    }

    #[test]
    fn what_is_needed_often_stays_and_the_rest_is_forgotten() {
        let known = Known::new(8);
        let run = |n: u32| format!("run_{n:026}").parse::<RunId>().unwrap();
        known.keep(run(0), writer(&run(0)));
        for n in 1..100 {
            known.keep(run(n), writer(&run(n)));
            assert!(known.get(&run(0)).is_some(), "{n}");
        }
        assert!(known.get(&run(1)).is_none());
        let halves = known.halves.lock().unwrap();
        assert!(halves.young.len() + halves.old.len() <= 8);
    }
}
