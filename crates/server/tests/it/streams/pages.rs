//! Page after page, and waiting for the next.

use std::time::Duration;

use serde_json::Value;

use super::desk::Desk;
use crate::support::Server;

#[tokio::test]
async fn ep_08_paging_over_a_live_run_gives_each_event_once_and_in_order() {
    let server = Server::start().await;
    for limit in 1..=20 {
        let mut desk = Desk::new(&server.store).await;
        let path = desk.path();
        let (mut found, mut after, mut written) = (Vec::new(), None, 0);
        loop {
            // The run grows while it is read, a little more than a page now and then.
            if written < 45 {
                desk.chatter(written % 3 + 1).await;
                written += written % 3 + 1;
                if written >= 45 {
                    desk.finish().await;
                }
            }
            let cursor = after.map_or(String::new(), |after| format!("&after_sequence={after}"));
            let list = server.json(&format!("{path}?limit={limit}{cursor}")).await;
            let items = list["data"].as_array().unwrap();
            let again = usize::from(after == Some(0));
            assert!(items.len() <= limit + again, "{limit}");
            found.extend(items[again..].iter().map(|event| event["sequence"].as_u64().unwrap()));
            after = list["next_after_sequence"].as_u64();
            let last = list["last_sequence"].as_u64().unwrap();
            assert_eq!(list["has_more"], found.len() as u64 <= last, "{list}");
            if list["terminal"] == true && list["has_more"] == false {
                break;
            }
        }
        assert_eq!(found, (0..desk.len()).collect::<Vec<_>>(), "with pages of {limit}");
    }
}

#[tokio::test]
async fn a_page_ends_at_8_mib_and_still_leads_on() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    let big = "x".repeat(3 << 20);
    for _ in 0..5 {
        let data = serde_json::json!({ "text": big });
        desk.write([r1_event::Payload::Typed(r1_protocol::data::typed("external.big", &data))]).await;
    }
    let (mut pages, mut sequences, mut after) = (0, Vec::new(), -1_i64);
    loop {
        let text = server.get(&format!("{}?after_sequence={after}", desk.path())).await.text().await.unwrap();
        assert!(text.len() <= (8 << 20) + 1024, "{}", text.len());
        let list: Value = serde_json::from_str(&text).unwrap();
        sequences.extend(list["data"].as_array().unwrap().iter().map(|event| event["sequence"].as_u64().unwrap()));
        pages += 1;
        if list["has_more"] == false {
            break;
        }
        after = list["next_after_sequence"].as_i64().unwrap();
    }
    assert_eq!(sequences, [0, 1, 2, 3, 4, 5]);
    assert_eq!(pages, 3);
}

#[tokio::test]
async fn a_long_poll_answers_as_soon_as_something_comes_and_when_its_time_is_up() {
    let server = Server::start().await;
    let mut desk = Desk::new(&server.store).await;
    let path = desk.path();
    let nothing = server.json(&format!("{path}?from_sequence=1&wait_ms=50")).await;
    assert_eq!(nothing["data"].as_array().unwrap().len(), 0);
    let ask = format!("{path}?from_sequence=1&wait_ms=30000");
    let (waited, ()) = tokio::join!(server.json(&ask), desk.chatter(1));
    assert_eq!(waited["data"][0]["sequence"], 1);
    // An event that is not asked for does not end the wait, one that is does.
    let ask = format!("{path}?types=run.finished&wait_ms=30000");
    let (waited, ()) = tokio::join!(server.json(&ask), async {
        desk.chatter(3).await;
        desk.finish().await;
    });
    assert_eq!(waited["data"][0]["type"], "run.finished");
    // Nothing more can come: there is nothing to wait for.
    let ask = format!("{path}?after_sequence=5&wait_ms=30000");
    let over = tokio::time::timeout(Duration::from_secs(20), server.json(&ask)).await.expect("it waited for nothing");
    assert_eq!(over["terminal"], true);
}
