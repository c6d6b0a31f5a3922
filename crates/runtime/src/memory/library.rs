//! What outlives tasks: the identity and the knowledge of a workspace.
//!
//! Both are a fold over the logs of all runs there. The [`Index`] tells which event holds a value; the value
//! itself is always read from that event.

use std::sync::Arc;

use r1_event::{Payload, RunId};
use r1_protocol::data::{EventData, MemoryBy, MemoryWrite};
use r1_store::{PageLimit, SharedStore, StoreError};

use super::error::{MemoryError, check_key, check_size};
use super::event::{Access, fetch, hold, write_event};
use super::state::Entry;
use super::tier::Tier;
use super::value::{Held, Value};
use crate::agent::RunState;
use crate::emit::Emission;
use crate::index::{Index, Remembered};

/// What a content's key begins with.
const CONTENT: &str = "sha256:";

/// The lasting memory of one workspace.
#[derive(Clone, Debug)]
pub struct Library {
    index: Index,
    workspace: Arc<str>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The alias that led there.
    pub alias: Option<(String, Entry)>,
    /// Its key.
    pub key: String,
    /// What stands there; `None` if an alias leads nowhere.
    pub entry: Option<Entry>,
}

/// What a new piece of knowledge is called, and the events that tell of it.
#[derive(Debug)]
pub struct Learned {
    /// `sha256:` and the hash of its value.
    pub key: String,
    /// Whether it was known before.
    pub was_known: bool,
    /// To be appended in this order.
    pub events: Vec<Emission>,
}

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The key.
    pub key: String,
    /// The name of its content.
    pub fingerprint: String,
    /// How many bytes.
    pub size: u64,
    /// Of an alias: the key that it stands for.
    pub target: Option<String>,
}

impl Library {
    /// The memory of the directory `workspace`.
    pub fn new(index: Index, workspace: impl Into<Arc<str>>) -> Self {
        Self { index, workspace: workspace.into() }
    }

    /// Where the values are.
    #[must_use]
    pub const fn store(&self) -> &SharedStore {
        self.index.store()
    }

    /// Takes note of all that `run` has written.
    pub async fn see(&self, run: &RunId) -> Result<(), StoreError> {
        self.index.see(run).await
    }

    /// The run of this workspace that someone works on, if there is one.
    pub async fn open_run(&self) -> Result<Option<RunId>, StoreError> {
        self.index.open_run_in(&self.workspace).await
    }

    /// What stands under exactly this key.
    pub async fn get(&self, tier: Tier, key: &str) -> Result<Option<Entry>, StoreError> {
        match self.index.memory(&self.workspace, tier, key).await? {
            Some(remembered) => self.read(&remembered).await,
            None => Ok(None),
        }
    }

    /// What a key or an alias of L3 stands for; `None` if there is neither.
    pub async fn find(&self, key: &str) -> Result<Option<Found>, StoreError> {
        if is_content_key(key) {
            let entry = self.get(Tier::L3, key).await?;
            return Ok(entry.map(|entry| Found { alias: None, key: key.to_owned(), entry: Some(entry) }));
        }
        let Some(alias) = self.get(Tier::L3, key).await? else { return Ok(None) };
        let Some(target) = target(&alias) else { return Ok(None) };
        let entry = self.get(Tier::L3, &target).await?;
        Ok(Some(Found { alias: Some((key.to_owned(), alias)), key: target, entry }))
    }

