//! Listening: on a TCP port, with TLS or without, and on a unix socket.
//!
//! A connection costs memory as long as it lives, so there are only so many, and none may waste our time:
//! headers must come in time, and a peer that takes no byte for as long is let go. When the app drains,
//! nothing new is accepted, what is under way comes to its end, and after a time of grace whatever is left is cut.

mod patient;
mod tls;
mod unix;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::access::Arrival;
use crate::app::{App, Limits};
use patient::Patient;
use unix::UnixDoor;

pub use tls::{TlsError, TlsFiles};

/// So many bytes the headers of a request may have.
const HEADER_BYTES: usize = 32 << 10;

/// Where to listen.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// On this address.
    pub tcp: Option<SocketAddr>,
    /// With this certificate.
    pub tls: Option<TlsFiles>,
    /// Whether a proxy that speaks TLS stands before us: the only other way to be reached from elsewhere.
    pub behind_proxy: bool,
    /// At this path.
    pub unix: Option<PathBuf>,
}

/// Sockets that are open, with nobody served yet.
pub struct Bound {
    tcp: Option<TcpListener>,
    tls: Option<TlsAcceptor>,
    unix: Option<UnixDoor>,
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Tokens would go over the network in plain text.
    #[error("{addr} can be reached from other machines, so it needs TLS or a proxy that speaks it")]
    Exposed {
        /// Which.
        addr: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {addr}")]
    Tcp {
        /// Which.
        addr: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The socket cannot be made.
    #[error("cannot listen on {}", path.display())]
    Unix {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Bound {
    /// Opens the sockets.
    pub async fn bind(binding: &Binding) -> Result<Self, ListenError> {
        let tls = binding.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        let tcp = match binding.tcp {
            Some(addr) if !addr.ip().is_loopback() && tls.is_none() && !binding.behind_proxy => {
                return Err(ListenError::Exposed { addr });
            }
            Some(addr) => Some(TcpListener::bind(addr).await.map_err(|source| ListenError::Tcp { addr, source })?),
            None => None,
        };
        let door =
            |path: &PathBuf| UnixDoor::open(path).map_err(|source| ListenError::Unix { path: path.clone(), source });
        let unix = binding.unix.as_ref().map(door).transpose()?;
        Ok(Self { tcp, tls, unix })
    }

    /// The address that was bound, with its real port.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Whether TLS is spoken on the TCP port.
    #[must_use]
    pub const fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Where the unix socket is.
    #[must_use]
    pub fn unix_path(&self) -> Option<&Path> {
        self.unix.as_ref().map(UnixDoor::path)
    }

    /// Serves until the app drains; then no connection outlives `grace`.
    pub async fn serve(self, app: Arc<App>, grace: Duration) {
        let server = Server::new(&app);
        let accepting = async {
            tokio::join!(
                async {
                    if let Some(listener) = &self.tcp {
                        server.accept_tcp(listener, self.tls.as_ref()).await;
                    }
                },
                async {
                    if let Some(door) = &self.unix {
                        server.accept_unix(door).await;
                    }
                },
                // Without any socket it still serves whoever drains it.
                std::future::pending::<()>()
            )
        };
        tokio::select! {
            _ = accepting => {}
            () = app.draining().cancelled() => {}
        }
        drop((self.tcp, self.unix));
        app.tasks.close();
        server.finish(&app, grace).await;
    }
}

/// What all connections share.
struct Server {
    router: Router,
    limits: Limits,
    slots: Arc<Semaphore>,
    graceful: GracefulShutdown,
    connections: TaskTracker,
}

impl Server {
    fn new(app: &Arc<App>) -> Self {
        let limits = app.limits;
        let slots = Arc::new(Semaphore::new(limits.connections));
        let (graceful, connections) = (GracefulShutdown::new(), TaskTracker::new());
        Self { router: crate::routes::router(app.clone()), limits, slots, graceful, connections }
    }

    /// Waits for a free place: beyond the limit, and but for one, peers wait in the kernel's queue, not in our memory.
    async fn slot(&self) -> OwnedSemaphorePermit {
        match self.slots.clone().acquire_owned().await {
            Ok(slot) => slot,
            // The semaphore is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    async fn accept_tcp(&self, listener: &TcpListener, tls: Option<&TlsAcceptor>) {
        let port = listener.local_addr().map_or(0, |addr| addr.port());
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(err) => {
                    pause_after(&err).await;
                    continue;
                }
            };
            let slot = self.slot().await;
            // Small answers go out at once; a socket that cannot do that still works.
            let _ = stream.set_nodelay(true);
            let arrival = Arrival::Tcp { port, tls: tls.is_some() };
            match tls.cloned() {
                None => self.spawn(stream, arrival, slot),
                Some(acceptor) => {
                    let (serve, patience) = (self.connection(arrival), self.limits.patience);
                    self.connections.spawn(async move {
                        // Whoever fails or dawdles at the handshake is told nothing: there is no language yet.
                        if let Ok(Ok(stream)) = tokio::time::timeout(patience, acceptor.accept(stream)).await {
                            serve.run(stream).await;
                        }
                        drop(slot);
                    });
                }
            }
        }
    }

    async fn accept_unix(&self, door: &UnixDoor) {
        loop {
            match door.accept().await {
                Ok(Some(stream)) => self.spawn(stream, Arrival::Unix, self.slot().await),
                Ok(None) => tracing::warn!("another user's process was refused at the unix socket"),
                Err(err) => pause_after(&err).await,
            }
        }
    }

    fn spawn<I>(&self, stream: I, arrival: Arrival, slot: OwnedSemaphorePermit)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let serve = self.connection(arrival);
        self.connections.spawn(async move {
            serve.run(stream).await;
            drop(slot);
        });
    }

    fn connection(&self, arrival: Arrival) -> Connection {
        let (router, patience) = (self.router.clone(), self.limits.patience);
        Connection { router, arrival, patience, watcher: self.graceful.watcher() }
    }

    async fn finish(self, app: &App, grace: Duration) {
        self.connections.close();
        let _ = tokio::time::timeout(grace, async {
            self.graceful.shutdown().await;
            self.connections.wait().await;
            app.tasks.wait().await;
        })
        .await;
    }
}

/// One connection to be served.
struct Connection {
    router: Router,
    arrival: Arrival,
    patience: Duration,
    watcher: hyper_util::server::graceful::Watcher,
}

impl Connection {
    async fn run<I>(self, stream: I)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { router, arrival, patience, watcher } = self;
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(HEADER_BYTES);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(HEADER_BYTES as u32)
            .max_concurrent_streams(128)
            .keep_alive_interval(patience)
            .keep_alive_timeout(patience);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(arrival);
            let router = router.clone();
            async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
        });
        let io = TokioIo::new(Patient::new(stream, patience));
        let served = watcher.watch(builder.serve_connection(io, service).into_owned()).await;
        if let Err(err) = served {
            // Peers come and go; what they did before they went was logged as it was done.
            tracing::debug!(%err, "a connection broke off");
        }
    }
}

/// A peer that is gone already is no reason to wait; having no more file handles is.
async fn pause_after(err: &io::Error) {
    let gone = matches!(
        err.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !gone {
        tracing::error!(%err, "cannot accept connections");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
