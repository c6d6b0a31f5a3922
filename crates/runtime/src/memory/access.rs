//! The way of tools to memory.
//!
//! What belongs to the run is asked of the run's one owner, so that every event fits those before it. What belongs
//! to the workspace is looked up here, and only the events go to the owner.

use std::sync::Arc;

use r1_event::RunId;
use r1_protocol::data::MemoryBy;
use r1_store::SharedStore;
use tokio::sync::{mpsc, oneshot};

use super::error::{MemoryError, check_key, check_size};
use super::event::{Access, fetch, hold, read_event, write_event};
use super::library::{Found, Learned, Library, Listed};
use super::state::{Entry, Tiers};
use super::tier::Tier;
use super::value::{Held, Value};
use crate::emit::{Emission, Emitter, WriterGone};
use crate::redact::Redactor;

/// The memory that the tools of one run reach. Clones lead to the same.
#[derive(Clone, Debug)]
pub struct Memory {
    run: RunId,
    owner: mpsc::Sender<Asked>,
    library: Library,
    events: Emitter,
    redactor: Arc<Redactor>,
}

/// Something asked of a run's own memory.
#[derive(Debug)]
pub struct Asked {
    /// What.
    wish: Wish,
    /// By which call.
    call_id: String,
    /// Hears the answer once its event is durable.
    reply: oneshot::Sender<Result<Answer, MemoryError>>,
}

#[derive(Debug)]
enum Wish {
    Get { tier: Tier, key: String },
    Put { tier: Tier, key: String, value: Value, held: Held },
    List { tier: Tier, prefix: String },
}

#[derive(Debug)]
enum Answer {
    Found(Option<Arc<Entry>>),
    Written,
    Keys(Vec<Listed>),
}

impl Memory {
    /// The memory of `run`, and the queue that the run's owner serves.
    #[must_use]
    pub fn channel(
        run: RunId,
        library: Library,
        events: Emitter,
        redactor: Arc<Redactor>,
    ) -> (Self, mpsc::Receiver<Asked>) {
        let (owner, asked) = mpsc::channel(16);
        (Self { run, owner, library, events, redactor }, asked)
    }

    /// What stands under a key.
    pub async fn get(&self, tier: Tier, key: &str, call_id: &str) -> Result<Option<Value>, MemoryError> {
        check_key(key)?;
        let key = self.redactor.text(key).into_owned();
        let entry = match tier {
            Tier::L0 | Tier::L1 | Tier::L2 => match self.ask(Wish::Get { tier, key }, call_id).await? {
                Answer::Found(entry) => entry,
                Answer::Written | Answer::Keys(_) => None,
            },
            Tier::L3 => self.look_up(&key, call_id).await?.map(Arc::new),
        };
        match entry {
            Some(entry) => Ok(Some(fetch(self.library.store(), &entry.held).await?)),
            None => Ok(None),
        }
    }

    /// Puts something under a key; gives the key back, which in L3 follows from the value.
    pub async fn put(
        &self,
        tier: Tier,
        key: Option<&str>,
        value: Value,
        alias: Option<&str>,
        call_id: &str,
    ) -> Result<String, MemoryError> {
        if tier == Tier::L0 {
            return Err(MemoryError::AppendOnly { run: self.run.clone() });
        }
        let value = value.without_secrets(&self.redactor);
        let clean = |text: &str| self.redactor.text(text).into_owned();
        match (tier, key, alias) {
            (Tier::L3, Some(_), _) => Err(MemoryError::KeyGiven),
            (Tier::L3, None, alias) => {
                self.library.see(&self.run).await?;
                let alias = alias.map(clean);
                let learned = self.library.learn(&value, alias.as_deref(), &MemoryBy::Agent, Some(call_id)).await?;
                let Learned { key, events, was_known: _ } = learned;
                self.events.emit_all(events).await?;
                Ok(key)
            }
            (_, _, Some(_)) => Err(MemoryError::NoAliases),
            (_, None, None) => Err(MemoryError::NoKey { tier }),
            (_, Some(key), None) => {
                check_key(key)?;
                check_size(tier, value.bytes().len())?;
                let held = hold(self.library.store(), &value).await?;
                let key = clean(key);
                self.ask(Wish::Put { tier, key: key.clone(), value, held }, call_id).await?;
                Ok(key)
            }
        }
    }

