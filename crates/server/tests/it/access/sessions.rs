//! Tickets, and the sessions of browsers.

use r1_server::access::{Caps, Grant, tokens};
use reqwest::header::{COOKIE, ORIGIN};
use reqwest::{Method, Response};
use serde_json::json;

use crate::support::{Server, error_of, json_of};

/// Trades a ticket of whoever has this token for a cookie; the cookie's pair.
async fn login(server: &Server, token: Option<&str>) -> String {
    let request = match token {
        Some(token) => server.bare(Method::POST, "/v1/tickets").bearer_auth(token),
        None => server.request(Method::POST, "/v1/tickets"),
    };
    let ticket = json_of(request.send().await.unwrap(), 200).await;
    let path = ticket["data"]["login"].as_str().unwrap().to_owned();
    let answer = server.bare(Method::GET, &path).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["location"].to_str().unwrap()), (303, "/"));
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "not over plain HTTP: {cookie}");
    // A ticket is good once.
    error_of(server.bare(Method::GET, &path).send().await.unwrap(), 401, "permission_denied").await;
    cookie.split(';').next().unwrap().to_owned()
}

async fn post(server: &Server, cookie: &str, origin: Option<&str>) -> Response {
    let mut request = server.bare(Method::POST, "/v1/tickets").header(COOKIE, cookie);
    if let Some(origin) = origin {
        request = request.header(ORIGIN, origin);
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn ep_29_a_cookie_changes_nothing_without_an_origin_of_our_own() {
    let server = Server::start().await;
    let cookie = login(&server, None).await;
    let look = server.bare(Method::GET, "/hecate/v1/health").header(COOKIE, &cookie).send().await.unwrap();
    assert_eq!(look.status(), 200);
    error_of(post(&server, &cookie, None).await, 403, "permission_denied").await;
    error_of(post(&server, &cookie, Some("https://evil.example")).await, 403, "permission_denied").await;
    assert_eq!(post(&server, &cookie, Some(&server.url)).await.status(), 200);
    // An origin that is allowed to ask has tokens of its own, and no part in this session.
    error_of(post(&server, &cookie, Some("https://ui.example")).await, 401, "permission_denied").await;
}

#[tokio::test]
async fn ep_29_a_session_may_no_more_than_whoever_opened_it() {
    let server = Server::start().await;
    let (_, token) = tokens::create(&server.store, "reader", Grant::Caps(Caps::default()), None).await.unwrap();
    let cookie = login(&server, Some(&token)).await;
    let asked = server.bare(Method::POST, "/hecate/v1/tasks").header(COOKIE, &cookie).header(ORIGIN, &server.url);
    let asked = asked.header("content-type", "application/json").body(json!({ "prompt": "x" }).to_string());
    error_of(asked.send().await.unwrap(), 403, "permission_denied").await;
}

#[tokio::test]
async fn ep_29_a_cookie_that_nobody_gave_out_is_nobody() {
    let server = Server::start().await;
    for cookie in ["r1_session=", "r1_session=r1s_AAAA", "other=1; r1_session=x"] {
        let asked = server.bare(Method::GET, "/hecate/v1/health").header(COOKIE, cookie);
        error_of(asked.send().await.unwrap(), 401, "permission_denied").await;
    }
}
