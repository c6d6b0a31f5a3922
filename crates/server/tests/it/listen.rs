//! Sockets: TLS, HTTP/2, and peers that waste our time.

use std::path::PathBuf;
use std::time::Duration;

use r1_server::listen::{Binding, Bound, ListenError, TlsError, TlsFiles};
use r1_server::{Limits, Settings};
use reqwest::{Certificate, Client, Method, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Server, TOKEN, json_of, settings};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(name)
}

fn tls() -> TlsFiles {
    TlsFiles { certificate: fixture("tls-cert.pem"), key: fixture("tls-key.pem") }
}

#[tokio::test]
async fn with_a_certificate_tls_and_http_2_are_spoken_and_cookies_are_secure() {
    let server = Server::start().await;
    let binding = Binding { tcp: "127.0.0.1:0".parse().ok(), tls: Some(tls()), ..Binding::default() };
    let bound = Bound::bind(&binding).await.unwrap();
    let url = format!("https://{}", bound.tcp_address().unwrap());
    let serving = tokio::spawn(bound.serve(server.app.clone(), Duration::from_secs(5)));
    let pem = std::fs::read(fixture("tls-cert.pem")).unwrap();
    let client = Client::builder()
        .tls_certs_only([Certificate::from_pem(&pem).unwrap()])
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let ticket = client.post(format!("{url}/v1/tickets")).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(ticket.version(), Version::HTTP_2);
    let ticket = json_of(ticket, 200).await;
    let login = client.get(format!("{url}{}", ticket["data"]["login"].as_str().unwrap())).send().await.unwrap();
    assert!(login.headers()["set-cookie"].to_str().unwrap().ends_with("; Secure"));
    // Names count here too.
    let elsewhere = client.get(format!("{url}/healthz")).header("origin", url.replace("https", "http")).send().await;
    assert_eq!(elsewhere.unwrap().status(), 403);
    serving.abort();
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_named() {
    let bind = async |files| Bound::bind(&Binding { tls: Some(files), ..Binding::default() }).await.err().unwrap();
    let missing = TlsFiles { certificate: fixture("nothing.pem"), ..tls() };
    assert!(
        matches!(bind(missing).await, ListenError::Tls(TlsError::Pem { path, .. }) if path.ends_with("nothing.pem"))
    );
    let swapped = TlsFiles { certificate: fixture("tls-key.pem"), ..tls() };
    assert!(matches!(bind(swapped).await, ListenError::Tls(TlsError::Empty { .. })));
}

#[tokio::test]
async fn headers_are_bounded_and_must_come_in_time() {
    let limits = Limits { patience: Duration::from_millis(50), ..Limits::default() };
    let server = Server::with(Settings { limits, ..settings() }).await;
    let address = server.url.strip_prefix("http://").unwrap();

    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").await.unwrap();
    let mut answer = Vec::new();
    // Closed, whatever it says before that.
    slow.read_to_end(&mut answer).await.unwrap();

    let large = server.request(Method::GET, "/healthz").header("x-large", "x".repeat(40 << 10)).send().await;
    assert!(large.is_err() || large.unwrap().status() == 431);
}

#[tokio::test]
async fn a_client_that_waits_for_a_place_gets_it_when_another_leaves() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::with(Settings { limits, ..settings() }).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let ask = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(ask.as_bytes()).await.unwrap();
    first.read_exact(&mut [0; 15]).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(ask.as_bytes()).await.unwrap();
    drop(first);
    let mut answer = [0; 15];
    second.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[tokio::test]
async fn when_the_app_drains_nothing_new_is_accepted_and_the_server_ends() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await.status(), 200);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    server.app.draining().cancel();
    server.ended().await;
    assert!(TcpStream::connect(address).await.is_err());
    assert!(!server.unix_socket().exists());
}
