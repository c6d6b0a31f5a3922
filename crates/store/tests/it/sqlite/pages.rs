//! Pages of a log that someone has taken events out of.

use r1_event::Record;
use r1_store::PageLimit;
use r1_store::conformance::sample::{Writer, messages, run, seq};
use rusqlite::Connection;

use super::{SqliteFixture, open};

fn seqs(page: &[Record]) -> Vec<u64> {
    page.iter().map(|record| record.header().unwrap().seq.get()).collect()
}

#[tokio::test]
async fn a_gap_wider_than_a_page_does_not_hide_what_follows() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    Writer::started(&store, &run(1)).await.write(messages(19)).await;
    let removed =
        Connection::open(fixture.path()).unwrap().execute("DELETE FROM events WHERE seq BETWEEN 4 AND 15", []);
    assert_eq!(removed, Ok(12));
    let limit = PageLimit { events: 5, ..PageLimit::default() };
    assert_eq!(seqs(&store.read(&run(1), seq(4), limit).await.unwrap().records), [16, 17, 18, 19, 20]);
    // A page that reaches into the gap may end there.
    assert_eq!(seqs(&store.read(&run(1), seq(1), limit).await.unwrap().records), [1, 2, 3]);
    assert_eq!(
        seqs(&store.read(&run(1), seq(3), PageLimit::default()).await.unwrap().records),
        [3, 16, 17, 18, 19, 20]
    );
}
