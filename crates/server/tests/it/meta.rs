//! The server about itself.

use crate::support::Server;

#[tokio::test]
async fn it_says_that_it_is_alive() {
    let server = Server::start().await;
    let answer = server.get("/healthz").await;
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("x-request-id"));
}
