//! How the server does, and its end.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use r1_protocol::api::{Daemon, Health, NodeHealth, Object, StoreHealth, WorkerHealth};
use r1_protocol::data::Time;
use r1_store::StoreError;
use tokio::time::timeout;

use super::super::{Content, Route};
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;

/// So many waiting runs are counted, no more: counting must not cost more than it tells.
const COUNTED: usize = 1000;

/// Whoever asks has others to send requests to, so a store that is slow counts as one that is away.
const READY_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("/healthz", Cap::Public, alive)
            .summary("Whether the process is alive")
            .answer(StatusCode::OK, Content::Other("text/plain")),
        Route::get("/readyz", Cap::Public, ready)
            .summary("Whether it takes requests: 503 while it drains or has no store")
            .answer(StatusCode::OK, Content::Other("text/plain")),
        Route::get("/v1/health", Cap::Public, health)
            .summary("Which process answers")
            .answers::<Health>(StatusCode::OK),
        Route::get("/hecate/v1/health", Cap::Read, node_health)
            .summary("Store, queue, workers, sandbox and versions of this node")
            .answers::<Object<NodeHealth>>(StatusCode::OK),
        Route::get("/metrics", Cap::Read, metrics)
            .summary("Figures in the text form of Prometheus")
            .answer(StatusCode::OK, Content::Other("application/openmetrics-text")),
        Route::get("/v1/daemon", Cap::Write, daemon)
            .summary("The process that serves")
            .answers::<Object<Daemon>>(StatusCode::OK),
        Route::post("/v1/daemon/shutdown", Cap::Write, shutdown)
            .summary("Ends the server: what is under way is handed over, nothing is cancelled")
            .answers::<Object<Daemon>>(StatusCode::ACCEPTED),
    ]
}

async fn alive() -> &'static str {
    "ok\n"
}

async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, ApiError> {
    if app.draining().is_cancelled() {
        return Err(ApiError::crash_recovery("this node is about to end"));
    }
    // Asks for nothing, which every store answers at once.
    match timeout(READY_WITHIN, app.engine.store().leases(&[])).await {
        Ok(Ok(_)) => Ok("ready\n"),
        Ok(Err(err)) => Err(not_ready(&err)),
        Err(late) => Err(not_ready(&late)),
    }
}

fn not_ready(cause: &dyn Error) -> ApiError {
    tracing::warn!(%cause, "the store does not answer");
    ApiError::crash_recovery("the store does not answer")
}

async fn health(State(app): State<Arc<App>>) -> Json<Health> {
    let (status, version) = (status(&app), VERSION.into());
    Json(Health { status, version, instance_id: app.engine.instance().to_owned() })
}

async fn node_health(State(app): State<Arc<App>>) -> Result<Json<Object<NodeHealth>>, ApiError> {
    let store = app.engine.store().describe().await?;
    let health = NodeHealth {
        status: status(&app),
        version: VERSION.into(),
        schema_version: "1".into(),
        instance_id: app.engine.instance().to_owned(),
        store: StoreHealth {
            backend: store.backend.to_owned(),
            layout_version: store.layout_version,
            runs: store.runs,
        },
        queue_depth: queue_depth(&app).await?,
        workers: WorkerHealth {
            slots: app.node.worker_slots as u64,
            busy: app.node.busy.load(Ordering::Relaxed) as u64,
        },
        sandbox_layer: app.node.sandbox_layer.clone(),
    };
    Ok(Json(Object::new("health", health)))
}

async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, ApiError> {
    let figures = &app.metrics;
    let signed = |figure: u64| i64::try_from(figure).unwrap_or(i64::MAX);
    figures.worker_slots.set(signed(app.node.worker_slots as u64));
    figures.busy_workers.set(signed(app.node.busy.load(Ordering::Relaxed) as u64));
    figures.queue_depth.set(signed(queue_depth(&app).await?));
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], figures.render()))
}

async fn daemon(State(app): State<Arc<App>>) -> Result<Json<Object<Daemon>>, ApiError> {
    Ok(Json(this_daemon(&app).await?))
}

async fn shutdown(State(app): State<Arc<App>>) -> Result<impl IntoResponse, ApiError> {
    let answer = this_daemon(&app).await?;
    app.shutdown_asked().cancel();
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

async fn this_daemon(app: &App) -> Result<Object<Daemon>, StoreError> {
    let daemon = Daemon {
        pid: std::process::id(),
        instance_id: app.engine.instance().to_owned(),
        version: VERSION.into(),
        started_at: Time::from(app.node.started_at).to_string(),
        draining: app.draining().is_cancelled(),
        store: app.engine.store().describe().await?.location,
    };
    Ok(Object::new("daemon", daemon))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn status(app: &App) -> String {
    if app.draining().is_cancelled() { "draining" } else { "ok" }.into()
}

async fn queue_depth(app: &App) -> Result<u64, StoreError> {
    Ok(app.engine.store().open_runs(None, COUNTED).await?.len() as u64)
}
