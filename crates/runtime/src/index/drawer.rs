//! Documents of one collection while a part of the feed is folded into them.

use std::collections::HashMap;

use r1_event::Digest;
use r1_store::{Document, DocumentChange, Expect, SharedStore, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a document of the index holds.
pub(super) trait Entry: Serialize + DeserializeOwned {
    /// Where it is kept.
    const COLLECTION: &'static str;

    /// Its place in listings: the highest first.
    fn rank(&self) -> u64;

    /// What it can be found by.
    fn facets(&self) -> Vec<(String, String)>;
}

/// The documents that were looked at, with what became of them.
#[derive(Debug)]
pub(super) struct Drawer<E> {
    slots: HashMap<String, Slot<E>>,
}

#[derive(Debug)]
struct Slot<E> {
    entry: Option<E>,
    changed: bool,
}

impl<E> Default for Drawer<E> {
    fn default() -> Self {
        Self { slots: HashMap::new() }
    }
}

impl<E: Entry> Drawer<E> {
    /// An entry to look at; read from the store the first time.
    pub(super) async fn get(&mut self, store: &SharedStore, key: &str) -> Result<Option<&E>, StoreError> {
        Ok(self.slot(store, key).await?.and_then(|slot| slot.entry.as_ref()))
    }

    /// An entry to change.
    pub(super) async fn get_mut(&mut self, store: &SharedStore, key: &str) -> Result<Option<&mut E>, StoreError> {
        let Some(slot) = self.slot(store, key).await? else { return Ok(None) };
        slot.changed |= slot.entry.is_some();
        Ok(slot.entry.as_mut())
    }

    /// Puts an entry in, and gives it back to go on with.
    pub(super) fn put(&mut self, key: &str, entry: E) -> &mut E {
        let slot = self.slots.entry(key.to_owned()).or_insert(Slot { entry: None, changed: true });
        slot.changed = true;
        slot.entry.insert(entry)
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, key: &str) {
        self.slots.insert(key.to_owned(), Slot { entry: None, changed: true });
    }

    /// The entries that were looked at and are there.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&str, &E)> {
        self.slots.iter().filter_map(|(key, slot)| Some((key.as_str(), slot.entry.as_ref()?)))
    }

    /// What is to be written.
    pub(super) fn into_changes(self) -> impl Iterator<Item = DocumentChange> {
        let collection = E::COLLECTION;
        self.slots.into_iter().filter(|(_, slot)| slot.changed).map(move |(key, slot)| match slot.entry {
            Some(entry) => DocumentChange::Put {
                collection: collection.into(),
                document: document(&key, &entry),
                expect: Expect::Anything,
            },
            None => DocumentChange::Remove { collection: collection.into(), key: name(&key) },
        })
    }

    async fn slot(&mut self, store: &SharedStore, key: &str) -> Result<Option<&mut Slot<E>>, StoreError> {
        if !self.slots.contains_key(key) {
            let entry = load(store, key).await?;
            self.slots.insert(key.to_owned(), Slot { entry, changed: false });
        }
        Ok(self.slots.get_mut(key))
    }
}

/// An entry by its key.
pub(super) async fn load<E: Entry>(store: &SharedStore, key: &str) -> Result<Option<E>, StoreError> {
    Ok(store.document(E::COLLECTION, &name(key)).await?.and_then(|document| read(&document)))
}

/// What a document says; `None` if it is not one of this index's.
pub(super) fn read<E: Entry>(document: &Document) -> Option<E> {
    serde_json::from_slice(&document.body).ok()
}

fn document<E: Entry>(key: &str, entry: &E) -> Document {
    // Entries are structs of text, numbers and JSON values: there is nothing that could fail.
    let mut body = serde_json::to_vec(entry).unwrap_or_default();
    if body.len() > Document::MAX_BODY {
        let mut value = serde_json::to_value(entry).unwrap_or_default();
        clip(&mut value);
        body = value.to_string().into_bytes();
    }
    Document { rank: entry.rank(), facets: entry.facets(), ..Document::new(name(key), body) }
}

/// Cuts what no document has room for. One foreign event of many megabytes must not keep the index from
/// going on; the event itself is in its log.
fn clip(value: &mut Value) {
    const TEXT: usize = 1 << 10;
    const ITEMS: usize = 64;
    match value {
        Value::String(text) => text.truncate(text.floor_char_boundary(TEXT)),
        Value::Array(items) => {
            items.truncate(ITEMS);
            items.iter_mut().for_each(clip);
        }
        Value::Object(members) => {
            if members.len() > ITEMS {
                members.clear();
            }
            members.values_mut().for_each(clip);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A facet, in a form that every store takes.
pub(super) fn facet(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), name(value))
}

/// The longest text that stands for itself, with room for a facet's own name.
const MAX_NAME: usize = Document::MAX_KEY - 64;

/// A text as a key: itself, or its hash if no store would take it. Logs come from anywhere.
pub(super) fn name(text: &str) -> String {
    if text.len() <= MAX_NAME && !text.contains('\0') {
        text.to_owned()
    } else {
        format!("blake3:{}", Digest::blake3(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_no_store_takes_is_named_by_its_hash() {
        assert_eq!(name("run_1"), "run_1");
        for text in ["a\0b".to_owned(), "long".repeat(1000)] {
            let name = name(&text);
            assert!(name.len() < MAX_NAME && !name.contains('\0'), "{name}");
        }
        assert_ne!(name("a\0b"), name("a\0c"));
    }
}
