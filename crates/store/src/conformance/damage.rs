//! Rows that someone changed behind the store's back.

use futures_util::StreamExt as _;
use r1_event::{Record, Seq, SideRecord};

use super::Fixture;
use super::sample::{Writer, read_all, run, seq};
use super::side_record::unchecked_seal;
use crate::page::Pages;
use crate::store::{PageLimit, SharedStore};
use crate::tail::tail;

/// More pages and events than any log here has: a reader that gets this far would read for ever.
const TOO_MANY: usize = 100;

/// All that reading in pages of three gives.
async fn read_in_pages(store: &SharedStore) -> Vec<Record> {
    let (id, mut records) = (run(1), Vec::new());
    let mut pages = Pages::new(&**store, &id, Seq::FIRST, PageLimit { events: 3, ..PageLimit::default() });
    for _ in 0..TOO_MANY {
        match pages.next().await.unwrap() {
            Some(page) => records.extend(page),
            None => return records,
        }
    }
    panic!("reading does not end");
}

/// The log in its rows, in their order.
fn rows(log: &[Record], order: [usize; 8]) -> Vec<Record> {
    order.into_iter().map(|place| log[place - 1].clone()).collect()
}

pub async fn a_damaged_log_is_read_row_by_row_to_its_end(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 8).await;
    let mut log = read_all(&store, &run(1)).await;

    // The last header says that it stands before its place.
    let step_back = "UPDATE @events SET header = (SELECT header FROM @events WHERE seq = 5) WHERE seq = 8";
    if !fixture.damage(step_back).await {
        return;
    }
    log[7].header = log[4].header.clone();
    assert_eq!(read_in_pages(&store).await, log);
    assert_eq!(read_all(&store, &run(1)).await, log);
    let followed = tail(store.clone(), run(1), Seq::FIRST).take(TOO_MANY).count().await;
    assert_eq!(followed, 8, "a tail ends with the run, which the store knows to have ended");

    // A row that stands behind the others, as far as a row can.
    fixture.damage("UPDATE @events SET seq = 40 WHERE seq = 4").await;
    let moved = rows(&log, [1, 2, 3, 5, 6, 7, 8, 4]);
    assert_eq!(read_in_pages(&store).await, moved);
    fixture.damage("UPDATE @events SET seq = 9223372036854775807 WHERE seq = 40").await;
    assert_eq!(read_in_pages(&store).await, moved);
    assert_eq!(read_all(&store, &run(1)).await, moved);
    assert!(tail(store.clone(), run(1), seq(2)).take(TOO_MANY).count().await < TOO_MANY);
}

pub async fn a_damaged_side_record_hides_neither_log_nor_other_records(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 3).await;
    let checkpoint = SideRecord::Checkpoint(unchecked_seal(&run(1), 2));
    store.add_side_record(&run(1), checkpoint.clone()).await.unwrap();
    if !fixture.damage("UPDATE @side_records SET record = substr(record, 2)").await {
        return;
    }
    let seal = SideRecord::Seal(unchecked_seal(&run(1), 3));
    store.add_side_record(&run(1), seal.clone()).await.unwrap();
    let damaged = SideRecord::Damaged(checkpoint.encode()[1..].to_vec());
    assert_eq!(store.side_records(&run(1)).await.unwrap(), [damaged, seal]);
}
