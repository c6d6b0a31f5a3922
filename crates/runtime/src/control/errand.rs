//! What is left for the worker of a run, and how whoever left it hears of the outcome.
//!
//! A command waits in the store. Its worker appends what it causes, removes it and notes the effect, all in
//! one transaction; or it leaves a word why not, and then removes it. Either is found under the command's id.

use std::time::Duration;

use r1_event::{RunId, UnixNanos};
use r1_protocol::data::Object;
use r1_store::{Document, DocumentChange, Expect, SharedStore, StoreError};
use serde::{Deserialize, Serialize};

use super::caller::{Caller, Effect, NoteSlot};
use crate::agent::command::{Command, Refusal};
use crate::world;

/// What is asked, and by whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) command: Command,
    pub(crate) caller: Caller,
}

/// Where words between askers and workers are kept.
const COLLECTION: &str = "errands";

/// Nobody waits for so long.
const KEPT: Duration = Duration::from_secs(600);

/// What became of an errand that is no longer pending.
pub(crate) enum Outcome {
    Done(Effect),
    Refused(Refusal),
    /// The run ended first, or the worker was lost: nothing was done.
    Nothing,
}

/// An errand that was left, as whoever waits for it sees it.
pub(crate) struct Waiting {
    id: String,
    slot: NoteSlot,
}

impl Waiting {
    /// Leaves an errand for the worker of `run`.
    pub(crate) async fn leave(
        store: &SharedStore,
        run: &RunId,
        command: &Command,
        caller: &Caller,
    ) -> Result<Self, r1_store::CommandError> {
        let id = world::new_id("cmd");
        let slot = match &caller.note {
            Some(slot) => slot.clone(),
            None => open_slot(store, &id).await?,
        };
        let caller = Caller { note: Some(slot.clone()), ..caller.clone() };
        let errand = Errand { command: command.clone(), caller };
        let body = serde_json::to_vec(&errand).unwrap_or_default().into();
        store.leave_command(run, r1_store::Command { id: id.clone(), body }).await?;
        Ok(Self { id, slot })
    }

    /// Whether the worker has not seen to it yet.
    pub(crate) async fn is_pending(&self, store: &SharedStore, run: &RunId) -> Result<bool, StoreError> {
        Ok(store.commands(run).await?.iter().any(|waiting| waiting.id == self.id))
    }

    /// Takes it back; false if the worker has seen to it.
    pub(crate) async fn withdraw(&self, store: &SharedStore, run: &RunId) -> Result<bool, StoreError> {
        store.withdraw_command(run, &self.id).await
    }

    /// What became of it, once it is not pending.
    pub(crate) async fn outcome(&self, store: &SharedStore) -> Result<Outcome, StoreError> {
        let noted = read(store, &self.slot.collection, &self.slot.key).await?;
        if let Some(effect) = noted.as_ref().and_then(Effect::noted_in) {
            return Ok(Outcome::Done(effect));
        }
        let word = read(store, COLLECTION, &self.id).await?;
        let refusal = word.and_then(|word| serde_json::from_value(serde_json::Value::Object(word)).ok());
        Ok(refusal.map_or(Outcome::Nothing, Outcome::Refused))
    }
}

/// Says why an errand will not be done.
pub(crate) async fn refuse(store: &SharedStore, id: &str, refusal: &Refusal) -> Result<(), StoreError> {
    let body = serde_json::to_vec(refusal).unwrap_or_default();
    put(store, id, body, Expect::Anything).await
}

/// A place for the note of a caller who has none.
async fn open_slot(store: &SharedStore, id: &str) -> Result<NoteSlot, StoreError> {
    put(store, id, b"{}".to_vec(), Expect::Absent).await?;
    Ok(NoteSlot { collection: COLLECTION.into(), key: id.into(), revision: 1, body: Object::new() })
}

async fn put(store: &SharedStore, key: &str, body: Vec<u8>, expect: Expect) -> Result<(), StoreError> {
    let kept = i64::try_from(KEPT.as_nanos()).unwrap_or(i64::MAX);
    let mut document = Document::new(key, body);
    document.expires_at = Some(UnixNanos(world::now().0.saturating_add(kept)));
    let change = DocumentChange::Put { collection: COLLECTION.into(), document, expect };
    store.change_documents(vec![change]).await.map(drop)
}

async fn read(store: &SharedStore, collection: &str, key: &str) -> Result<Option<Object>, StoreError> {
    let document = store.document(collection, key).await?;
    Ok(document.and_then(|document| serde_json::from_slice(&document.body).ok()))
}
