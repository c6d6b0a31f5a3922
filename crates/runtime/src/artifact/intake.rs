//! What happens to content on its way into the store: redacted, cut to the limit, hashed.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use r1_event::Digest;
use r1_protocol::data::ArtifactKind;
use r1_store::BlobContent;
use sha2::{Digest as _, Sha256};

use crate::redact::{Redactor, StreamRedactor};

/// Takes content in pieces of any size and gives what is to be stored, with bounded memory.
pub(super) struct Intake {
    secrets: Secrets,
    kept: Kept,
}

/// The beginning and the end of the content.
struct Kept {
    head_room: u64,
    tail: VecDeque<Bytes>,
    tail_length: u64,
    tail_room: u64,
    whole: u64,
    sha256: Sha256,
}

/// What is done about secrets.
enum Secrets {
    /// They are replaced.
    Replace(Box<StreamRedactor>),
    /// They stay, and that there are some is noted: what the redactor gives is not what it got.
    Note(Box<StreamRedactor>, Box<blake3::Hasher>, Box<blake3::Hasher>),
}

/// What is known of the content once it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Its length before it was cut.
    pub(super) whole: u64,
    /// Of what is kept.
    pub(super) sha256: Digest,
    /// Whether it seems to hold a secret.
    pub(super) contains_secrets: bool,
}

/// Holds the facts as soon as the content has gone through.
#[derive(Clone, Default)]
pub(super) struct FactsSlot(Arc<Mutex<Option<Facts>>>);

impl FactsSlot {
    /// The facts; those of nothing if the store did not read to the end.
    pub(super) fn take(&self) -> Facts {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        found.unwrap_or(Facts { whole: 0, sha256: Digest::new(Sha256::digest([]).into()), contains_secrets: false })
    }

    fn set(&self, facts: Facts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
    }
}

impl Intake {
    /// For content of a kind, of which `limit` bytes are kept: the first three quarters and the last one.
    pub(super) fn new(redactor: &Redactor, kind: &ArtifactKind, limit: u64) -> Self {
        let stream = Box::new(redactor.stream());
        let secrets = match kind {
            ArtifactKind::CommandOutput | ArtifactKind::FetchedResource | ArtifactKind::SearchResults => {
                Secrets::Replace(stream)
            }
            ArtifactKind::Patch
            | ArtifactKind::FileSnapshot
            | ArtifactKind::Image
            | ArtifactKind::ToolResultBlob
            | ArtifactKind::Commit
            | ArtifactKind::Skill
            | ArtifactKind::Other(_) => Secrets::Note(stream, Box::default(), Box::default()),
        };
        let tail_room = limit / 4;
        let kept = Kept {
            head_room: limit - tail_room,
            tail: VecDeque::new(),
            tail_length: 0,
            tail_room,
            whole: 0,
            sha256: Sha256::new(),
        };
        Self { secrets, kept }
    }

    /// The content as the store gets it, and where its facts will be.
    pub(super) fn stream(
        self,
        body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> (BlobContent, FactsSlot) {
        let slot = FactsSlot::default();
        let state = (Some(self), Box::pin(body) as Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>, slot.clone());
        let pieces = stream::unfold(state, |(intake, mut body, slot)| async move {
            let mut intake = intake?;
            match body.next().await {
                Some(Ok(piece)) => Some((Ok(intake.push(piece)), (Some(intake), body, slot))),
                Some(Err(err)) => Some((Err(err), (None, body, slot))),
                None => {
                    let (pieces, facts) = intake.finish();
                    slot.set(facts);
                    Some((Ok(pieces), (None, body, slot)))
                }
            }
        });
        let flat = pieces.flat_map(|pieces| {
            stream::iter(match pieces {
                Ok(pieces) => pieces.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(err) => vec![Err(err)],
            })
        });
        (flat.boxed(), slot)
    }

    fn push(&mut self, piece: Bytes) -> Vec<Bytes> {
        let piece = match &mut self.secrets {
            Secrets::Replace(redactor) => redactor.push(&piece).into(),
            Secrets::Note(redactor, given, got) => {
                given.update(&piece);
                got.update(&redactor.push(&piece));
                piece
            }
        };
        self.kept.push(piece).into_iter().collect()
    }

    fn finish(self) -> (Vec<Bytes>, Facts) {
        let Self { secrets, mut kept } = self;
        let (rest, contains_secrets) = match secrets {
            Secrets::Replace(redactor) => (kept.push(redactor.finish().into()), false),
            Secrets::Note(redactor, given, mut got) => {
                got.update(&redactor.finish());
                (None, given.finalize() != got.finalize())
            }
        };
        let Kept { tail, whole, mut sha256, .. } = kept;
        tail.iter().for_each(|piece| sha256.update(piece));
        let facts = Facts { whole, sha256: Digest::new(sha256.finalize().into()), contains_secrets };
        (rest.into_iter().chain(tail).collect(), facts)
    }
}

impl Kept {
    /// Lets the head pass and keeps the last of the rest.
    fn push(&mut self, mut piece: Bytes) -> Option<Bytes> {
        let length = |piece: &Bytes| u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.whole += length(&piece);
        let head = piece.split_to(usize::try_from(self.head_room.min(length(&piece))).unwrap_or(piece.len()));
        self.head_room -= length(&head);
        self.tail_length += length(&piece);
        self.tail.push_back(piece);
        while self.tail_length > self.tail_room {
            let Some(mut first) = self.tail.pop_front() else { break };
            let over = (self.tail_length - self.tail_room).min(length(&first));
            self.tail_length -= over;
            let rest = first.split_off(usize::try_from(over).unwrap_or(first.len()));
            if !rest.is_empty() {
                self.tail.push_front(rest);
            }
        }
        self.sha256.update(&head);
        Some(head).filter(|head| !head.is_empty())
    }
}