    /// The keys that begin so.
    pub async fn list(&self, tier: Tier, prefix: &str, call_id: &str) -> Result<Vec<Listed>, MemoryError> {
        if tier == Tier::L3 {
            self.library.see(&self.run).await?;
            return Ok(self.library.list(tier, prefix).await?);
        }
        match self.ask(Wish::List { tier, prefix: prefix.to_owned() }, call_id).await? {
            Answer::Keys(keys) => Ok(keys),
            Answer::Found(_) | Answer::Written => Ok(Vec::new()),
        }
    }

    async fn look_up(&self, key: &str, call_id: &str) -> Result<Option<Entry>, MemoryError> {
        self.library.see(&self.run).await?;
        let found = self.library.find(key).await?;
        let access = |key| Access { tier: Tier::L3, key, by: &MemoryBy::Agent, call_id: Some(call_id) };
        let (events, entry) = match found {
            None => (vec![read_event(access(key), None)], None),
            Some(Found { alias, key, entry }) => {
                let alias = alias.iter().map(|(alias, target)| read_event(access(alias), Some(target)));
                (alias.chain([read_event(access(&key), entry.as_ref())]).collect(), entry)
            }
        };
        self.events.emit_all(events).await?;
        Ok(entry)
    }

    async fn ask(&self, wish: Wish, call_id: &str) -> Result<Answer, MemoryError> {
        let (reply, answer) = oneshot::channel();
        let asked = Asked { wish, call_id: call_id.to_owned(), reply };
        self.owner.send(asked).await.map_err(|_| WriterGone)?;
        answer.await.map_err(|_| WriterGone)?
    }
}

/// What has to be appended before something that was asked may be answered.
pub(crate) struct Prepared {
    /// The event, unless only keys were asked for.
    pub(crate) event: Option<Emission>,
    answer: Answer,
    reply: oneshot::Sender<Result<Answer, MemoryError>>,
}

impl Prepared {
    /// Answers, now that the event is durable.
    pub(crate) fn answer(self) {
        // Whoever asked may be gone by now; its event is written all the same.
        let _ = self.reply.send(Ok(self.answer));
    }
}

/// Works out what comes of something that was asked of the memory of a run. `None` if it was refused.
pub(crate) async fn prepare(store: &SharedStore, tiers: &Tiers, asked: Asked) -> Option<Prepared> {
    let Asked { wish, call_id, reply } = asked;
    match worked_out(store, tiers, wish, &call_id).await {
        Ok((answer, event)) => Some(Prepared { event, answer, reply }),
        Err(err) => {
            let _ = reply.send(Err(err));
            None
        }
    }
}

async fn worked_out(
    store: &SharedStore,
    tiers: &Tiers,
    wish: Wish,
    call_id: &str,
) -> Result<(Answer, Option<Emission>), MemoryError> {
    let by = &MemoryBy::Agent;
    match wish {
        Wish::Get { tier, key } => {
            let entry = tiers.get(tier, &key).cloned();
            let event = read_event(Access { tier, key: &key, by, call_id: Some(call_id) }, entry.as_deref());
            Ok((Answer::Found(entry), Some(event)))
        }
        Wish::Put { tier, key, value, held } => {
            let old = match tiers.get(tier, &key) {
                Some(entry) => Some(fetch(store, &entry.held).await?),
                None => None,
            };
            let access = Access { tier, key: &key, by, call_id: Some(call_id) };
            Ok((Answer::Written, Some(write_event(access, old.as_ref(), Some(&value), Some(&held)))))
        }
        Wish::List { tier, prefix } => {
            let listed = |(key, entry): (&str, &Entry)| Listed {
                key: key.to_owned(),
                fingerprint: entry.fingerprint.to_string(),
                size: entry.held.size(),
                target: None,
            };
            let entries = tiers.entries(tier).into_iter().filter(|(key, _)| key.starts_with(&prefix));
            Ok((Answer::Keys(entries.map(listed).collect()), None))
        }
    }
}
