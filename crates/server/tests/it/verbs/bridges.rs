//! What bridges tell, over HTTP.

use r1_server::access::{Caps, Grant, Role, tokens};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Server, error_of, json_of};

const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn beacon(kind: &str, detail: Value) -> Value {
    json!({
        "type": "beacon.event",
        "data": {
            "kind": kind, "beacon_id": "b1", "operator_id": "op1", "device_id": "d1", "chain": [HASH],
            "detail": detail,
        },
    })
}

#[tokio::test]
async fn stoke_27_a_bridge_tells_what_happens_at_its_beacons_and_nothing_else() {
    let server = Server::start().await;
    let make = async |name: &str, grant| tokens::create(&server.store, name, grant, None).await.unwrap().1;
    let bridge = make("front-door", Grant::Role(Role::Bridge)).await;
    let writer = make("writer", Grant::Caps(Caps::ALL)).await;
    let run = server.new_run("turns: [{ text: done }]").await;
    let post = async |token: &str, path: &str, body: &Value| {
        server.bare(Method::POST, path).bearer_auth(token).json(body).send().await.unwrap()
    };
    let (driven, alone) = (format!("/hecate/v1/runs/{run}/events"), "/hecate/v1/events");

    let command = json!({ "session_ref": "s", "command_kind": "start", "payload_hash": HASH });
    let told = json_of(post(&bridge, &driven, &beacon("command", command)).await, 200).await;
    assert_eq!(
        (&told["data"]["type"], &told["data"]["data"]["bridge"]),
        (&"beacon.event".into(), &"front-door".into())
    );
    let result = json!({ "command_event": told["data"]["event_id"], "status": "ok" });
    let answered = json_of(post(&bridge, &driven, &beacon("command_result", result)).await, 200).await;
    let link = answered["data"]["data"]["detail"]["command_event"].as_str().unwrap();
    assert!(link.starts_with("sha256:"), "{link}");

    let lost = beacon("device_revoked", json!({ "reason": "lost" }));
    let outside = json_of(post(&bridge, alone, &lost).await, 200).await;
    assert_ne!(outside["data"]["run_id"], run.as_str());
    let settled = json!({ "type": "stoke.delegation.settle", "data": { "contract_id": "c1" } });
    json_of(post(&bridge, &driven, &settled).await, 200).await;

    error_of(post(&bridge, &driven, &beacon("exploded", json!({}))).await, 400, "validation").await;
    for body in [json!({ "type": "external.x", "data": {} }), json!({ "type": "gate.override", "data": {} })] {
        error_of(post(&bridge, &driven, &body).await, 403, "permission_denied").await;
        error_of(post(&bridge, alone, &body).await, 403, "permission_denied").await;
    }
    for body in [&lost, &settled, &json!({ "type": "memory.write", "data": {} })] {
        error_of(post(&writer, &driven, body).await, 403, "permission_denied").await;
        error_of(post(&writer, alone, body).await, 403, "permission_denied").await;
    }
}

#[tokio::test]
async fn stoke_27_a_bridge_that_drives_no_run_has_one_run_until_its_token_is_gone() {
    let server = Server::start().await;
    let make = async |name: &str| tokens::create(&server.store, name, Grant::Role(Role::Bridge), None).await.unwrap().1;
    let (front, back) = (make("front-door").await, make("back-door").await);
    let post = async |token: &str, body: &Value| {
        let sent = server.bare(Method::POST, "/hecate/v1/events").bearer_auth(token).json(body).send().await.unwrap();
        json_of(sent, 200).await["data"].clone()
    };
    let command = json!({ "session_ref": "s", "command_kind": "start", "payload_hash": HASH });
    let asked = post(&front, &beacon("command", command)).await;
    let result = json!({ "command_event": asked["event_id"], "status": "ok" });
    let answered = post(&front, &beacon("command_result", result)).await;
    assert_eq!(asked["run_id"], answered["run_id"]);
    let lost = beacon("device_revoked", json!({ "reason": "lost" }));
    let other = post(&back, &lost).await;
    assert_ne!(asked["run_id"], other["run_id"]);

    server.app.end_bridge_sessions_now().await;
    assert_eq!(post(&front, &lost).await["run_id"], asked["run_id"], "the session goes on");
    assert!(tokens::revoke(&server.store, "front-door").await.unwrap());
    server.app.end_bridge_sessions_now().await;
    let ended = async |run: &Value| {
        let run = run.as_str().unwrap().parse().unwrap();
        server.store.head(&run).await.unwrap().unwrap().terminal.is_some()
    };
    assert!(ended(&asked["run_id"]).await && !ended(&other["run_id"]).await);
}
