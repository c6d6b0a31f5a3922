use std::sync::Arc;

use futures_util::stream;
use r1_event::Payload;
use r1_protocol::data::EventData;
use r1_store::MemoryStore;
use tokio::sync::mpsc;

use super::*;
use crate::emit::EmitRequest;

/// Artifacts over a store in memory, and the events that were written.
fn artifacts() -> (Artifacts, mpsc::UnboundedReceiver<Payload>) {
    let (events, mut requests) = Emitter::channel(8);
    let (sender, written) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(EmitRequest { events, done }) = requests.recv().await {
            let ids = events.iter().map(|_| world::new_id("evt")).collect();
            events.into_iter().for_each(|event| sender.send(event.payload).unwrap());
            let _ = done.send(ids);
        }
    });
    let store: SharedStore = Arc::new(MemoryStore::new());
    (Artifacts::new(store, events, Arc::default()), written)
}

fn read_as<T: EventData>(payload: Payload) -> T {
    let Payload::Typed(event) = payload else { panic!("{payload:?}") };
    T::read(&event).unwrap_or_else(|| panic!("not {}: {event:?}", T::TYPE))
}

#[tokio::test]
async fn a_body_is_stored_before_its_event_and_named_by_its_hashes() {
    let (artifacts, mut written) = artifacts();
    let new = NewArtifact { kind: ArtifactKind::CommandOutput, summary: "out".into(), ..Default::default() };
    let stored = artifacts.put(new, "content").await.unwrap();
    assert_eq!(read(artifacts.store(), stored.digest).await.unwrap(), "content");
    let created: ArtifactCreated = read_as(written.recv().await.unwrap());
    assert_eq!(created.artifact_id, stored.id);
    assert_eq!(created.digest, format!("blake3:{}", blake3::hash(b"content").to_hex()));
    assert_eq!(created.sha256, "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73");
    assert_eq!((created.size_bytes, created.status), (7, Some(ArtifactStatus::Created)));
    assert!(stored.id.starts_with("art_") && stored.id.len() == 30);
}

#[tokio::test]
async fn what_is_over_the_limit_loses_its_middle_and_the_log_says_so() {
    let (artifacts, mut written) = artifacts();
    let new = NewArtifact { kind: ArtifactKind::FetchedResource, ..Default::default() };
    // Numbers, so that every place tells where it was.
    const WHOLE: u64 = MAX_ARTIFACT + (1 << 20);
    let piece = |n: u64| Bytes::from((0..8192_u64).flat_map(|at| (n * 8192 + at).to_be_bytes()).collect::<Vec<_>>());
    let pieces = (0..WHOLE >> 16).map(move |n| Ok(piece(n)));
    let stored = artifacts.put_stream(new, stream::iter(pieces)).await.unwrap();
    assert_eq!((stored.size, stored.whole), (MAX_ARTIFACT, WHOLE));
    let kept = read(artifacts.store(), stored.digest).await.unwrap();
    let at = |place: u64| {
        let place = usize::try_from(place).unwrap();
        u64::from_be_bytes(kept[place..place + 8].try_into().unwrap()) * 8
    };
    let head = MAX_ARTIFACT / 4 * 3;
    assert_eq!((at(0), at(head - 8)), (0, head - 8));
    assert_eq!((at(head), at(MAX_ARTIFACT - 8)), (head + (1 << 20), WHOLE - 8));
    let created: ArtifactCreated = read_as(written.recv().await.unwrap());
    assert_eq!(created.size_bytes, MAX_ARTIFACT);
    let capped: GapArtifactCapped = read_as(written.recv().await.unwrap());
    assert_eq!((capped.limit_bytes, capped.actual_bytes, capped.kept), (MAX_ARTIFACT, WHOLE, Kept::HeadTail));
    assert_eq!(capped.artifact_id, Some(stored.id));
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_whole_wherever_it_is_cut() {
    for (limit, sizes) in [(8, vec![8]), (8, vec![1; 8]), (8, vec![3, 5]), (9, vec![7, 2]), (0, vec![])] {
        let body: Vec<u8> = (0..limit).collect();
        let mut rest = Bytes::from(body.clone());
        let pieces: Vec<_> = sizes.iter().map(|size| Ok(rest.split_to(*size))).collect();
        let intake = Intake::new(&Redactor::default(), &ArtifactKind::Image, limit.into());
        let (content, facts) = intake.stream(stream::iter(pieces));
        let kept: Vec<u8> = content.map(|piece| piece.unwrap()).collect::<Vec<_>>().await.concat();
        assert_eq!(kept, body);
        assert_eq!(facts.take().whole, u64::from(limit));
    }
}

#[tokio::test]
async fn a_task_that_has_used_its_space_up_keeps_nothing_more() {
    let (artifacts, mut written) = artifacts();
    let artifacts = artifacts.with_used(MAX_PER_TASK);
    let new = NewArtifact { kind: ArtifactKind::CommandOutput, ..Default::default() };
    let stored = artifacts.put(new, "content").await.unwrap();
    assert_eq!((stored.size, stored.whole), (0, 7));
    written.recv().await.unwrap();
    let capped: GapArtifactCapped = read_as(written.recv().await.unwrap());
    assert_eq!((capped.limit_bytes, capped.actual_bytes, capped.kept), (0, 7, Kept::None));
}
