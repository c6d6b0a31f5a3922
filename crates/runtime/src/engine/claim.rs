//! Taking a run: the lease, the fold of its log, and the event that says so.

use r1_event::{Payload, RunId, Seq, payload};
use r1_protocol::data::{self, EventData, MemoryBy};
use r1_store::{LeaseError, SharedStore};

use super::stage::stage;
use super::{Claim, Engine, EngineError, seam};
use crate::agent::command::{Response, set_actor};
use crate::agent::{Phase, RunState};
use crate::control::caller::Caller;
use crate::control::operator::OPERATOR;
use crate::emit::Emission;
use crate::history::load;
use crate::memory::{Access, Library, Tier, read_event};
use crate::trace::TraceParent;
use crate::world;
use crate::writer::RunWriter;

/// A run that is ours: what it is, and the right to write it.
pub struct Claimed {
    pub(super) state: RunState,
    pub(super) writer: RunWriter,
    seq: Seq,
}

impl Claimed {
    /// The event that says so.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }
}

/// After so many claims in a row without any progress, nobody tries again.
const MAX_TAKEOVERS: u64 = 5;

pub(super) async fn claim(engine: &Engine, run: &RunId, why: Claim) -> Result<Claimed, EngineError> {
    release_the_dead(&engine.store, run).await?;
    // What may take long is done before anyone could wait for the lease.
    engine.index.catch_up().await?;
    let owner = world::lease_owner(&engine.instance);
    let taken = RunWriter::take(engine.store.clone(), run.clone(), &owner, engine.key.clone(), engine.lease);
    let (mut writer, previous) = taken.await?;
    match prepare(engine, run, why, &mut writer, previous).await {
        Ok((state, seq)) => Ok(Claimed { state, writer, seq }),
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
) -> Result<(RunState, Seq), EngineError> {
    let mut state = load(&engine.store, run).await?;
    if state.terminal.is_some() {
        return Err(EngineError::Ended);
    }
    match state.run_kind.as_str() {
        "recorded" | OPERATOR => return Err(EngineError::Recorded),
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
        events.push(resumed(engine, &state, &why, writer)?);
    } else {
        events.push(started(engine, &state, writer)?);
    }
    let answer = events.len() - 1;
    let mut events: Vec<_> = events.into_iter().map(Emission::plain).collect();
    if !was_claimed && state.run_kind == "agent_loop" {
        events.extend(identity(engine, &state).await?);
    }
    let response = Response { events, answer };
    let seq = commit(engine, writer, &mut state, response, &why.caller).await?;
    Ok((state, seq))
}

/// Tells a run who it is, one key at a time.
async fn identity(engine: &Engine, state: &RunState) -> Result<Vec<Emission>, EngineError> {
    let library = Library::new(engine.index.clone(), state.memory_workspace());
    let mut events = Vec::new();
    for listed in library.list(Tier::L0, "").await? {
        let entry = library.get(Tier::L0, &listed.key).await?;
        let access = Access { tier: Tier::L0, key: &listed.key, by: &MemoryBy::Runtime, call_id: None };
        events.push(read_event(access, entry.as_ref()));
    }
    Ok(events)
}

fn started(engine: &Engine, state: &RunState, writer: &RunWriter) -> Result<Payload, EngineError> {
    let waited = (world::now().0 - state.last_at.0).max(0) / 1_000_000;
    let started = data::RunStarted {
        worker_id: engine.instance.clone(),
        lease_until: writer.lease().until.into(),
        attempt: Some(1),
        queue_wait_ms: u64::try_from(waited).ok(),
        instance_id: Some(engine.instance.clone()),
        trace_parent: Some(trace_parent(engine, state)?),
        ..Default::default()
    };
    Ok(started.to_payload())
}

/// The place of this process in the run's trace: the one that it has, or a new one in the same trace.
fn trace_parent(engine: &Engine, state: &RunState) -> Result<String, EngineError> {
    let known = state.trace_parent.as_deref().and_then(TraceParent::parse);
    let is_ours = state.instance_id.as_deref() == Some(engine.instance.as_str());
    let place = match known {
        Some(known) if is_ours => known,
        known => TraceParent::mint(known.as_ref())?,
    };
    Ok(place.to_string())
}

fn resumed(engine: &Engine, state: &RunState, why: &Claim, writer: &RunWriter) -> Result<Payload, EngineError> {
    let open = seam::open_calls(state).count();
    let mut extra = payload::Extra::default();
    set_actor(&mut extra, why.caller.actor.as_ref());
    let reason = match state.phase {
        _ if why.by_operator => "operator",
        Phase::Claimed => "lease_expired",
        _ if state.is_idle() => "reopened",
        _ => "handed_over",
    };
    Ok(Payload::RunResumed(payload::RunResumed {
        at_seq: state.last.get(),
        reissue_tools: seam::open_calls(state).any(|call| seam::will_reissue(state, call)),
        pending_calls: u32::try_from(open).unwrap_or(u32::MAX),
        extra_message: why.message.clone().unwrap_or_default(),
        worker_id: Some(engine.instance.clone()),
        lease_until: Some(data::Time::from(writer.lease().until).to_string()),
        reason: Some(reason.into()),
        instance_id: Some(engine.instance.clone()),
        trace_parent: Some(trace_parent(engine, state)?),
        extra,
    }))
}

/// Appends events that were worked out from `state`, and takes them into it. Gives the place of the one
/// that answers.
pub(super) async fn commit(
    engine: &Engine,
    writer: &mut RunWriter,
    state: &mut RunState,
    response: Response,
    caller: &Caller,
) -> Result<Seq, EngineError> {
    let Response { events, answer } = response;
    if events.is_empty() {
        return Ok(state.last);
    }
    let mut batch = writer.batch();
    let mut places = Vec::with_capacity(events.len());
    for emission in events {
        places.push(stage(engine, &mut batch, state, emission)?.seq);
    }
    let seq = places.get(answer).copied().unwrap_or(state.last);
    caller.note_in(&mut batch, &state.run, seq);
    writer.append_batch(batch).await?;
    Ok(seq)
}

/// Says in the log of a session that its worker is gone. It waits for a person then.
pub async fn pause_abandoned(engine: &Engine, run: &RunId) -> Result<(), EngineError> {
    let nobody = Caller::default();
    let paused = claim_for_append(engine, run, &nobody, |state| {
        let mut events = vec![seam::disconnected(state, None)];
        events.extend(seam::close_calls(state));
        let events = events.into_iter().map(Emission::plain).collect();
        Ok::<_, std::convert::Infallible>(Response { events, answer: 0 })
    });
    paused.await.map(drop)
}

/// Says in the log of a run that it was passed over, unless it was said since it came into the queue.
pub async fn throttle(engine: &Engine, run: &RunId, reason: &str, limit: usize) -> Result<(), EngineError> {
    let nobody = Caller::default();
    let throttled = claim_for_append(engine, run, &nobody, |state| {
        let waits = state.phase == Phase::Queued && state.terminal.is_none();
        if !waits || state.throttled.iter().any(|known| known == reason) {
            return Err(());
        }
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let event = data::RunThrottled { reason: reason.into(), limit, ..Default::default() };
        Ok(Response { events: vec![Emission::plain(event.to_payload())], answer: 0 })
    });
    throttled.await.map(drop)
}

/// Appends what `respond` answers to the state of a run that nobody works on, and gives it back at once.
/// Gives the place of the event that answers; the inner error says that nothing is to be done.
pub async fn claim_for_append<E>(
    engine: &Engine,
    run: &RunId,
    caller: &Caller,
    respond: impl FnOnce(&RunState) -> Result<Response, E> + Send,
) -> Result<Result<Seq, E>, EngineError> {
    let owner = world::lease_owner(&engine.instance);
    let mut writer = RunWriter::open(engine.store.clone(), run.clone(), &owner, engine.key.clone()).await?;
    let answered = async {
        let mut state = load(&engine.store, run).await?;
        match respond(&state) {
            Ok(response) => commit(engine, &mut writer, &mut state, response, caller).await.map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    };
    let answered = answered.await;
    writer.close().await?;
    engine.bell.notify_one();
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
