//! Who may come in (check 29), on every route that the server has.

mod doors;
mod sessions;
mod tokens;

use reqwest::Method;
use serde_json::{Map, Value};

use crate::support::Server;

/// Every method of every path, as the server itself describes them, with what it needs.
pub(crate) async fn all_routes(server: &Server) -> Vec<(Method, String, String)> {
    let document = server.json("/hecate/v1/openapi.json").await;
    let members = |value: &Value| value.as_object().cloned().unwrap_or_else(Map::new);
    let mut routes = Vec::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(&methods) {
            let method = method.to_uppercase().parse().unwrap();
            routes.push((method, path.clone(), operation["x-r1-cap"].as_str().unwrap().to_owned()));
        }
    }
    assert!(routes.len() > 40, "{}", routes.len());
    routes
}

/// A path with something in the place of its ids.
pub(crate) fn filled(path: &str) -> String {
    let segment = |segment: &str| if segment.starts_with('{') { "x".to_owned() } else { segment.to_owned() };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}
