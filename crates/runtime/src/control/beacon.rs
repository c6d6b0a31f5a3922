//! What happens at beacons, as bridges tell it.
//!
//! R1 checks that an event has the shape of its kind and that what it points at is there. Whether a beacon's
//! signatures hold is for the bridge to know.

mod session;

use std::time::Duration;

use r1_event::RunId;
use r1_protocol::api::{ErrorDetail, ExternalEvent};
use r1_protocol::data::{BeaconEvent, EventData, Object, StokeDelegationSettle};
use r1_protocol::{event_id, json};
use r1_receipt::{Graph, NodeId, NodeType, check_data};
use r1_store::{AppendError, LeaseError, Pages, SharedStore};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::append::may_append;
use super::caller::{Caller, Effect, Role};
use super::command::CommandError;
use super::operator::{self, About, Opening, OperatorError};
use super::receipt::notes_of;
use super::task::{self, TaskError};
use super::view;
use crate::agent::command::{Recorded, Refusal, with_actor};
use crate::emit::Emission;
use crate::engine::{Engine, release_the_dead};
use crate::source::{Log, StoredRun};
use crate::writer::WriterError;

pub use session::{IDLE, close_sessions};

/// How long it may take until a run can be written to that someone else writes to.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is tried.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// What a session tells one process comes one after the other: a bridge that tells much at once does not wait for
/// itself. Some sessions share a place, which costs them little.
static TURNS: [Mutex<()>; 16] = [const { Mutex::const_new(()) }; 16];

/// Records an event of a bridge that drives no run, in the operator run of its session.
pub async fn tell(engine: &Engine, event: ExternalEvent, caller: &Caller) -> Result<Effect, TaskError> {
    if caller.role != Role::Bridge || !may_append(&event.type_name, caller) {
        return Err(TaskError::Reserved { type_name: event.type_name });
    }
    let session = caller.session_id();
    let place = session.bytes().map(usize::from).sum::<usize>() % TURNS.len();
    let _turn = TURNS[place].lock().await;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let run = session::run_of(engine, session).await?;
        let told = if engine.store().head(&run).await?.is_some() {
            task::tell(engine, &run, event.clone(), caller).await.map(Some)
        } else {
            begin(engine, &run, event.clone(), caller).await
        };
        match told {
            Ok(Some(effect)) => return Ok(effect),
            Ok(None) => {}
            Err(err) if is_passing(&err) && Instant::now() < deadline => tokio::time::sleep(TRY_EVERY).await,
            Err(err) => return Err(err),
        }
    }
}

/// Begins the run of a session with its first event; `None` if it was begun before.
async fn begin(
    engine: &Engine,
    run: &RunId,
    event: ExternalEvent,
    caller: &Caller,
) -> Result<Option<Effect>, TaskError> {
    let ExternalEvent { type_name, data } = event;
    let Recorded { type_name, mut data, .. } = told(engine.store(), None, type_name, data, caller).await?;
    engine.redactor().json(&mut data);
    let payload = r1_event::Payload::Typed(r1_protocol::data::typed(&type_name, &data));
    let event = Emission::plain(with_actor(payload, caller.actor.as_ref()));
    let bridge = caller.actor.as_ref().and_then(|actor| actor.id.as_deref()).unwrap_or_default();
    let opening = Opening { about: About::Nothing, goal: format!("what `{bridge}` tells"), reason: String::new() };
    release_the_dead(engine.store(), run).await.map_err(CommandError::from)?;
    let begun = operator::begin(engine, run, &opening, event, caller).await?;
    Ok(begun.map(|seq| Effect::new(run, seq)))
}

/// Whether someone else was faster, or writes to the run now: the next try finds it as they left it.
fn is_passing(err: &TaskError) -> bool {
    match err {
        TaskError::Operator(OperatorError::Writer(err)) => matches!(
            err,
            WriterError::Lease(LeaseError::Held { .. })
                | WriterError::Append(
                    AppendError::Conflict { .. } | AppendError::Fenced { .. } | AppendError::Finished { .. }
                )
        ),
        TaskError::Command(CommandError::Refused(Refusal::Ended)) => true,
        _ => false,
    }
}

