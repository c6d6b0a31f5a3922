//! One writer per run.

use std::time::Duration;

use super::Fixture;
use super::sample::{LONG, Writer, batch, message, run};
use crate::error::{AppendError, LeaseError};
use crate::lease::FencingToken;

pub async fn a_lease_is_held_until_it_runs_out(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let held = store.acquire(&run(1), "one", LONG).await.unwrap();
    assert_eq!((held.run.clone(), held.owner.as_str()), (run(1), "one"));
    assert!(held.token > FencingToken::NONE);
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(held.clone()));
    let err = store.acquire(&run(1), "two", LONG).await.unwrap_err();
    assert!(matches!(err, LeaseError::Held { owner, .. } if owner == "one"));
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(held.clone()), "asking takes nothing");

    // The owner itself comes back, after a crash perhaps: its former self is fenced out.
    let again = store.acquire(&run(1), "one", Duration::ZERO).await.unwrap();
    assert!(again.token > held.token);
    // That one has run out by now.
    let taken = store.acquire(&run(1), "two", LONG).await.unwrap();
    assert!(taken.token > again.token);
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(taken));
    // Other runs are other leases.
    store.acquire(&run(2), "one", LONG).await.unwrap();
}

pub async fn a_lease_can_be_taken_before_the_run_exists(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let lease = store.acquire(&run(1), "one", LONG).await.unwrap();
    assert_eq!(store.run(&run(1)).await.unwrap(), None);
    store.release(&lease).await.unwrap();
    Writer::started(&store, &run(1)).await;
}

pub async fn an_expired_lease_writes_until_it_is_taken_over(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut slow = Writer::started(&store, &run(1)).await;
    slow.lease = store.renew(&slow.lease, Duration::ZERO).await.unwrap();
    slow.write([message("nobody minds")]).await;
    let taken = store.acquire(&run(1), "quick", Duration::ZERO).await.unwrap();
    let err = slow.append(batch(&slow.chain, [message("now someone does")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Fenced { current, .. } if current == taken.token));
}

pub async fn renewing_extends_and_a_lost_lease_is_not_renewed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let short = store.acquire(&run(1), "one", Duration::ZERO).await.unwrap();
    let long = store.renew(&short, LONG).await.unwrap();
    assert_eq!(long.token, short.token);
    assert!(long.until > short.until);
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(long.clone()));
    assert!(matches!(store.acquire(&run(1), "two", LONG).await, Err(LeaseError::Held { .. })));

    store.renew(&long, Duration::ZERO).await.unwrap();
    let taken = store.acquire(&run(1), "two", LONG).await.unwrap();
    let err = store.renew(&long, LONG).await.unwrap_err();
    assert!(matches!(err, LeaseError::Lost { current, .. } if current == taken.token));
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(taken));
}

pub async fn releasing_lets_the_next_one_in(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let one = store.acquire(&run(1), "one", LONG).await.unwrap();
    store.release(&one).await.unwrap();
    let two = store.acquire(&run(1), "two", LONG).await.unwrap();
    assert!(two.token > one.token);
    // Giving back what was taken over is no error and takes nothing from its holder.
    store.release(&one).await.unwrap();
    assert!(matches!(store.acquire(&run(1), "three", LONG).await, Err(LeaseError::Held { .. })));
}

pub async fn tokens_grow_across_openings(fixture: &dyn Fixture) {
    let mut last = FencingToken::NONE;
    for _ in 0..3 {
        let store = fixture.open().await;
        let lease = store.acquire(&run(1), "one", LONG).await.unwrap();
        assert!(lease.token > last);
        last = lease.token;
        store.release(&lease).await.unwrap();
        store.close().await.unwrap();
    }
}
