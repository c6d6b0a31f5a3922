//! Pages of a log.

use r1_event::Seq;

use super::Fixture;
use super::sample::{Writer, message, messages, read_all, run, seq};
use crate::page::Pages;
use crate::store::PageLimit;

pub async fn reading_pages_through_a_log_without_gap(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    // A neighbour whose events lie in between.
    let mut neighbour = Writer::started(&store, &run(2)).await;
    for size in [1, 7, 40] {
        writer.write(messages(size)).await;
        neighbour.write(messages(3)).await;
    }
    let whole = read_all(&store, &run(1)).await;
    assert_eq!(whole.len(), 49);
    for events in [1, 2, 3, 48, 49, 50, 1000] {
        let limit = PageLimit { events, ..PageLimit::default() };
        let (id, mut read) = (run(1), Vec::new());
        let mut pages = Pages::new(&*store, &id, Seq::FIRST, limit);
        while let Some(page) = pages.next().await.unwrap() {
            assert_eq!(page.len(), events.min(49 - read.len()), "a page is full while there are events");
            read.extend(page);
        }
        assert_eq!(read, whole, "in pages of {events}");
    }
    assert_eq!(store.read(&run(1), seq(20), PageLimit::default()).await.unwrap().records, whole[19..]);
}

pub async fn a_page_holds_one_event_however_small_its_limit(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let written = writer.write([message("z".repeat(100_000)), message("small")]).await;
    for limit in [PageLimit { events: 0, bytes: 0 }, PageLimit { events: 10, bytes: 1 }] {
        assert_eq!(store.read(&run(1), seq(2), limit).await.unwrap().records, written[..1]);
    }
}

pub async fn a_page_stops_at_its_byte_limit(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let written = writer.write((0..10).map(|_| message("w".repeat(1000)))).await;
    let three = written[..3].iter().map(r1_event::Record::size).sum();
    for (bytes, expected) in [(three, 3), (three + 1, 4), (three - 1, 3)] {
        let page = store.read(&run(1), seq(2), PageLimit { events: 100, bytes }).await.unwrap();
        assert_eq!(page.records, written[..expected], "{bytes} bytes");
    }
}

pub async fn reading_what_is_not_there_is_empty(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.read(&run(1), Seq::FIRST, PageLimit::default()).await.unwrap().records, []);
    assert_eq!(store.head(&run(1)).await.unwrap(), None);
    assert_eq!(store.run(&run(1)).await.unwrap(), None);
    assert_eq!(store.lease(&run(1)).await.unwrap(), None);
    assert_eq!(store.side_records(&run(1)).await.unwrap(), []);
    Writer::started(&store, &run(1)).await;
    for from in [seq(2), seq(900), seq(Seq::MAX)] {
        let page = store.read(&run(1), from, PageLimit::default()).await.unwrap();
        assert_eq!((page.next(), page.records), (from, Vec::new()));
    }
}