/// An event of a bridge as it is recorded in `run`.
pub(super) async fn told(
    store: &SharedStore,
    run: Option<&RunId>,
    type_name: String,
    mut data: Object,
    caller: &Caller,
) -> Result<Recorded, TaskError> {
    if type_name == StokeDelegationSettle::TYPE {
        check_settlement(&data)?;
        return Ok(Recorded { type_name, data: Value::Object(data), blobs: Vec::new() });
    }
    debug_assert_eq!(type_name, BeaconEvent::TYPE);
    name_bridge(&mut data, caller)?;
    let link = data.get_mut("detail").and_then(|detail| detail.get_mut("command_event"));
    if let Some(link) = link {
        let named = link.as_str().unwrap_or_default();
        let found = match run {
            Some(run) => command_of(store, run, named).await?,
            None => None,
        };
        let missing = || invalid("/data/detail/command_event", "names no command that this run was told of");
        *link = found.ok_or_else(missing)?.to_string().into();
    }
    let data = Value::Object(data);
    check_data(NodeType::BeaconLedgerEvent, &json::to_cbor(&data)).map_err(|unfit| {
        let whole = BEACON_KEYS.contains(&unfit.key.as_ref());
        let path = if whole { format!("/data/{}", unfit.key) } else { format!("/data/detail/{}", unfit.key) };
        invalid(&path, unfit.problem)
    })?;
    Ok(Recorded { type_name, data, blobs: Vec::new() })
}

/// Keys of an event itself; all others that can be wrong are in its `detail`.
const BEACON_KEYS: [&str; 7] = ["kind", "beacon_id", "operator_id", "device_id", "chain", "bridge", "detail"];

/// The bridge is whoever tells it, and nobody can tell it in the name of another.
fn name_bridge(data: &mut Object, caller: &Caller) -> Result<(), TaskError> {
    if let Some(unknown) = data.keys().find(|key| !BEACON_KEYS.contains(&key.as_str())) {
        return Err(invalid(&format!("/data/{unknown}"), "is unknown"));
    }
    let id = caller.actor.as_ref().and_then(|actor| actor.id.clone()).unwrap_or_default();
    match data.get("bridge") {
        Some(given) if given.as_str() != Some(&id) => {
            Err(invalid("/data/bridge", &format!("is not you: your token's name is `{id}`")))
        }
        _ => {
            data.insert("bridge".into(), id.into());
            Ok(())
        }
    }
}

fn check_settlement(data: &Object) -> Result<(), TaskError> {
    if let Some(unknown) = data.keys().find(|key| !matches!(key.as_str(), "contract_id" | "settlement_id")) {
        return Err(invalid(&format!("/data/{unknown}"), "is unknown"));
    }
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if !data.get("contract_id").is_some_and(is_text) {
        return Err(invalid("/data/contract_id", "names the contract that was settled"));
    }
    match data.get("settlement_id") {
        Some(given) if !is_text(given) => Err(invalid("/data/settlement_id", "is a text that is not empty")),
        _ => Ok(()),
    }
}

/// The node of a command that `run` was told of, by its id in the receipt or by its event's id.
async fn command_of(store: &SharedStore, run: &RunId, named: &str) -> Result<Option<NodeId>, TaskError> {
    let wanted: Option<NodeId> = named.parse().ok();
    let log = Log::Stored(StoredRun::open(store.clone(), run.clone()).await?);
    let mut graph = Graph::new(notes_of(&log, Some(store)).await?);
    let mut pages = Pages::of_all(&**store, run);
    while let Some(page) = pages.next().await? {
        for record in &page {
            let Some(place) = view::place(record) else { return Ok(None) };
            for node in graph.push(record).nodes {
                let is_named = wanted == Some(node.id()) || event_id(place.ts, record.hash()) == named;
                let is_command =
                    node.node_type() == NodeType::BeaconLedgerEvent && node.body().text("kind") == Some("command");
                if is_named && is_command {
                    return Ok(Some(node.id()));
                }
            }
        }
    }
    Ok(None)
}

fn invalid(path: &str, reason: &str) -> TaskError {
    TaskError::Invalid(vec![ErrorDetail { path: path.into(), reason: reason.into() }])
}
