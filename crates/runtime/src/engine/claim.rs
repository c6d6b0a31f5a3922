//! Taking a run: the lease, the fold of its log, and the event that says so.

use r1_event::{Payload, RunId, payload};
use r1_protocol::data::{self, EventData};
use r1_store::{LeaseError, SharedStore};

use super::stage::stage;
use super::{Claim, Engine, EngineError, seam};
use crate::agent::{Phase, RunState};
use crate::emit::Emission;
use crate::history::load;
use crate::world;
use crate::writer::RunWriter;

/// A run that is ours: what it is, and the right to write it.
pub(super) struct Claimed {
    pub(super) state: RunState,
    pub(super) writer: RunWriter,
}

/// After so many claims in a row without any progress, nobody tries again.
const MAX_TAKEOVERS: u64 = 5;

pub(super) async fn claim(engine: &Engine, run: &RunId, why: Claim) -> Result<Claimed, EngineError> {
    release_the_dead(&engine.store, run).await?;
    let owner = world::lease_owner(&engine.instance);
    let taken = RunWriter::take(engine.store.clone(), run.clone(), &owner, engine.key.clone(), engine.lease);
    let (mut writer, previous) = taken.await?;
    match prepare(engine, run, why, &mut writer, previous).await {
        Ok(state) => Ok(Claimed { state, writer }),
        Err(err) => {
            // Whatever is wrong with the run, the next one may try at once.
            writer.close().await?;
            Err(err)
        }
    }
}

async fn prepare(
    engine: &Engine,
    run: &RunId,
    why: Claim,
    writer: &mut RunWriter,
    previous: Option<r1_store::Lease>,
) -> Result<RunState, EngineError> {
    let mut state = load(&engine.store, run).await?;
    if state.terminal.is_some() {
        return Err(EngineError::Ended);
    }
    match state.run_kind.as_str() {
        "recorded" => return Err(EngineError::Recorded),
        _ if state.phase == Phase::Held => return Err(EngineError::Held),
        _ => {}
    }
    let mut events = Vec::new();
    let was_claimed = state.lease.is_some();
    if state.phase == Phase::Claimed {
        // Whoever had it is gone without a word.
        events.push(seam::disconnected(&state, previous.as_ref()));
    }
    let crashed = state.takeovers + u64::from(!events.is_empty()) >= MAX_TAKEOVERS;
    events.extend(seam::close_calls(&state));
    if crashed && !why.by_operator {
        events.extend(seam::crash_loop(&state));
    } else if was_claimed {
        events.push(resumed(engine, &state, &why, writer));
    } else {
        events.push(started(engine, &state, writer));
    }
    commit(engine, writer, &mut state, events.into_iter().map(Emission::plain).collect()).await?;
    Ok(state)
}

fn started(engine: &Engine, state: &RunState, writer: &RunWriter) -> Payload {
    let waited = (world::now().0 - state.last_at.0).max(0) / 1_000_000;
    data::RunStarted {
        worker_id: engine.instance.clone(),
        lease_until: writer.lease().until.into(),
        attempt: Some(1),
        queue_wait_ms: u64::try_from(waited).ok(),
        instance_id: Some(engine.instance.clone()),
        ..Default::default()
    }
    .to_payload()
}

fn resumed(engine: &Engine, state: &RunState, why: &Claim, writer: &RunWriter) -> Payload {
    let open = seam::open_calls(state).count();
    let reason = match state.phase {
        _ if why.by_operator => "operator",
        Phase::Claimed => "lease_expired",
        _ if state.is_idle() => "reopened",
        _ => "handed_over",
    };
    Payload::RunResumed(payload::RunResumed {
        at_seq: state.last.get(),
        reissue_tools: seam::open_calls(state).any(|call| seam::will_reissue(state, call)),
        pending_calls: u32::try_from(open).unwrap_or(u32::MAX),
        extra_message: why.message.clone().unwrap_or_default(),
        worker_id: Some(engine.instance.clone()),
        lease_until: Some(data::Time::from(writer.lease().until).to_string()),
        reason: Some(reason.into()),
        instance_id: Some(engine.instance.clone()),
        ..Default::default()
    })
}

/// Appends events that were worked out from `state`, and takes them into it.
pub(crate) async fn commit(
    engine: &Engine,
    writer: &mut RunWriter,
    state: &mut RunState,
    events: Vec<Emission>,
) -> Result<(), EngineError> {
    if events.is_empty() {
        return Ok(());
    }
    let mut batch = writer.batch();
    for emission in events {
        stage(engine, &mut batch, state, emission)?;
    }
    writer.append_batch(batch).await?;
    Ok(())
}

/// Says in the log of a session that its worker is gone. It waits for a person then.
pub async fn pause_abandoned(engine: &Engine, run: &RunId) -> Result<(), EngineError> {
    let paused = claim_for_append(engine, run, |state| {
        let mut events = vec![seam::disconnected(state, None)];
        events.extend(seam::close_calls(state));
        Ok::<_, std::convert::Infallible>(events.into_iter().map(Emission::plain).collect())
    });
    paused.await.map(drop)
}

/// Appends what `respond` answers to the state of a run that nobody works on, and gives it back at once.
/// The inner error is the answer that nothing is to be done.
pub async fn claim_for_append<E>(
    engine: &Engine,
    run: &RunId,
    respond: impl FnOnce(&RunState) -> Result<Vec<Emission>, E> + Send,
) -> Result<Result<RunState, E>, EngineError> {
    let owner = world::lease_owner(&engine.instance);
    let mut writer = RunWriter::open(engine.store.clone(), run.clone(), &owner, engine.key.clone()).await?;
    let answered = async {
        let mut state = load(&engine.store, run).await?;
        match respond(&state) {
            Ok(events) => commit(engine, &mut writer, &mut state, events).await.map(|()| Ok(state)),
            Err(refusal) => Ok(Err(refusal)),
        }
    };
    let answered = answered.await;
    writer.close().await?;
    answered
}

/// Gives back the lease of a process of this machine that is no longer alive, so that nobody has to
/// wait until it runs out.
pub async fn release_the_dead(store: &SharedStore, run: &RunId) -> Result<(), EngineError> {
    if let Some(lease) = store.lease(run).await?
        && world::is_dead(&lease.owner)
    {
        match store.release(&lease).await {
            Ok(()) | Err(LeaseError::Held { .. } | LeaseError::Lost { .. }) => {}
            Err(LeaseError::Store(err)) => return Err(err.into()),
        }
    }
    Ok(())
}
