//! Tokens: none, wrong, too weak, revoked, in the wrong place.

use std::time::Duration;

use r1_server::access::{Caps, Grant, Role, tokens};
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{all_routes, filled};
use crate::support::{Server, TOKEN, error_of};

#[tokio::test]
async fn ep_29_without_a_token_every_route_but_the_public_ones_is_refused() {
    let server = Server::start().await;
    for (method, path, cap) in all_routes(&server).await {
        let answer = server.bare(method.clone(), &filled(&path)).send().await.unwrap();
        if cap == "none" {
            assert_ne!(answer.status(), 403, "{method} {path}");
            continue;
        }
        assert_eq!(answer.headers().get("www-authenticate").map(|value| value.to_str().unwrap()), Some("Bearer"));
        error_of(answer, 401, "permission_denied").await;
    }
    // Also where there is nothing: what is there is nobody's business.
    error_of(server.bare(Method::GET, "/nothing/here").send().await.unwrap(), 401, "permission_denied").await;
    error_of(server.bare(Method::PUT, "/hecate/v1/runs").send().await.unwrap(), 401, "permission_denied").await;
}

#[tokio::test]
async fn ep_29_only_what_is_named_is_public() {
    let server = Server::start().await;
    let mut public: Vec<_> = all_routes(&server).await.into_iter().filter(|(_, _, cap)| cap == "none").collect();
    public.sort_by(|a, b| a.1.cmp(&b.1));
    let public: Vec<_> = public.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(
        public,
        [
            "/",
            "/docs",
            "/docs/style.css",
            "/healthz",
            "/hecate/v1/openapi.json",
            "/hecate/v1/schemas/events/v1",
            "/hecate/v1/schemas/events/v1/{name}",
            "/login",
            "/readyz",
            "/v1/health",
        ]
    );
}

#[tokio::test]
async fn ep_29_a_wrong_token_is_refused_everywhere() {
    let server = Server::start().await;
    for wrong in ["r1t_", "", &TOKEN[..TOKEN.len() - 1], &format!("{TOKEN}A"), &TOKEN.to_lowercase()] {
        for path in ["/hecate/v1/runs", "/healthz"] {
            let answer = server.bare(Method::GET, path).bearer_auth(wrong).send().await.unwrap();
            error_of(answer, 401, "permission_denied").await;
        }
    }
    let basic = server.bare(Method::GET, "/hecate/v1/runs").basic_auth("ada", Some(TOKEN)).send().await.unwrap();
    error_of(basic, 401, "permission_denied").await;
}

#[tokio::test]
async fn ep_29_a_token_does_what_it_was_made_for_and_no_more() {
    let server = Server::start().await;
    let make = async |name: &str, grant| tokens::create(&server.store, name, grant, None).await.unwrap().1;
    let reader = make("reader", Grant::Caps(Caps::default())).await;
    let ingest = make("ingest", Grant::Role(Role::Ingest)).await;
    for (method, path, cap) in all_routes(&server).await {
        let ask = async |token: &str| {
            server.bare(method.clone(), &filled(&path)).bearer_auth(token).send().await.unwrap().status()
        };
        match cap.as_str() {
            "none" => {}
            "read" => assert_ne!(ask(&reader).await, 403, "{method} {path}"),
            _ => assert_eq!(ask(&reader).await, 403, "{method} {path}"),
        }
        if cap != "none" {
            assert_eq!(ask(&ingest).await, 403, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn ep_29_a_token_that_was_revoked_or_is_too_old_is_refused_on_every_node() {
    let server = Server::start().await;
    let other = server.another_node().await;
    let read = Grant::Caps(Caps::default());
    let (_, short) = tokens::create(&server.store, "short", read, Some(Duration::from_nanos(1))).await.unwrap();
    let (_, long) = tokens::create(&server.store, "long", read, Some(Duration::from_secs(3600))).await.unwrap();
    let ask = async |server: &Server, token: &str| {
        server.bare(Method::GET, "/hecate/v1/health").bearer_auth(token).send().await.unwrap().status().as_u16()
    };
    assert_eq!((ask(&server, &short).await, ask(&other, &short).await), (401, 401));
    assert_eq!((ask(&server, &long).await, ask(&other, &long).await), (200, 200));
    assert!(tokens::revoke(&server.store, "long").await.unwrap());
    assert_eq!((ask(&server, &long).await, ask(&other, &long).await), (401, 401));
}

#[tokio::test]
async fn ep_29_a_token_in_a_url_is_refused_even_if_it_is_good() {
    let server = Server::start().await;
    for path in [
        format!("/hecate/v1/health?token={TOKEN}"),
        format!("/hecate/v1/health?access_token={TOKEN}"),
        format!("/hecate/v1/runs?q={TOKEN}"),
        format!("/hecate/v1/runs?q=r1t%5F{}", &TOKEN[4..]),
        format!("/hecate/v1/runs/{TOKEN}"),
    ] {
        let error = error_of(server.get(&path).await, 403, "permission_denied").await;
        assert!(!error.to_string().contains(TOKEN), "{error}");
    }
}

#[tokio::test]
async fn ep_29_who_is_refused_is_refused_before_the_body_is_read() {
    let server = Server::start().await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    // A body that never comes.
    let head = format!("POST /hecate/v1/tasks HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1000\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

#[tokio::test]
async fn ep_29_nobody_writes_events_of_r1s_own_types() {
    let server = Server::start().await;
    let run = server.new_run("").await;
    let path = format!("/hecate/v1/runs/{run}/events");
    for type_name in ["run.finished", "run.cancelled", "approval.resolved", "tool.completed"] {
        let event = serde_json::json!({ "type": type_name, "data": {} });
        error_of(server.post(&path, &event).await, 403, "permission_denied").await;
    }
}
