//! Requests that may be sent twice and are done once.
//!
//! A request with an `Idempotency-Key` first leaves a document that says: being carried out, by this process.
//! Whatever the request does is noted in that document in the same transaction (`control::caller`), and at last
//! its answer. So whoever asks again finds the answer; or the effect, from which the answer is made again; or
//! that it is being carried out, or was by a process that is gone, and then it is carried out now.

mod entry;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use http_body_util::BodyExt as _;
use r1_event::UnixNanos;
use r1_runtime::control::caller::{Effect, NoteSlot};
use r1_runtime::world;
use r1_store::{Document, DocumentChange, Expect, SharedStore, StoreError};
use sha2::{Digest as _, Sha256};

use crate::access::Identity;
use crate::app::{App, Limits};
use crate::body;
use crate::error::{ApiError, still_running};
use crate::request::RequestId;
use crate::routes::AnswerOf;
use entry::{Entry, Kept};

/// Where the documents are.
const COLLECTION: &str = "answers";

/// So long an answer is kept.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A request that has been carried out for so long is taken for lost, wherever its process is.
const LOST_AFTER: Duration = Duration::from_secs(60);

/// How often a race for a document is run before the client is asked to come again.
const ATTEMPTS: usize = 8;

/// Answers that are longer are not kept; the effect is, and from it the answer is made again.
const MOST_KEPT: usize = 2 << 20;

/// Carries out a request by `handle`, once per key.
pub(crate) async fn once<H, F>(
    app: Arc<App>,
    answer_of: AnswerOf,
    uploads: bool,
    request: Request,
    handle: H,
) -> Result<Response, ApiError>
where
    H: FnOnce(Request) -> F + Send + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let Some(key) = request.headers().get("idempotency-key") else { return Ok(handle(request).await) };
    let key = readable(key)?;
    let (mut parts, body) = request.into_parts();
    let body = whole(&app.limits, uploads, body).await?;
    let caller = parts.extensions.get::<Identity>().map_or("", |identity| &identity.id);
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let document = digest(&[caller, parts.method.as_str(), parts.uri.path(), &key]);
    let hash =
        blake3::Hasher::new().update(path.as_bytes()).update(b"\n").update(&body).finalize().to_hex().to_string();
    let answers = Answers { store: app.engine.store().clone(), key: document };
    let claim = match answers.claim(&hash, app.engine.instance()).await? {
        Claimed::Mine(claim) => claim,
        Claimed::Answered(kept) => return Ok(replayed(kept.response()?)),
        Claimed::Effected { effect, entry } => {
            let answer = answer_of(app, effect).await?;
            let (kept, response) = Kept::of(answer).await.map_err(|err| ApiError::internal(&err))?;
            answers.keep(entry, kept).await?;
            return Ok(replayed(response));
        }
    };
    let id = parts.extensions.get().cloned().unwrap_or_else(|| RequestId::of(&parts.headers));
    parts.extensions.insert(claim.slot());
    let request = Request::from_parts(parts, Body::from(body));
    // In a task of its own: a client that goes away does not stop it half way.
    let done = app.tasks.spawn(async move {
        let answer = handle(request).await;
        answers.finish(claim, answer, id).await
    });
    done.await.map_err(|err| ApiError::internal(&err))?
}

/// The whole body: what was asked is known only with its last byte.
async fn whole(limits: &Limits, uploads: bool, body: Body) -> Result<Bytes, ApiError> {
    if !uploads {
        return body::read(body, limits.body_bytes, limits.patience).await;
    }
    let mut pieces = body::pieces(body, limits.upload_bytes, limits.patience);
    let mut whole = BytesMut::new();
    while let Some(piece) = pieces.try_next().await? {
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// 1 to 255 visible characters.
fn readable(key: &HeaderValue) -> Result<String, ApiError> {
    let text = key.to_str().unwrap_or("");
    if (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text.to_owned());
    }
    Err(ApiError::validation("an Idempotency-Key has 1 to 255 visible ASCII characters"))
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // With the length in front, no two lists of parts look the same.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    r1_event::id::to_hex(&hash.finalize())
}

fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}

/// The document of one key.
struct Answers {
    store: SharedStore,
    key: String,
}

/// What was found under a key.
enum Claimed {
    Mine(Claim),
    Answered(Kept),
    Effected { effect: Effect, entry: Entry },
}

/// A document that is ours for now.
struct Claim {
    key: String,
    revision: u64,
    entry: Entry,
}

