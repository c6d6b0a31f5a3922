//! Events on their way into a batch.

use r1_event::{Batch, Seq};
use r1_protocol::event_id;

use super::{Engine, EngineError};
use crate::agent::refused::rejections;
use crate::agent::{FoldError, Place, RunState};
use crate::emit::Emission;
use crate::world;
use crate::writer::WriterError;

/// An event in a batch.
pub(super) struct Staged {
    pub(super) id: String,
    pub(super) seq: Seq,
}

/// Gives an event its place, takes it into the state, and does the same with what follows from it at once.
pub(super) fn stage(
    engine: &Engine,
    batch: &mut Batch,
    state: &mut RunState,
    emission: Emission,
) -> Result<Staged, EngineError> {
    let following = rejections(state, &emission.payload, world::now());
    let staged = stage_one(engine, batch, state, emission)?;
    for emission in following {
        stage_one(engine, batch, state, emission)?;
    }
    Ok(staged)
}

fn stage_one(
    engine: &Engine,
    batch: &mut Batch,
    state: &mut RunState,
    emission: Emission,
) -> Result<Staged, EngineError> {
    let payload = engine.redactor.payload(emission.payload);
    // The clock of the machine that wrote before may have been ahead; a run's own time never goes back.
    let ts = world::now().max(state.last_at);
    let seq = batch.push(ts, payload.clone()).map_err(WriterError::from)?;
    for blob in emission.blobs {
        batch.reference_blob(seq, blob);
    }
    let hash = batch.after().head().ok_or(FoldError::NotStarted)?;
    state.apply(Place { seq, ts, hash }, &payload);
    Ok(Staged { id: event_id(ts, hash), seq })
}
