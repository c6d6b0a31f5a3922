//! Tokens beside the operator's: their hashes are in the store, so that every node accepts them.

use std::time::Duration;

use r1_event::UnixNanos;
use r1_runtime::world::{self, NoRandomness};
use r1_store::{Document, DocumentChange, DocumentQuery, Expect, SharedStore, StoreError};
use serde::{Deserialize, Serialize};

use super::grant::Grant;
use super::operator::PREFIX;
use super::secret::{self, Hashed};

/// Where they are.
const COLLECTION: &str = "tokens";

/// How many a listing has at most.
const MOST: usize = 1000;

/// A token, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// Its own id, which opens nothing.
    pub id: String,
    /// What its owner calls it; the log calls whoever has it by this name.
    pub name: String,
    /// What it gives.
    pub grant: Grant,
    /// Since when, in nanoseconds since 1970.
    pub created_at: i64,
    /// Until when.
    pub expires_at: Option<i64>,
}

/// Why a token was not made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The name is used already.
    #[error("there is a token named `{name}` already; revoke it first, or take another name")]
    NameTaken {
        /// Which.
        name: String,
    },
    /// The name cannot be used.
    #[error("a token's name has 1 to 64 letters, digits, `.`, `_` or `-`")]
    BadName,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// Makes a token. It is returned here and never shown again.
pub async fn create(
    store: &SharedStore,
    name: &str,
    grant: Grant,
    lifetime: Option<Duration>,
) -> Result<(TokenInfo, String), TokenError> {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !(1..=64).contains(&name.len()) || !name.bytes().all(fit) {
        return Err(TokenError::BadName);
    }
    if list(store).await?.iter().any(|token| token.name == name) {
        return Err(TokenError::NameTaken { name: name.to_owned() });
    }
    let (token, now) = (secret::mint(PREFIX)?, world::now());
    let until = |lifetime: Duration| now.0.saturating_add(i64::try_from(lifetime.as_nanos()).unwrap_or(i64::MAX));
    let expires_at = lifetime.map(until);
    let (id, name) = (world::new_id("tok"), name.to_owned());
    let info = TokenInfo { id, name, grant, created_at: now.0, expires_at };
    let body = serde_json::to_vec(&info).unwrap_or_default();
    let document = Document {
        rank: u64::try_from(now.0).unwrap_or(0),
        expires_at: expires_at.map(UnixNanos),
        ..Document::new(Hashed::of(&token).to_hex(), body)
    };
    let put = DocumentChange::Put { collection: COLLECTION.into(), document, expect: Expect::Absent };
    store.change_documents(vec![put]).await?;
    Ok((info, token))
}

/// All tokens whose time is not over, the newest first.
pub async fn list(store: &SharedStore) -> Result<Vec<TokenInfo>, StoreError> {
    Ok(documents(store).await?.into_iter().filter_map(|document| read(&document)).collect())
}

/// Makes a token worthless, by its name or id. False if there is none.
pub async fn revoke(store: &SharedStore, name_or_id: &str) -> Result<bool, StoreError> {
    let named =
        |document: &Document| read(document).is_some_and(|token| token.name == name_or_id || token.id == name_or_id);
    let Some(found) = documents(store).await?.into_iter().find(named) else { return Ok(false) };
    let remove = DocumentChange::Remove { collection: COLLECTION.into(), key: found.key };
    store.change_documents(vec![remove]).await?;
    Ok(true)
}

/// What is kept of a token that somebody shows.
pub(super) async fn find(store: &SharedStore, token: &str) -> Result<Option<TokenInfo>, StoreError> {
    // Found by its hash: how long that takes says nothing about the token.
    let document = store.document(COLLECTION, &Hashed::of(token).to_hex()).await?;
    Ok(document.as_ref().and_then(read))
}

async fn documents(store: &SharedStore) -> Result<Vec<Document>, StoreError> {
    store.documents(COLLECTION, DocumentQuery { limit: MOST, ..DocumentQuery::default() }).await
}

fn read(document: &Document) -> Option<TokenInfo> {
    serde_json::from_slice(&document.body).ok()
}
