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

pub async fn pages_of_events_that_differ_in_size_miss_none(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    // Whoever guesses the next page from the one before is wrong time and again.
    let sizes = [10, 10, 10, 9_000, 10, 3_000, 3_000, 10, 10, 10, 10, 20_000, 10, 10];
    writer.write((0..200).map(|n| message("s".repeat(sizes[n % sizes.len()])))).await;
    let whole = store.read(&run(1), Seq::FIRST, PageLimit { events: 1000, bytes: usize::MAX }).await.unwrap().records;
    for bytes in [1, 500, 4_000, 12_000, 100_000] {
        let (id, limit) = (run(1), PageLimit { events: 50, bytes });
        let read = Pages::new(&*store, &id, Seq::FIRST, limit).to_end().await.unwrap();
        assert_eq!(read, whole, "in pages of {bytes} bytes");
    }
}

pub async fn what_is_added_while_pages_are_read_is_read_too(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(9)).await;
    let (id, limit) = (run(1), PageLimit { events: 5, ..PageLimit::default() });
    let (mut pages, mut read) = (Pages::new(&*store, &id, Seq::FIRST, limit), Vec::new());
    for added in [0, 0, 3, 5, 0, 1] {
        read.extend(pages.next().await.unwrap().into_iter().flatten());
        writer.write(messages(added)).await;
    }
    read.extend(pages.to_end().await.unwrap());
    assert_eq!(read, read_all(&store, &run(1)).await);
    assert_eq!(read.len(), 19);
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
