//! Accesses as events.

use bytes::Bytes;
use futures_util::stream;
use r1_protocol::data::{EventData, MemoryBy, MemoryOp, MemoryRead, MemoryWrite};
use r1_store::SharedStore;

use super::error::MemoryError;
use super::state::Entry;
use super::tier::Tier;
use super::value::{Held, MAX_INLINE, Value, diff_hash};
use crate::artifact;
use crate::emit::Emission;

/// What an access is about, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The tier.
    pub tier: Tier,
    /// The key.
    pub key: &'a str,
    /// Who reads or writes.
    pub by: &'a MemoryBy,
    /// The call that does, if one does.
    pub call_id: Option<&'a str>,
}

/// Puts a value where an event can have it: into the event, or into a blob before it.
pub async fn hold(store: &SharedStore, value: &Value) -> Result<Held, MemoryError> {
    if value.bytes().len() <= MAX_INLINE {
        return Ok(Held::Here(value.clone()));
    }
    let content = Bytes::copy_from_slice(value.bytes());
    let blob = store.blobs().put(Box::pin(stream::once(async move { Ok(content) }))).await?;
    Ok(Held::Blob { digest: blob.hash, form: value.form(), size: blob.size })
}

/// The value that an event holds.
pub async fn fetch(store: &SharedStore, held: &Held) -> Result<Value, MemoryError> {
    match held {
        Held::Here(value) => Ok(value.clone()),
        Held::Blob { digest, form, .. } => {
            let content = artifact::read(store, *digest).await?;
            // The form was told when the content was written; another content would have another name.
            Ok(Value::of_form(*form, content.clone()).unwrap_or(Value::Bytes(content)))
        }
    }
}

/// The event of a read that found `entry`, or nothing.
#[must_use]
pub fn read_event(access: Access<'_>, entry: Option<&Entry>) -> Emission {
    let Access { tier, key, by, call_id } = access;
    let read = MemoryRead {
        tier: tier.into(),
        store: tier.store().into(),
        key: key.to_owned(),
        by: by.clone(),
        hit: entry.is_some(),
        fingerprint: entry.map(|entry| entry.fingerprint.to_string()),
        value: entry.map(|entry| entry.held.to_json()),
        call_id: call_id.map(Into::into),
        ..Default::default()
    };
    Emission { payload: read.to_payload(), blobs: entry.and_then(|entry| entry.held.blob()).into_iter().collect() }
}

/// The event of a write that puts `new` in the place of `old`; without a new value it deletes. `held` is how the
/// event has the new value: not at all if that is known by another event.
#[must_use]
pub fn write_event(access: Access<'_>, old: Option<&Value>, new: Option<&Value>, held: Option<&Held>) -> Emission {
    let Access { tier, key, by, call_id } = access;
    let (before, after) = (old.map_or(&[][..], Value::bytes), new.map_or(&[][..], Value::bytes));
    let write = MemoryWrite {
        tier: tier.into(),
        store: tier.store().into(),
        key: key.to_owned(),
        by: by.clone(),
        op: if new.is_some() { MemoryOp::Set } else { MemoryOp::Delete },
        diff_hash: diff_hash(before, after).to_string(),
        fingerprint: new.map(|value| value.fingerprint().to_string()),
        prior_fingerprint: old.map(|value| value.fingerprint().to_string()),
        value: held.map(Held::to_json),
        call_id: call_id.map(Into::into),
        ..Default::default()
    };
    Emission { payload: write.to_payload(), blobs: held.and_then(Held::blob).into_iter().collect() }
}
