//! Replay, mismatch, concurrent use, crashes (check 27), on the machinery itself.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use futures_util::future::BoxFuture;
use r1_runtime::agent::RunSpec;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::engine::{Connected, Engine, World};
use r1_runtime::provider::{Provider, ProviderError, ProviderSpec, Scenario};
use r1_runtime::redact::Redactor;
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxUnavailable};
use r1_runtime::workspace::Workspace;
use r1_store::MemoryStore;
use tokio::sync::Notify;

use super::*;
use crate::access::{AccessSettings, OperatorToken};
use crate::app::{Node, Settings};
use crate::streams::StreamOptions;

/// Nobody works on runs here.
struct Nowhere;

impl World for Nowhere {
    fn provider(&self, spec: &RunSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(r1_runtime::provider::open(&spec.provider, &|_| None).unwrap())
    }

    fn tools<'a>(&'a self, _spec: &'a RunSpec, _workspace: &'a Path) -> BoxFuture<'a, Connected> {
        Box::pin(std::future::pending())
    }

    fn sandbox<'a>(
        &'a self,
        _spec: &'a RunSpec,
        _workspace: &'a Workspace,
    ) -> BoxFuture<'a, Result<Sandbox, SandboxUnavailable>> {
        Box::pin(Sandbox::detect(SandboxConfig::default()))
    }
}

fn app() -> Arc<App> {
    let store: SharedStore = Arc::new(MemoryStore::new());
    let redactor = Arc::new(Redactor::default());
    let engine = Engine::new(store, Arc::new(Nowhere), redactor, "snapshots".into(), None, "r1-00000001".into());
    let access = AccessSettings {
        operator: OperatorToken::given("r1t_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap(),
        operator_name: "ada".into(),
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        behind_proxy: false,
    };
    let node = Node { started_at: UnixNanos(0), worker_slots: 1, busy: Arc::default(), sandbox_layer: "none".into() };
    let settings = Settings { access, limits: Limits::default(), node, streams: StreamOptions::default() };
    Arc::new(App::new(Arc::new(engine), settings))
}

fn request(key: &str, body: &str) -> Request {
    let request = Request::post("/things").header("idempotency-key", key);
    request.body(Body::from(body.to_owned())).unwrap()
}

/// Makes an answer that shows what it was made from.
fn from_effect(_app: Arc<App>, effect: Effect) -> BoxFuture<'static, Result<Response, ApiError>> {
    Box::pin(async move { Ok(format!("made again from {} {}", effect.run_id, effect.seq).into_response()) })
}

/// Sends a request whose handler answers with how often it was called.
async fn send(app: &Arc<App>, calls: &Arc<AtomicUsize>, request: Request) -> Result<Response, ApiError> {
    let calls = calls.clone();
    let handle = move |_| async move {
        let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
        (StatusCode::CREATED, format!("call {call}")).into_response()
    };
    once(app.clone(), from_effect, false, request, handle).await
}

async fn text(response: Response) -> (StatusCode, bool, String) {
    let replayed = response.headers().contains_key("idempotency-replayed");
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, replayed, String::from_utf8(body.to_vec()).unwrap())
}

/// How this process would sign, had it died.
fn dead_owner() -> String {
    let owner = world::lease_owner("r1-00000002");
    let mut parts: Vec<_> = owner.split('/').collect();
    parts[2] = "0";
    let dead = parts.join("/");
    assert!(world::is_dead(&dead));
    dead
}

/// The document that a request with this key and body has left.
async fn left_behind(app: &Arc<App>, key: &str, body: &str, owner: String) -> Claim {
    let answers = Answers { store: app.engine.store().clone(), key: digest(&["", "POST", "/things", key]) };
    let hash = blake3::Hasher::new().update(b"/things\n").update(body.as_bytes()).finalize().to_hex().to_string();
    let entry = Entry::running(&hash, owner, world::now());
    assert!(answers.put(&entry, Expect::Absent, KEPT_FOR).await.unwrap());
    answers.is_still(entry).await.unwrap().unwrap()
}

#[tokio::test]
async fn ep_27_a_repeated_request_gets_the_first_answer() {
    let (app, calls) = (app(), Arc::default());
    let first = text(send(&app, &calls, request("k", "{}")).await.unwrap()).await;
    assert_eq!(first, (StatusCode::CREATED, false, "call 1".into()));
    let again = text(send(&app, &calls, request("k", "{}")).await.unwrap()).await;
    assert_eq!(again, (StatusCode::CREATED, true, "call 1".into()));
    // Another key, another request.
    assert_eq!(text(send(&app, &calls, request("l", "{}")).await.unwrap()).await.2, "call 2");
}

