//! The documents of the index, whole, to be compared.

use std::collections::BTreeMap;

use r1_store::{DocumentQuery, SharedStore};

const COLLECTIONS: [&str; 5] = ["index.runs", "index.prompts", "index.tasks", "index.approvals", "index.artifacts"];

/// Everything that the index keeps, by collection and key.
pub(super) async fn all(store: &SharedStore) -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    for collection in COLLECTIONS {
        let query = DocumentQuery { limit: 10_000, ..DocumentQuery::default() };
        for mut document in store.documents(collection, query).await.unwrap() {
            document.facets.sort();
            let text = String::from_utf8(document.body.to_vec()).unwrap();
            let shown = format!("{} {:?} {text}", document.rank, document.facets);
            all.insert((collection.to_owned(), document.key), shown);
        }
    }
    all
}
