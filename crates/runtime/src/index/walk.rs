//! Going through a list, newest first.

use std::cmp::Reverse;
use std::collections::VecDeque;

use r1_protocol::api::List;
use r1_store::{Document, DocumentQuery, SharedStore, StoreError};

use super::IndexError;
use super::cursor::{self, Place};
use super::drawer::{Entry, read};

/// How many documents are read at once.
const PAGE: usize = 200;

/// How many entries one request looks at before it answers with what it has and where to go on.
const MOST: usize = 10_000;

/// How many objects a page has if nothing else is asked for, and at most.
const USUAL: usize = 50;
const LARGEST: usize = 200;

/// Entries that have all facets of at least one of several selections.
pub(super) struct Walk<E> {
    selections: Vec<Vec<(String, String)>>,
    after: Option<Place>,
    ready: VecDeque<(Place, E)>,
    ended: bool,
    looked_at: usize,
}

impl<E: Entry> Walk<E> {
    pub(super) fn new(selections: Vec<Vec<(String, String)>>, cursor: Option<&str>) -> Result<Self, IndexError> {
        let after = cursor.map(|cursor| cursor::read(E::COLLECTION, cursor)).transpose()?;
        Ok(Self { selections, after, ready: VecDeque::new(), ended: false, looked_at: 0 })
    }

    pub(super) async fn next(&mut self, store: &SharedStore) -> Result<Option<(Place, E)>, StoreError> {
        while self.ready.is_empty() && !self.ended {
            self.read(store).await?;
        }
        self.looked_at += 1;
        Ok(self.ready.pop_front())
    }

    async fn read(&mut self, store: &SharedStore) -> Result<(), StoreError> {
        let mut found = Vec::new();
        let mut may_have_more = false;
        for facets in &self.selections {
            let query = DocumentQuery { facets: facets.clone(), after: self.after.clone(), limit: PAGE };
            let page = store.documents(E::COLLECTION, query).await?;
            may_have_more |= page.len() == PAGE;
            found.extend(page);
        }
        found.sort_by_cached_key(|document| Reverse((document.rank, document.key.clone())));
        found.dedup_by(|a, b| a.key == b.key);
        // The first of each selection are there, so the first of all are.
        may_have_more |= found.len() > PAGE;
        found.truncate(PAGE);
        self.ended = !may_have_more;
        self.after = found.last().map(|document| (document.rank, document.key.clone())).or_else(|| self.after.take());
        let entry = |document: Document| Some(((document.rank, document.key.clone()), read(&document)?));
        self.ready.extend(found.into_iter().filter_map(entry));
        Ok(())
    }

    /// Whether one request has looked at as much as it may.
    const fn is_tired(&self) -> bool {
        self.looked_at >= MOST
    }
}

/// A page that is being filled.
pub(super) struct Page<T> {
    limit: usize,
    objects: Vec<T>,
    last: Option<Place>,
}

impl<T> Page<T> {
    /// For so many; 0 stands for the usual number.
    pub(super) fn new(limit: usize) -> Self {
        let limit = if limit == 0 { USUAL } else { limit.min(LARGEST) };
        Self { limit, objects: Vec::new(), last: None }
    }

    /// Takes what came of the entry at `place`; true means that the page is done.
    pub(super) fn take<E: Entry>(&mut self, walk: &Walk<E>, place: Place, object: Option<T>) -> bool {
        match object {
            Some(_) if self.objects.len() == self.limit => return true,
            Some(object) => {
                self.objects.push(object);
                self.last = Some(place);
            }
            None if walk.is_tired() => {
                self.last = Some(place);
                return true;
            }
            None => {}
        }
        false
    }

    /// The page, with more behind it.
    pub(super) fn more<E: Entry>(self) -> List<T> {
        let next = self.last.map(|place| cursor::write(E::COLLECTION, &place));
        List::new(self.objects, next)
    }

    /// The last page.
    pub(super) fn end(self) -> List<T> {
        List::new(self.objects, None)
    }
}
