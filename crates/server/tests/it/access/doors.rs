//! Names, origins, sockets.

use r1_server::listen::{Binding, Bound, ListenError};
use reqwest::header::{HeaderMap, ORIGIN};
use reqwest::{Method, Response};

use crate::support::{HOST, Server, error_of};

async fn with_headers(server: &Server, method: Method, headers: &[(&str, &str)]) -> Response {
    let mut request = server.request(method, "/hecate/v1/health");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn ep_29_a_name_that_is_not_ours_is_refused() {
    let server = Server::start().await;
    let port = server.url.rsplit(':').next().unwrap();
    for good in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}"), HOST.into()] {
        assert_eq!(with_headers(&server, Method::GET, &[("host", &good)]).await.status(), 200, "{good}");
    }
    for bad in [
        format!("evil.example:{port}"),
        "evil.example".into(),
        "127.0.0.1".into(),
        "127.0.0.1:1".into(),
        format!("127.0.0.1.evil.example:{port}"),
        format!("127.0.0.2:{port}"),
        format!("{HOST}.evil.example"),
    ] {
        let answer = with_headers(&server, Method::GET, &[("host", &bad)]).await;
        error_of(answer, 403, "permission_denied").await;
    }
}

#[tokio::test]
async fn ep_29_a_page_from_elsewhere_is_refused() {
    let server = Server::start().await;
    let own = server.url.clone();
    assert_eq!(with_headers(&server, Method::GET, &[("origin", &own)]).await.status(), 200);
    for bad in ["https://evil.example", "null", "http://127.0.0.1", &own.replace("http:", "https:"), "file://"] {
        let answer = with_headers(&server, Method::GET, &[("origin", bad)]).await;
        assert_eq!(text(answer.headers(), "access-control-allow-origin"), None);
        error_of(answer, 403, "permission_denied").await;
    }
    let hidden = with_headers(&server, Method::GET, &[("sec-fetch-site", "cross-site")]).await;
    error_of(hidden, 403, "permission_denied").await;
    for fine in ["none", "same-origin", "same-site"] {
        assert_eq!(with_headers(&server, Method::GET, &[("sec-fetch-site", fine)]).await.status(), 200);
    }
}

#[tokio::test]
async fn an_allowed_origin_may_ask_with_a_token_and_nothing_else() {
    let server = Server::start().await;
    let origin = "https://ui.example";
    let answer = with_headers(&server, Method::GET, &[("origin", origin), ("sec-fetch-site", "cross-site")]).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(text(answer.headers(), "access-control-allow-origin"), Some(origin));
    assert_eq!(text(answer.headers(), "access-control-allow-credentials"), None);
    let vary: Vec<_> = answer.headers().get_all("vary").iter().map(|value| value.to_str().unwrap()).collect();
    assert!(vary.join(",").to_lowercase().contains("origin"), "{vary:?}");

    let asked = server.bare(Method::OPTIONS, "/hecate/v1/tasks").header(ORIGIN, origin);
    let answer = asked.header("access-control-request-method", "POST").send().await.unwrap();
    assert_eq!(answer.status(), 204);
    assert_eq!(text(answer.headers(), "access-control-allow-methods"), Some("GET, POST, PATCH"));
    assert!(text(answer.headers(), "access-control-allow-headers").unwrap().contains("Idempotency-Key"));

    let asked = server.bare(Method::OPTIONS, "/hecate/v1/tasks").header(ORIGIN, "https://evil.example");
    let answer = asked.header("access-control-request-method", "POST").send().await.unwrap();
    error_of(answer, 403, "permission_denied").await;
}

#[tokio::test]
async fn the_unix_socket_needs_no_token() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start().await;
    let path = server.unix_socket();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let client = reqwest::Client::builder().unix_socket(path.as_path()).build().unwrap();
    let answer = client.get("http://localhost/hecate/v1/health").send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn ep_29_nothing_listens_beyond_this_machine_in_plain_text() {
    for exposed in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let binding = Binding { tcp: exposed.parse().ok(), ..Binding::default() };
        assert!(matches!(Bound::bind(&binding).await, Err(ListenError::Exposed { .. })), "{exposed}");
    }
    let server = Server::start().await;
    assert!(server.url.starts_with("http://127.0.0.1:"), "{}", server.url);
}
