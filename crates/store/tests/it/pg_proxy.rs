//! Something between a store and its server that behaves badly on purpose: it drops notifications, as
//! poolers do, and breaks connections at a chosen word.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Where to break a connection, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never gets the first statement that begins so, or has this in it if it takes parameters.
    Before(&'static str),
    /// The server does it, the client never hears of it.
    After(&'static str),
}

#[derive(Default)]
struct State {
    cut: Mutex<Option<Cut>>,
    dropped: AtomicUsize,
}

impl State {
    /// Takes the cut if it is to be made at this statement.
    fn cut_at(&self, frame: &Frame) -> Option<Cut> {
        let mut cut = self.cut.lock().unwrap();
        let Some(Cut::Before(word) | Cut::After(word)) = *cut else { return None };
        let is_here = match frame.kind {
            Some(b'Q') => frame.body.starts_with(word.as_bytes()),
            Some(b'P') => frame.body.windows(word.len()).any(|part| part == word.as_bytes()),
            _ => false,
        };
        if is_here { cut.take() } else { None }
    }
}

pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// Stands before the server of a `postgres://user@host:port/db` URL.
    pub(crate) async fn before(url: &str) -> Self {
        let address = address(url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(&address).await.unwrap();
                tokio::spawn(relay(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    /// The URL that leads through here.
    pub(crate) fn through(&self, url: &str) -> String {
        url.replacen(address(url), &format!("127.0.0.1:{}", self.port), 1)
    }

    pub(crate) fn cut(&self, cut: Cut) {
        *self.state.cut.lock().unwrap() = Some(cut);
    }

    pub(crate) fn was_cut(&self) -> bool {
        self.state.cut.lock().unwrap().is_none()
    }

    /// How many notifications were lost here.
    pub(crate) fn dropped(&self) -> usize {
        self.state.dropped.load(Ordering::Relaxed)
    }
}

fn address(url: &str) -> &str {
    let host = url.split_once("://").unwrap().1.split(['/', '?']).next().unwrap();
    host.rsplit('@').next().unwrap()
}

async fn relay(client: TcpStream, server: TcpStream, state: Arc<State>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let deaf = AtomicBool::new(false);
    let up = async {
        let mut first = true;
        while let Some(frame) = Frame::read(&mut from_client, !first).await {
            first = false;
            match state.cut_at(&frame) {
                Some(Cut::Before(_)) => return,
                Some(Cut::After(_)) => deaf.store(true, Ordering::SeqCst),
                None => {}
            }
            if to_server.write_all(&frame.bytes()).await.is_err() {
                return;
            }
        }
    };
    let down = async {
        while let Some(frame) = Frame::read(&mut from_server, true).await {
            if frame.kind == Some(b'A') {
                state.dropped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            if deaf.load(Ordering::SeqCst) {
                // The server is ready and in no transaction: whatever was to be committed is.
                if frame.kind == Some(b'Z') && frame.body == b"I" {
                    return;
                }
                continue;
            }
            if to_client.write_all(&frame.bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

/// One message of the protocol; the first of a connection has no kind.
struct Frame {
    kind: Option<u8>,
    body: Vec<u8>,
}

impl Frame {
    async fn read(from: &mut (impl AsyncRead + Unpin), has_kind: bool) -> Option<Self> {
        let kind = if has_kind { Some(from.read_u8().await.ok()?) } else { None };
        let length = from.read_u32().await.ok()?;
        let mut body = vec![0; length as usize - 4];
        from.read_exact(&mut body).await.ok()?;
        Some(Self { kind, body })
    }

    fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.body.len() + 4).unwrap();
        self.kind.into_iter().chain(length.to_be_bytes()).chain(self.body.iter().copied()).collect()
    }
}
