//! R1 over HTTP: the event protocol, live and resumable, to any frontend.
//!
//! - [`App`]: what every request can reach. Handlers hold no facts: what they show is read from the store.
//! - [`listen::Bound`]: open sockets; it serves all routes of one table (`routes.rs`). Caps, strict query
//!   parameters, methods and the OpenAPI document come from its rows, so that none can forget a route.
//! - [`ApiError`]: the one shape of every error.
//! - [`Telemetry`]: what OpenTelemetry is told, if anyone wants to hear it.
//!
//! Who may come in is decided in `access.rs`, before anything of a request is read; what every request goes
//! through (id, log, panics) is `request.rs`.

pub mod access;
mod app;
mod body;
mod bridges;
mod error;
mod hub;
mod idempotency;
pub mod listen;
mod metrics;
mod openapi;
mod page;
mod query;
mod request;
mod routes;
mod sse;
mod stream_body;
mod streams;
mod telemetry;

pub use app::{App, Limits, Node, Settings};
pub use error::ApiError;
pub use streams::StreamOptions;
pub use telemetry::{BadSettings, Settings as TelemetrySettings, Telemetry};