impl Claim {
    fn slot(&self) -> NoteSlot {
        let (collection, key) = (COLLECTION.to_owned(), self.key.clone());
        NoteSlot { collection, key, revision: self.revision, body: self.entry.as_object() }
    }
}

impl Answers {
    async fn claim(&self, hash: &str, instance: &str) -> Result<Claimed, ApiError> {
        for _ in 0..ATTEMPTS {
            let mine = Entry::running(hash, world::lease_owner(instance), world::now());
            let Some(found) = self.read().await? else {
                if self.put(&mine, Expect::Absent, KEPT_FOR).await?
                    && let Some(claim) = self.is_still(mine).await?
                {
                    return Ok(Claimed::Mine(claim));
                }
                continue;
            };
            let (revision, entry) = found;
            if entry.request_hash != hash {
                return Err(ApiError::conflict("this Idempotency-Key was used for another request")
                    .hint("use a new key for a new request"));
            }
            if let Some(kept) = entry.answer {
                return Ok(Claimed::Answered(kept));
            }
            if let Some(effect) = entry.effect.clone() {
                return Ok(Claimed::Effected { effect, entry });
            }
            if !entry.is_lost(world::now(), LOST_AFTER) {
                return Err(still_running());
            }
            if self.put(&mine, Expect::Revision(revision), KEPT_FOR).await?
                && let Some(claim) = self.is_still(mine).await?
            {
                return Ok(Claimed::Mine(claim));
            }
        }
        Err(still_running())
    }

    /// Keeps the answer, or makes room for another attempt if there is none worth keeping.
    async fn finish(&self, claim: Claim, mut answer: Response, id: RequestId) -> Result<Response, ApiError> {
        let error = answer.extensions().get::<ApiError>();
        let may_be_tried_again = error.is_some_and(ApiError::is_retriable) || answer.status().is_server_error();
        if may_be_tried_again {
            if let Some((revision, entry)) = self.read().await?
                && entry.owner == claim.entry.owner
                && entry.effect.is_none()
            {
                self.put(&entry, Expect::Revision(revision), Duration::ZERO).await?;
            }
            return Ok(answer);
        }
        // The first answer's bytes are the answer's bytes for ever, with the first request's id in an error.
        if let Some(error) = answer.extensions_mut().remove::<ApiError>() {
            answer = error.render(&id);
        }
        let (kept, response) = Kept::of(answer).await.map_err(|err| ApiError::internal(&err))?;
        self.keep(claim.entry, kept).await?;
        Ok(response)
    }

    /// Notes the answer, unless somebody else has taken the request over.
    async fn keep(&self, mine: Entry, kept: Option<Kept>) -> Result<(), StoreError> {
        if let (Some(kept), Some((revision, entry))) = (kept, self.read().await?)
            && entry.owner == mine.owner
            && entry.answer.is_none()
        {
            let entry = Entry { answer: Some(kept), ..entry };
            self.put(&entry, Expect::Revision(revision), KEPT_FOR).await?;
        }
        Ok(())
    }

    async fn is_still(&self, mine: Entry) -> Result<Option<Claim>, StoreError> {
        let found = self.read().await?.filter(|(_, entry)| entry.owner == mine.owner);
        Ok(found.map(|(revision, entry)| Claim { key: self.key.clone(), revision, entry }))
    }

    async fn read(&self) -> Result<Option<(u64, Entry)>, StoreError> {
        let found = self.store.document(COLLECTION, &self.key).await?;
        Ok(found.and_then(|document| Some((document.revision, Entry::read(&document.body)?))))
    }

    async fn put(&self, entry: &Entry, expect: Expect, keep_for: Duration) -> Result<bool, StoreError> {
        let until = world::now().0.saturating_add(i64::try_from(keep_for.as_nanos()).unwrap_or(i64::MAX));
        let document = Document {
            expires_at: Some(UnixNanos(if keep_for.is_zero() { 0 } else { until })),
            ..Document::new(self.key.clone(), entry.to_bytes())
        };
        let put = DocumentChange::Put { collection: COLLECTION.into(), document, expect };
        self.store.change_documents(vec![put]).await
    }
}

impl Kept {
    /// The answer as it can be kept, if it can, and as it is sent.
    async fn of(answer: Response) -> Result<(Option<Self>, Response), axum::Error> {
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let kept = (bytes.len() <= MOST_KEPT).then(|| Self::new(&parts, &bytes)).flatten();
        Ok((kept, Response::from_parts(parts, Body::from(bytes)).into_response()))
    }
}
