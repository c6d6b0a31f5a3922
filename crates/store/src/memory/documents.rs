//! Documents in memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use r1_event::{Note, UnixNanos};

use crate::document::{Document, DocumentChange, DocumentQuery, Expect};

/// All collections.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    collections: BTreeMap<String, BTreeMap<String, Document>>,
}

impl Documents {
    pub(super) fn get(&self, collection: &str, key: &str, now: UnixNanos) -> Option<&Document> {
        let document = self.collections.get(collection)?.get(key)?;
        Some(document).filter(|document| document.is_kept_at(now))
    }

    pub(super) fn find(&self, collection: &str, query: &DocumentQuery, now: UnixNanos) -> Vec<Document> {
        let documents = self.collections.get(collection).into_iter().flat_map(BTreeMap::values);
        let place = |document: &Document| Reverse((document.rank, document.key.clone()));
        let after = query.after.clone().map(Reverse);
        let mut found: Vec<_> = documents
            .filter(|document| document.is_kept_at(now))
            .filter(|document| query.facets.iter().all(|facet| document.facets.contains(facet)))
            .filter(|document| after.as_ref().is_none_or(|after| place(document) > *after))
            .cloned()
            .collect();
        found.sort_by_key(place);
        found.truncate(query.most());
        found
    }

    /// Makes all changes or none.
    pub(super) fn change(&mut self, changes: Vec<DocumentChange>, now: UnixNanos) -> bool {
        let mut changed = self.clone();
        for change in changes {
            if !changed.make(change, now) {
                return false;
            }
        }
        for documents in changed.collections.values_mut() {
            documents.retain(|_, document| document.is_kept_at(now));
        }
        *self = changed;
        true
    }

    /// Whether a note finds its document as it must be.
    pub(super) fn admits(&self, note: &Note, now: UnixNanos) -> bool {
        self.get(&note.collection, &note.key, now).is_some_and(|document| document.revision == note.revision)
    }

    pub(super) fn take_note(&mut self, note: &Note) {
        let documents = self.collections.get_mut(&note.collection);
        if let Some(document) = documents.and_then(|documents| documents.get_mut(&note.key)) {
            document.body = note.body.clone();
            document.revision += 1;
        }
    }

    fn make(&mut self, change: DocumentChange, now: UnixNanos) -> bool {
        match change {
            DocumentChange::Put { collection, mut document, expect } => {
                let found = self.get(&collection, &document.key, now).map(|found| found.revision);
                let expected = match expect {
                    Expect::Anything => true,
                    Expect::Absent => found.is_none(),
                    Expect::Revision(revision) => found == Some(revision),
                };
                document.revision = found.unwrap_or(0) + 1;
                self.collections.entry(collection).or_default().insert(document.key.clone(), document);
                expected
            }
            DocumentChange::Remove { collection, key } => {
                self.collections.entry(collection).or_default().remove(&key);
                true
            }
            DocumentChange::Clear { collection } => {
                self.collections.remove(&collection);
                true
            }
        }
    }
}
