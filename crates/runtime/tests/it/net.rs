//! Requests that someone tries to lead astray.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::{HeaderMap as Headers, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{any, get};
use futures_util::future::BoxFuture;
use r1_runtime::net::{NetClient, NetConfig, NetError, NetRequest, NetResponse, ResolveNames};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use url::Url;

/// Names of a test: each asks the next address of its list, the last one again and again.
#[derive(Default)]
struct Names {
    known: Vec<(&'static str, Vec<IpAddr>)>,
    asked: AtomicUsize,
}

impl Names {
    fn of(known: &[(&'static str, &[&str])]) -> Arc<Self> {
        let parse = |list: &[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { known: known.iter().map(|(name, list)| (*name, parse(list))).collect(), ..Self::default() })
    }
}

impl ResolveNames for Names {
    fn resolve(&self, name: &str) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst);
        let known = self.known.iter().find(|(known, _)| *known == name);
        let address = known.and_then(|(_, list)| list.get(turn).or(list.last())).copied();
        Box::pin(async move { Ok(address.into_iter().collect()) })
    }
}

pub(crate) async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// A server that must not be reached counts who does.
async fn counting_server() -> (SocketAddr, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let router = Router::new().fallback(any(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        async { "inside" }
    }));
    (serve(router).await, calls)
}

fn request(url: &str) -> NetRequest {
    NetRequest { method: Method::GET, url: Url::parse(url).unwrap(), headers: HeaderMap::new(), body: None }
}

async fn send(client: &NetClient, url: &str) -> Result<NetResponse, NetError> {
    client.send(request(url)).await
}

fn allowing(hosts: &[&str]) -> NetConfig {
    NetConfig { allow_private: hosts.iter().map(|host| (*host).to_owned()).collect(), ..NetConfig::default() }
}

