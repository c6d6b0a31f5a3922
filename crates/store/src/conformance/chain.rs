//! Going on with a run without reading it.

use r1_event::Version;

use super::Fixture;
use super::sample::{LONG, Writer, completed, follow, message, messages, read_all, run};

/// Sizes around the places at which a store may keep a shortcut.
const SIZES: [u64; 9] = [1, 2, 3, 1022, 1023, 1024, 1025, 2050, 3072];

pub async fn the_chain_is_the_writers_at_every_size(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.chain(&run(1)).await.unwrap(), None);
    let mut writer = Writer::started(&store, &run(1)).await;
    for size in SIZES {
        writer.write(messages(size - writer.chain.size())).await;
        assert_eq!(store.chain(&run(1)).await.unwrap().as_ref(), Some(&writer.chain), "at {size} events");
    }
    let again = fixture.open().await;
    assert_eq!(again.chain(&run(1)).await.unwrap(), Some(writer.chain));
}

pub async fn the_chain_of_a_finished_run_knows_its_end(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let writer = Writer::finished(&store, &run(1), 30).await;
    let chain = store.chain(&run(1)).await.unwrap().unwrap();
    assert_eq!(chain, writer.chain);
    assert!(chain.terminal().is_some());
}

pub async fn a_reopened_store_goes_on_where_it_ended(fixture: &dyn Fixture) {
    let run = run(1);
    let store = fixture.open().await;
    Writer::started(&store, &run).await.write(messages(10)).await;
    store.close().await.unwrap();
    drop(store);

    let store = fixture.open().await;
    let chain = store.chain(&run).await.unwrap().unwrap();
    let lease = store.acquire(&run, "writer", LONG).await.unwrap().lease;
    let mut writer = Writer { store: store.clone(), lease, chain };
    writer.write([message("after the restart"), completed()]).await;
    assert_eq!(follow(&run, Version::V2, &read_all(&store, &run).await), writer.chain);
}
