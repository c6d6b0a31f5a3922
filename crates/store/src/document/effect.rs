//! What a list of changes comes to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Document, DocumentChange};

/// Changes whose expectations all hold, as the difference between before and after.
///
/// Ordered, so that everyone who changes the same documents goes through them in the same order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Collections that lose what they had.
    pub(crate) cleared: BTreeSet<String>,
    /// What becomes, after that, of single documents by collection and key; `None` removes one.
    pub(crate) documents: BTreeMap<(String, String), Option<Document>>,
}

impl Effect {
    /// What `changes` come to; `None` if an expectation does not hold.
    ///
    /// `revision` tells how a document stands before all of them; one that is to be forgotten is not there.
    pub(crate) fn of<E>(
        changes: &[DocumentChange],
        mut revision: impl FnMut(&str, &str) -> Result<Option<u64>, E>,
    ) -> Result<Option<Self>, E> {
        let mut effect = Self::default();
        for change in changes {
            match change {
                DocumentChange::Put { collection, document, expect } => {
                    let place = (collection.clone(), document.key.clone());
                    let found = match effect.documents.get(&place) {
                        Some(written) => written.as_ref().map(|document| document.revision),
                        None if effect.cleared.contains(collection) => None,
                        None => revision(collection, &document.key)?,
                    };
                    if !expect.admits(found) {
                        return Ok(None);
                    }
                    let mut document = Document { revision: found.unwrap_or(0) + 1, ..document.clone() };
                    document.facets.sort_unstable();
                    document.facets.dedup();
                    effect.documents.insert(place, Some(document));
                }
                DocumentChange::Remove { collection, key } => {
                    effect.documents.insert((collection.clone(), key.clone()), None);
                }
                DocumentChange::Clear { collection } => {
                    effect.documents.retain(|(of, _), _| of != collection);
                    effect.cleared.insert(collection.clone());
                }
            }
        }
        Ok(Some(effect))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::Expect;
    use super::*;

    fn put(key: &str, expect: Expect) -> DocumentChange {
        DocumentChange::Put { collection: "c".into(), document: Document::new(key, "x"), expect }
    }

    /// The effect on a collection that has the document `old` with revision 7.
    fn effect(changes: &[DocumentChange]) -> Option<Effect> {
        let found = |_: &str, key: &str| Ok::<_, Infallible>((key == "old").then_some(7));
        let Ok(effect) = Effect::of(changes, found);
        effect
    }

    fn revision(effect: &Effect, key: &str) -> Option<u64> {
        effect.documents[&("c".to_owned(), key.to_owned())].as_ref().map(|document| document.revision)
    }

    #[test]
    fn a_later_change_finds_what_an_earlier_one_left() {
        let remove = DocumentChange::Remove { collection: "c".into(), key: "old".into() };
        let clear = DocumentChange::Clear { collection: "c".into() };
        let twice = [put("old", Expect::Revision(7)), put("old", Expect::Revision(8))];
        assert_eq!(revision(&effect(&twice).unwrap(), "old"), Some(9));
        let again = [remove.clone(), put("old", Expect::Absent), put("new", Expect::Absent)];
        assert_eq!(revision(&effect(&again).unwrap(), "old"), Some(1));
        let last = effect(&[put("new", Expect::Anything), clear.clone(), put("old", Expect::Absent)]).unwrap();
        assert_eq!((last.documents.len(), last.cleared.len(), revision(&last, "old")), (1, 1, Some(1)));
        assert_eq!(revision(&effect(&[put("old", Expect::Anything), remove.clone()]).unwrap(), "old"), None);
        for refused in [remove, clear] {
            assert_eq!(effect(&[refused, put("old", Expect::Revision(7))]), None);
        }
        assert_eq!(effect(&[put("new", Expect::Absent), put("new", Expect::Absent)]), None);
    }
}
