//! A server that plays one reply after the other and remembers what it was asked.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::Stream;
use r1_runtime::model::{Delta, ModelRequest, ModelResponse};
use r1_runtime::provider::{ProviderError, ProviderSpec, Timeouts, open};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::dialect::Dialect;

/// The key that tests use; it must never be seen in an error.
pub(crate) const KEY: &str = "sk-test-0123456789";

/// What the server does with a request.
pub(crate) enum Reply {
    /// A whole stream, in these chunks.
    Stream(Vec<Vec<u8>>),
    /// These chunks, and then a broken connection.
    Cut(Vec<Vec<u8>>),
    /// These chunks, and then nothing. Tells when the other side has hung up.
    Silence(Vec<Vec<u8>>, Option<oneshot::Sender<()>>),
    /// Not even headers.
    Nothing,
    /// A status with headers and a body.
    Status(u16, Vec<(&'static str, String)>, String),
}

impl Reply {
    pub(crate) fn stream(text: &str) -> Self {
        Self::Stream(vec![text.as_bytes().to_vec()])
    }
}

/// What the server was asked.
pub(crate) struct Asked {
    pub uri: String,
    pub headers: axum::http::HeaderMap,
    pub body: Value,
}

#[derive(Clone)]
struct Shared {
    replies: Arc<Mutex<std::vec::IntoIter<Reply>>>,
    asked: mpsc::UnboundedSender<Asked>,
}

/// A provider and the server behind it.
pub(crate) struct Scene {
    spec: ProviderSpec,
    asked: mpsc::UnboundedReceiver<Asked>,
    server: tokio::task::JoinHandle<()>,
}

impl Scene {
    pub(crate) async fn new<D: Dialect>(replies: Vec<Reply>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, receiver) = mpsc::unbounded_channel();
        let shared = Shared { replies: Arc::new(Mutex::new(replies.into_iter())), asked };
        let app = Router::new().fallback(answer).with_state(shared);
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let mut spec = D::spec();
        spec.base_url = Some(format!("http://{address}/base"));
        Self { spec, asked: receiver, server }
    }

    /// With timeouts that a test can wait for.
    pub(crate) fn impatient(mut self, first_byte_ms: u64, silence_ms: u64) -> Self {
        self.spec.timeouts = Timeouts { first_byte_ms, silence_ms };
        self
    }

    pub(crate) async fn call(&self, request: ModelRequest) -> (Result<ModelResponse, ProviderError>, Vec<Delta>) {
        let (sender, mut receiver) = mpsc::channel(1000);
        let answer = self.start(request, sender).await;
        let mut deltas = Vec::new();
        while let Ok(delta) = receiver.try_recv() {
            deltas.push(delta);
        }
        if let Err(err) = &answer {
            assert!(!format!("{err:?}").contains(KEY), "a key in an error: {err:?}");
        }
        (answer, deltas)
    }

    /// A call that the test holds in its hand.
    pub(crate) async fn start(
        &self,
        request: ModelRequest,
        deltas: mpsc::Sender<Delta>,
    ) -> Result<ModelResponse, ProviderError> {
        let provider = open(&self.spec, &|_| Some(KEY.to_owned())).unwrap();
        provider.call(request, deltas).await
    }

    /// The next request that the server got.
    pub(crate) fn asked(&mut self) -> Asked {
        self.asked.try_recv().expect("the server was asked")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&body).expect("a request is JSON");
    shared.asked.send(Asked { uri: parts.uri.to_string(), headers: parts.headers, body }).unwrap();
    let reply = shared.replies.lock().unwrap().next().expect("the server has a reply for each request");
    let streaming = Response::builder().header("content-type", "text/event-stream");
    match reply {
        Reply::Stream(chunks) => streaming.body(Chunks::body(chunks, End::Clean)).unwrap(),
        Reply::Cut(chunks) => streaming.body(Chunks::body(chunks, End::Broken)).unwrap(),
        Reply::Silence(chunks, hung_up) => streaming.body(Chunks::body(chunks, End::Never(hung_up))).unwrap(),
        Reply::Nothing => std::future::pending().await,
        Reply::Status(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).unwrap()
        }
    }
}

enum End {
    Clean,
    Broken,
    Never(Option<oneshot::Sender<()>>),
}

/// A body that is sent chunk by chunk: between two of them the connection gets its turn, so they travel
/// apart.
struct Chunks {
    chunks: std::vec::IntoIter<Vec<u8>>,
    yielded: bool,
    end: End,
}

impl Chunks {
    fn body(chunks: Vec<Vec<u8>>, end: End) -> Body {
        Body::from_stream(Self { chunks: chunks.into_iter(), yielded: false, end })
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.yielded = !self.yielded;
        if self.yielded {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match (self.chunks.next(), &self.end) {
            (Some(chunk), _) => Poll::Ready(Some(Ok(chunk.into()))),
            (None, End::Clean) => Poll::Ready(None),
            (None, End::Broken) => Poll::Ready(Some(Err(std::io::Error::other("cut")))),
            (None, End::Never(_)) => Poll::Pending,
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        if let End::Never(hung_up) = &mut self.end
            && let Some(hung_up) = hung_up.take()
        {
            let _: Result<(), ()> = hung_up.send(());
        }
    }
}