#[tokio::test]
async fn every_way_to_write_a_private_address_is_refused() {
    let (address, calls) = counting_server().await;
    let client = NetClient::with_names(NetConfig::default(), Names::of(&[("localhost", &["127.0.0.1"])])).unwrap();
    let port = address.port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::127.0.0.1]",
        "localhost",
        "LOCALHOST",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        let err = send(&client, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert!(matches!(err, NetError::Private { .. }), "{host}: {err:?}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused() {
    let (address, calls) = counting_server().await;
    let names = Names::of(&[("evil.test", &["127.0.0.1"]), ("mapped.test", &["::ffff:127.0.0.1"])]);
    let client = NetClient::with_names(NetConfig::default(), names).unwrap();
    for host in ["evil.test", "mapped.test"] {
        let err = send(&client, &format!("http://{host}:{}/", address.port())).await.unwrap_err();
        assert!(matches!(err, NetError::Private { .. }), "{host}: {err:?}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_is_resolved_once_and_what_was_checked_is_what_is_connected_to() {
    // Public when it is checked, private when asked again: only the first answer counts. Nobody answers there.
    let (address, calls) = counting_server().await;
    let names = Names::of(&[("rebind.test", &["203.0.114.1", "127.0.0.1"])]);
    let config = NetConfig { connect_timeout: std::time::Duration::from_millis(200), ..NetConfig::default() };
    let client = NetClient::with_names(config, Arc::clone(&names) as Arc<dyn ResolveNames>).unwrap();
    assert!(send(&client, &format!("http://rebind.test:{}/", address.port())).await.is_err());
    assert_eq!((names.asked.load(Ordering::SeqCst), calls.load(Ordering::SeqCst)), (1, 0));
    // The next request asks again, and is refused.
    let err = send(&client, &format!("http://rebind.test:{}/", address.port())).await.unwrap_err();
    assert!(matches!(err, NetError::Private { .. }), "{err:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_is_checked_like_the_first_request() {
    let (inside, calls) = counting_server().await;
    let port = inside.port();
    let to = move |target: String| get(move || async move { (StatusCode::FOUND, [(header::LOCATION, target)]) });
    let front = serve(
        Router::new()
            .route("/address", to(format!("http://127.0.0.1:{port}/")))
            .route("/decimal", to(format!("http://2130706433:{port}/")))
            .route("/mapped", to(format!("http://[::ffff:127.0.0.1]:{port}/")))
            .route("/name", to(format!("http://inside.test:{port}/")))
            .route("/file", to("file:///etc/passwd".to_owned()))
            .route("/gopher", to("gopher://front.test/".to_owned())),
    )
    .await;
    let names = Names::of(&[("front.test", &["127.0.0.1"]), ("inside.test", &["127.0.0.1"])]);
    let client = NetClient::with_names(allowing(&["front.test"]), names).unwrap();
    for path in ["address", "decimal", "mapped", "name"] {
        let err = send(&client, &format!("http://front.test:{}/{path}", front.port())).await.unwrap_err();
        assert!(matches!(err, NetError::Private { .. }), "{path}: {err:?}");
    }
    for path in ["file", "gopher"] {
        let err = send(&client, &format!("http://front.test:{}/{path}", front.port())).await.unwrap_err();
        assert!(matches!(err, NetError::Scheme(_)), "{path}: {err:?}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn redirects_are_followed_told_and_counted() {
    let hop = |to: &'static str| get(move || async move { (StatusCode::FOUND, [(header::LOCATION, to)]) });
    let router = Router::new()
        .route("/1", hop("/2"))
        .route("/2", hop("/3"))
        .route("/3", get(|| async { "there" }))
        .route("/loop", hop("/loop"));
    let server = serve(router).await;
    let client = NetClient::new(allowing(&["127.0.0.1"])).unwrap();
    let response = send(&client, &format!("http://{server}/1")).await.unwrap();
    assert_eq!(&response.body[..], b"there");
    assert_eq!(response.redirects, [format!("http://{server}/2"), format!("http://{server}/3")]);
    let err = send(&client, &format!("http://{server}/loop")).await.unwrap_err();
    assert!(matches!(err, NetError::Redirects), "{err:?}");
}

#[tokio::test]
async fn headers_for_one_server_are_not_told_to_another() {
    let echo = |headers: Headers| async move {
        let told = |name: &str| headers.get(name).is_some();
        format!("{} {}", told("authorization"), told("x-api-key")).into_response()
    };
    let other = serve(Router::new().route("/", get(echo))).await;
    let target = format!("http://{other}/");
    let front = serve(
        Router::new()
            .route("/there", get(move || async move { (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, target)]) }))
            .route("/here", get(|| async { (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/")]) }))
            .route("/", get(echo)),
    )
    .await;
    let client = NetClient::new(allowing(&["127.0.0.1"])).unwrap();
    for (path, told) in [("here", "true true"), ("there", "false false")] {
        let mut request = request(&format!("http://{front}/{path}"));
        request.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        request.headers.insert("x-api-key", HeaderValue::from_static("y"));
        assert_eq!(client.send(request).await.unwrap().body, told, "{path}");
    }
}

#[tokio::test]
async fn an_allowed_host_is_allowed_on_its_port_only() {
    let (server, _) = counting_server().await;
    let (other, calls) = counting_server().await;
    let allowed = format!("local.test:{}", server.port());
    let client = NetClient::with_names(allowing(&[&allowed]), Names::of(&[("local.test", &["127.0.0.1"])])).unwrap();
    assert_eq!(send(&client, &format!("http://{allowed}/")).await.unwrap().body, "inside");
    assert!(send(&client, &format!("http://local.test:{}/", other.port())).await.is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let endless = || async {
        let pieces = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 64 << 10]));
        axum::body::Body::from_stream(pieces)
    };
    let server = serve(Router::new().route("/", get(endless))).await;
    let client = NetClient::new(NetConfig { max_body: 100_000, ..allowing(&["127.0.0.1"]) }).unwrap();
    let response = send(&client, &format!("http://{server}/")).await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (100_000, true));
}

#[tokio::test]
async fn a_compressed_body_is_never_blown_up() {
    // Ten bytes that claim to be gzip: what was received is what is kept.
    let bomb = || async { ([(header::CONTENT_ENCODING, "gzip")], vec![0x1f_u8, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]) };
    let server = serve(Router::new().route("/", get(bomb))).await;
    let client = NetClient::new(allowing(&["127.0.0.1"])).unwrap();
    assert_eq!(send(&client, &format!("http://{server}/")).await.unwrap().body.len(), 10);
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let server = serve(Router::new().route("/", get(std::future::pending::<()>))).await;
    let limit = std::time::Duration::from_millis(100);
    let client = NetClient::new(NetConfig { timeout: limit, ..allowing(&["127.0.0.1"]) }).unwrap();
    let err = send(&client, &format!("http://{server}/")).await.unwrap_err();
    assert!(matches!(err, NetError::Timeout(_)), "{err:?}");
}
