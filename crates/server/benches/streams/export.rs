//! A whole run as lines, against writing the same envelopes from memory.

use r1_protocol::{Envelope, RunFacts, Thinking};
use r1_store::Pages;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::stage::{Stage, Writer, ask, drain};
use crate::table::{Table, Target, best_of, rate, scaled, speed, time};

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let events = scaled(200_000, 2_000);
    let directory = TempDir::new().expect("a directory");
    let stage = runtime.block_on(Stage::open(directory.path()));
    let run = runtime.block_on(async {
        let mut writer = Writer::new(&stage.store, 1).await;
        writer.work(events).await;
        writer.run
    });
    let envelopes = runtime.block_on(envelopes(&stage, &run));
    let path = format!("/hecate/v1/runs/{run}/events?include=thinking");
    let mut buffer = vec![0; 1 << 20];
    let (ours, peer) = best_of(
        15,
        || {
            time(|| {
                runtime.block_on(async {
                    let mut answer = ask(&stage.address, &path, "application/x-ndjson").await;
                    assert!(drain(&mut answer, &mut buffer).await > events * 100);
                });
            })
        },
        || time(|| write_all(&envelopes)),
    );
    table.row(
        "a run as lines, from the store over HTTP",
        &rate(events, ours),
        &format!("the same envelopes written from memory: {}", rate(events, peer)),
        speed(ours, peer),
        Target::AtLeast(0.5),
    );
}

fn write_all(envelopes: &[Envelope]) -> usize {
    let (mut out, mut bytes) = (Vec::with_capacity(1 << 20), 0);
    for envelope in envelopes {
        envelope.write(&mut out);
        out.push(b'\n');
        if out.len() > 512 << 10 {
            bytes += out.len();
            out.clear();
        }
    }
    bytes + out.len()
}

async fn envelopes(stage: &Stage, run: &r1_event::RunId) -> Vec<Envelope> {
    let (mut all, mut facts, mut pages) = (Vec::new(), None, Pages::of_all(&*stage.store, run));
    while let Some(page) = pages.next().await.expect("a page") {
        let facts = facts.get_or_insert_with(|| RunFacts::of_first(&page[0], None).expect("facts"));
        all.extend(page.iter().map(|record| facts.envelope(record, None, Thinking::Shown).expect("an envelope")));
    }
    all
}
