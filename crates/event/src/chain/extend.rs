//! Several events at once.

use bytes::Bytes;

use super::{Batch, ChainError};
use crate::hash_many::hash_many;
use crate::header::Header;
use crate::id::{Digest, Seq, UnixNanos};
use crate::kind::Kind;
use crate::payload::Payload;
use crate::record::Record;

/// An event that waits only for its hashes.
pub(super) struct Ready {
    pub(super) ts: UnixNanos,
    pub(super) kind: Kind,
    pub(super) bytes: Bytes,
}

impl Batch {
    /// Adds events of a v2 run, with the same result as [`Batch::push`] for each, but sooner: what does not
    /// depend on the event before is hashed for several at once.
    ///
    /// If an event is refused, those before it are in the batch, and those from it on are not.
    pub fn extend(&mut self, events: impl IntoIterator<Item = (UnixNanos, Payload)>) -> Result<(), ChainError> {
        let mut ready = Vec::new();
        for (ts, payload) in events {
            let kind = payload.kind();
            // It names the root over all events before it.
            if kind.is_terminal() {
                self.keep_all(std::mem::take(&mut ready));
                self.push(ts, payload)?;
                continue;
            }
            match self.encode(self.after.size() + ready.len() as u64, payload) {
                Ok(bytes) => ready.push(Ready { ts, kind, bytes }),
                Err(refused) => {
                    self.keep_all(ready);
                    return Err(refused);
                }
            }
        }
        self.keep_all(ready);
        Ok(())
    }

    /// Hashes and keeps an event that has no others to share the work with.
    pub(super) fn keep_one(&mut self, Ready { ts, kind, bytes }: Ready) -> Seq {
        let (seq, payload_hash) = (self.after.next_seq(), Digest::blake3(&bytes));
        let record = self.record(ts, kind, bytes, payload_hash);
        self.keep(record, kind, ts);
        seq
    }

    fn keep_all(&mut self, mut ready: Vec<Ready>) {
        if ready.len() == 1
            && let Some(only) = ready.pop()
        {
            self.keep_one(only);
            return;
        }
        let payloads: Vec<&[u8]> = ready.iter().map(|event| &event.bytes[..]).collect();
        let payload_hashes = hash_many(&payloads);
        for (Ready { ts, kind, bytes }, payload_hash) in ready.into_iter().zip(payload_hashes) {
            let record = self.record(ts, kind, bytes, payload_hash);
            self.keep(record, kind, ts);
        }
    }

    /// The next event of a v2 run.
    fn record(&self, ts: UnixNanos, kind: Kind, bytes: Bytes, payload_hash: Digest) -> Record {
        let header = Header {
            run_id: self.after.run.as_str(),
            seq: self.after.next_seq(),
            prev_hash: self.after.head,
            ts,
            kind,
            payload_hash,
            payload_size: bytes.len() as u64,
        };
        Record { header: header.encode().into(), payload: Some(bytes) }
    }
}