    /// All that is in a tier and begins so, in the order of the keys.
    pub async fn list(&self, tier: Tier, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        for remembered in self.index.memories(&self.workspace, tier).await? {
            let Some(current) = remembered.current().filter(|_| remembered.key.starts_with(prefix)) else { continue };
            let is_alias = tier == Tier::L3 && !is_content_key(&remembered.key);
            // What was erased or pruned is no longer known, whatever the index says.
            let Some(entry) = self.read(&remembered).await? else { continue };
            listed.push(Listed {
                key: remembered.key.clone(),
                fingerprint: current.fingerprint.clone().unwrap_or_default(),
                size: entry.held.size(),
                target: target(&entry).filter(|_| is_alias),
            });
        }
        listed.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    /// Every known write of a key, the oldest first.
    pub async fn history(&self, tier: Tier, key: &str) -> Result<Option<Remembered>, StoreError> {
        self.index.memory(&self.workspace, tier, key).await
    }

    /// The events that make `value` known, under an alias too if one is given.
    pub async fn learn(
        &self,
        value: &Value,
        alias: Option<&str>,
        by: &MemoryBy,
        call_id: Option<&str>,
    ) -> Result<Learned, MemoryError> {
        check_size(Tier::L3, value.bytes().len())?;
        if let Some(alias) = alias {
            check_key(alias)?;
            if alias.starts_with(CONTENT) {
                return Err(MemoryError::BadAlias);
            }
        }
        let key = format!("{CONTENT}{}", value.fingerprint());
        let access = |key| Access { tier: Tier::L3, key, by, call_id };
        let known = self.get(Tier::L3, &key).await?;
        let mut events = Vec::new();
        match &known {
            // Recorded, and nothing is stored a second time.
            Some(_) => events.push(write_event(access(&key), Some(value), Some(value), None)),
            None => {
                let held = hold(self.store(), value).await?;
                events.push(write_event(access(&key), None, Some(value), Some(&held)));
            }
        }
        if let Some(alias) = alias {
            let target = Value::Text(key.clone());
            let old = self.get(Tier::L3, alias).await?;
            let old = old.as_ref().map(|old| &old.held).and_then(here);
            let held = Held::Here(target.clone());
            events.push(write_event(access(alias), old, Some(&target), Some(&held)));
        }
        Ok(Learned { key, was_known: known.is_some(), events })
    }

    /// The event that changes identity; without a value it deletes.
    pub async fn identify(&self, key: &str, value: Option<&Value>, by: &MemoryBy) -> Result<Emission, MemoryError> {
        check_key(key)?;
        let access = Access { tier: Tier::L0, key, by, call_id: None };
        let old = match self.get(Tier::L0, key).await? {
            Some(entry) => Some(fetch(self.store(), &entry.held).await?),
            None if value.is_none() => return Err(MemoryError::Missing { tier: Tier::L0, key: key.to_owned() }),
            None => None,
        };
        let held = match value {
            Some(value) => {
                check_size(Tier::L0, value.bytes().len())?;
                Some(hold(self.store(), value).await?)
            }
            None => None,
        };
        Ok(write_event(access, old.as_ref(), value, held.as_ref()))
    }

    /// The events that remove a piece of knowledge, with all aliases that lead to it; or an alias alone.
    pub async fn forget(&self, key: &str, by: &MemoryBy) -> Result<Vec<Emission>, MemoryError> {
        let missing = || MemoryError::Missing { tier: Tier::L3, key: key.to_owned() };
        let access = |key| Access { tier: Tier::L3, key, by, call_id: None };
        let entry = self.get(Tier::L3, key).await?.ok_or_else(missing)?;
        let value = fetch(self.store(), &entry.held).await?;
        let mut events = vec![write_event(access(key), Some(&value), None, None)];
        if is_content_key(key) {
            let target = Value::Text(key.to_owned());
            for alias in self.list(Tier::L3, "").await?.iter().filter(|listed| listed.target.as_deref() == Some(key)) {
                events.push(write_event(access(&alias.key), Some(&target), None, None));
            }
        }
        Ok(events)
    }

    /// What the event says that holds the current value; `None` if that is gone.
    async fn read(&self, remembered: &Remembered) -> Result<Option<Entry>, StoreError> {
        let Some(place) = remembered.holder() else { return Ok(None) };
        let (Ok(run), Some(seq)) = (place.run.parse::<RunId>(), r1_event::Seq::new(place.seq)) else { return Ok(None) };
        let page = match self.store().read(&run, seq, PageLimit::ONE).await {
            Ok(page) => page.records,
            Err(StoreError::NoRun { .. }) => return Ok(None),
            Err(err) => return Err(err),
        };
        // A payload that was erased cannot be read, and what was pruned is not there.
        let read = page.first().and_then(|record| RunState::read(record).ok());
        let Some((at, Payload::Typed(typed))) = read else { return Ok(None) };
        let write = MemoryWrite::read(&typed).filter(|write| at.seq == seq && write.key == remembered.key);
        let entry = write.and_then(|write| {
            Some(Entry { held: Held::from_json(write.value.as_ref()?)?, fingerprint: write.fingerprint?.parse().ok()? })
        });
        Ok(entry)
    }
}

/// Whether a key of L3 names content, and is no alias.
#[must_use]
pub fn is_content_key(key: &str) -> bool {
    key.starts_with(CONTENT)
}

fn here(held: &Held) -> Option<&Value> {
    match held {
        Held::Here(value) => Some(value),
        Held::Blob { .. } => None,
    }
}

/// The key that an alias stands for.
fn target(alias: &Entry) -> Option<String> {
    match here(&alias.held)? {
        Value::Text(key) if is_content_key(key) => Some(key.clone()),
        Value::Text(_) | Value::Json(_) | Value::Bytes(_) => None,
    }
}
