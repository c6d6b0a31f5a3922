//! Documents in memory, found by key, by rank, by facet and by the time they are to be forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::Bound;

use r1_event::{Note, UnixNanos};

use crate::document::{Document, DocumentChange, DocumentQuery, Effect, MOST_FORGOTTEN};

/// All collections.
#[derive(Debug, Default)]
pub(super) struct Documents {
    collections: HashMap<String, Collection>,
    /// Collection and key of those that are to be forgotten some day.
    expiring: BTreeSet<(UnixNanos, String, String)>,
}

/// Places in a listing: rank and key.
type Places = BTreeSet<(u64, String)>;

#[derive(Debug, Default)]
struct Collection {
    documents: HashMap<String, Document>,
    ranked: Places,
    by_facet: BTreeMap<(String, String), Places>,
}

impl Documents {
    pub(super) fn get(&self, collection: &str, key: &str, now: UnixNanos) -> Option<&Document> {
        let document = self.collections.get(collection)?.documents.get(key)?;
        Some(document).filter(|document| document.is_kept_at(now))
    }

    pub(super) fn find(&self, collection: &str, query: &DocumentQuery, now: UnixNanos) -> Vec<Document> {
        let Some(collection) = self.collections.get(collection) else { return Vec::new() };
        let (places, further) = match query.facets.split_first() {
            Some((first, further)) => (collection.by_facet.get(first), further),
            None => (Some(&collection.ranked), &[][..]),
        };
        let end = query.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let places = places.into_iter().flat_map(|places| places.range((Bound::Unbounded, end)).rev());
        places
            .filter_map(|(_, key)| collection.documents.get(key))
            .filter(|document| document.is_kept_at(now))
            .filter(|document| further.iter().all(|facet| document.facets.contains(facet)))
            .take(query.most())
            .cloned()
            .collect()
    }

    /// Makes all changes or none.
    pub(super) fn change(&mut self, changes: &[DocumentChange], now: UnixNanos) -> bool {
        let found = |collection: &str, key: &str| {
            Ok::<_, Infallible>(self.get(collection, key, now).map(|document| document.revision))
        };
        let Ok(Some(Effect { cleared, documents })) = Effect::of(changes, found) else { return false };
        for collection in cleared {
            let gone = self.collections.remove(&collection).unwrap_or_default();
            for Document { key, expires_at, .. } in gone.documents.into_values() {
                if let Some(expires_at) = expires_at {
                    self.expiring.remove(&(expires_at, collection.clone(), key));
                }
            }
        }
        for ((collection, key), document) in documents {
            self.remove(&collection, &key);
            if let Some(document) = document {
                self.insert(collection, document);
            }
        }
        self.forget(now);
        true
    }

    /// Whether a note finds its document as it must be.
    pub(super) fn admits(&self, note: &Note, now: UnixNanos) -> bool {
        self.get(&note.collection, &note.key, now).is_some_and(|document| document.revision == note.revision)
    }

    pub(super) fn take_note(&mut self, note: &Note) {
        let collection = self.collections.get_mut(&note.collection);
        if let Some(document) = collection.and_then(|collection| collection.documents.get_mut(&note.key)) {
            document.body = note.body.clone();
            document.revision += 1;
        }
    }

    fn insert(&mut self, collection: String, document: Document) {
        if let Some(expires_at) = document.expires_at {
            self.expiring.insert((expires_at, collection.clone(), document.key.clone()));
        }
        let collection = self.collections.entry(collection).or_default();
        let place = (document.rank, document.key.clone());
        for facet in &document.facets {
            collection.by_facet.entry(facet.clone()).or_default().insert(place.clone());
        }
        collection.ranked.insert(place);
        collection.documents.insert(document.key.clone(), document);
    }

    fn remove(&mut self, name: &str, key: &str) {
        let Some(collection) = self.collections.get_mut(name) else { return };
        let Some(document) = collection.documents.remove(key) else { return };
        let place = (document.rank, document.key);
        collection.ranked.remove(&place);
        for facet in document.facets {
            if let Some(places) = collection.by_facet.get_mut(&facet) {
                places.remove(&place);
                if places.is_empty() {
                    collection.by_facet.remove(&facet);
                }
            }
        }
        if collection.documents.is_empty() {
            self.collections.remove(name);
        }
        if let Some(expires_at) = document.expires_at {
            self.expiring.remove(&(expires_at, name.to_owned(), place.1));
        }
    }

    fn forget(&mut self, now: UnixNanos) {
        for _ in 0..MOST_FORGOTTEN {
            let Some((_, collection, key)) = self.expiring.first().filter(|(at, ..)| *at <= now).cloned() else {
                return;
            };
            self.remove(&collection, &key);
        }
    }
}