#[tokio::test]
async fn ep_27_a_key_belongs_to_one_body() {
    let (app, calls) = (app(), Arc::default());
    send(&app, &calls, request("k", "{}")).await.unwrap();
    let refused = send(&app, &calls, request("k", r#"{"a":1}"#)).await.unwrap_err();
    assert_eq!((refused.status(), refused.is_retriable()), (StatusCode::CONFLICT, false));
}

#[tokio::test]
async fn ep_27_a_request_that_is_being_carried_out_is_not_begun_again() {
    let (app, go_on, begun) = (app(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let first = {
        let (app, go_on, begun) = (app.clone(), go_on.clone(), begun.clone());
        tokio::spawn(once(app, from_effect, false, request("k", "{}"), move |_| async move {
            begun.notify_one();
            go_on.notified().await;
            "done".into_response()
        }))
    };
    begun.notified().await;
    let calls = Arc::default();
    let refused = send(&app, &calls, request("k", "{}")).await.unwrap_err();
    assert_eq!((refused.status(), refused.is_retriable()), (StatusCode::CONFLICT, true));
    go_on.notify_one();
    first.await.unwrap().unwrap();
    let again = text(send(&app, &calls, request("k", "{}")).await.unwrap()).await;
    assert_eq!((again.1, again.2.as_str(), calls.load(Ordering::SeqCst)), (true, "done", 0));
}

#[tokio::test]
async fn ep_27_a_client_that_goes_away_stops_nothing() {
    let (app, go_on, begun) = (app(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let sent = {
        let (app, go_on, begun) = (app.clone(), go_on.clone(), begun.clone());
        tokio::spawn(once(app, from_effect, false, request("k", "{}"), move |_| async move {
            begun.notify_one();
            go_on.notified().await;
            "done".into_response()
        }))
    };
    begun.notified().await;
    sent.abort();
    go_on.notify_one();
    app.tasks.close();
    app.tasks.wait().await;
    let again = text(send(&app, &Arc::default(), request("k", "{}")).await.unwrap()).await;
    assert_eq!((again.1, again.2.as_str()), (true, "done"));
}

#[tokio::test]
async fn ep_27_after_a_crash_between_effect_and_answer_the_answer_is_made_again() {
    let app = app();
    let claim = left_behind(&app, "k", "{}", dead_owner()).await;
    // The effect, noted in its own transaction; then the process dies.
    let caller = Caller { note: Some(claim.slot()), ..Caller::default() };
    let spec = RunSpec { provider: ProviderSpec::scripted(Scenario::parse("").unwrap()), ..RunSpec::default() };
    let new = NewRun { prompt: "do it".into(), model: "script".into(), spec, ..NewRun::default() };
    let run = create(&app.engine, new, true, &caller).await.unwrap();
    let calls = Arc::default();
    for _ in 0..2 {
        let (_, replayed, body) = text(send(&app, &calls, request("k", "{}")).await.unwrap()).await;
        assert!(replayed && body.starts_with(&format!("made again from {run} ")), "{body}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn ep_27_after_a_crash_before_the_effect_the_request_is_carried_out() {
    let (app, calls) = (app(), Arc::default());
    let lost = left_behind(&app, "k", "{}", dead_owner()).await;
    assert_eq!(text(send(&app, &calls, request("k", "{}")).await.unwrap()).await.2, "call 1");
    // What the dead process has left undone cannot be done any more: its note is refused.
    let caller = Caller { note: Some(lost.slot()), ..Caller::default() };
    let new = NewRun { prompt: "do it".into(), model: "script".into(), ..NewRun::default() };
    assert!(create(&app.engine, new, true, &caller).await.is_err());
}

#[tokio::test]
async fn ep_27_what_may_work_later_is_not_remembered() {
    let (app, calls) = (app(), Arc::default());
    for error in [
        ApiError::internal(&std::io::Error::other("a test")),
        ApiError::timeout("too slow"),
        ApiError::conflict("another was faster").retry_after(1),
    ] {
        let (status, kept) = (error.status(), error.clone());
        let answer = once(app.clone(), from_effect, false, request("k", "{}"), |_| async { kept.into_response() });
        assert_eq!(answer.await.unwrap().status(), status);
    }
    assert_eq!(text(send(&app, &calls, request("k", "{}")).await.unwrap()).await.2, "call 1");
}

#[tokio::test]
async fn ep_27_a_final_error_is_remembered() {
    let (app, calls) = (app(), Arc::default());
    let error = ApiError::invalid("/title", "is too long");
    let first = once(app.clone(), from_effect, false, request("k", "{}"), |_| async { error.into_response() });
    assert_eq!(first.await.unwrap().status(), StatusCode::BAD_REQUEST);
    let again = send(&app, &calls, request("k", "{}")).await.unwrap();
    assert_eq!((again.status(), calls.load(Ordering::SeqCst)), (StatusCode::BAD_REQUEST, 0));
}

#[tokio::test]
async fn a_key_is_visible_text_of_bounded_length() {
    let (app, calls) = (app(), Arc::default());
    for bad in ["", "a b", "ä", &"k".repeat(256)] {
        let refused = send(&app, &calls, request(bad, "{}")).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{bad}");
    }
}
