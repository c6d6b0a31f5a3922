//! A run's log as a file, whole and lossless.

use std::io::{self, Write};
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use r1_event::exchange::{Encoder, Format};
use r1_runtime::control::export;
use r1_runtime::source::{Log, Progress, StoredRun};
use tokio::sync::mpsc;

use super::super::{Content, Route, RunPath, run};
use super::disposition::attachment;
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};
use crate::stream_body;

const CBORSEQ: &str = "application/cbor-seq";
const NDJSON: &str = "application/x-ndjson";

const PARAMS: &[Param] = &[Param::new("format", Shape::Word(&["cborseq", "ndjson"]), "cborseq if not given.")];

/// How many pieces may wait for a slow client before the log is not read on.
const AHEAD: usize = 4;

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("{run}/log", Cap::Read, log)
            .summary("A run's log, lossless")
            .query(PARAMS)
            .answer(StatusCode::OK, Content::Other(CBORSEQ))
            .answer(StatusCode::OK, Content::Other(NDJSON)),
    ]
}

async fn log(State(app): State<Arc<App>>, path: RunPath, query: Query) -> Result<Response, ApiError> {
    let (format, mime) = match query.text("format") {
        Some("ndjson") => (Format::Ndjson, NDJSON),
        _ => (Format::Cborseq, CBORSEQ),
    };
    let stored = open(&app, &path).await?;
    let name = export::file_name(stored.run().as_str(), format);
    let (pieces, body) = mpsc::channel(AHEAD);
    // Ends with the log, or when nobody takes the pieces any more.
    tokio::task::spawn_blocking(move || write(&Log::Stored(stored), format, pieces));
    let body = stream::unfold(body, |mut body| async move { body.recv().await.map(|piece| (piece, body)) });
    let mut response = Response::new(stream_body::of(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    headers.insert(CONTENT_DISPOSITION, attachment(&name));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The log of the run that a path names.
pub(super) async fn open(app: &App, path: &RunPath) -> Result<StoredRun, ApiError> {
    let run = run::at(app, path).await?;
    Ok(StoredRun::open(app.engine.store().clone(), run).await?)
}

fn write(log: &Log, format: Format, pieces: mpsc::Sender<io::Result<Bytes>>) {
    let mut encoder = Encoder::new(format);
    let mut out = Pieces(pieces);
    let written = export::export(log, &mut encoder, &mut out, &Progress::default());
    if let Err(err) = written.and_then(|()| export::finish(encoder, &mut out)) {
        // A body that breaks off is not taken for a whole one.
        tracing::warn!(error = %err, "an export broke off");
        drop(out.0.blocking_send(Err(io::Error::other("the export broke off"))));
    }
}

/// Sends what is written, piece by piece.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
