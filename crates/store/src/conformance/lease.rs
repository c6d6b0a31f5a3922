//! One writer per run.

use std::time::Duration;

use super::Fixture;
use super::sample::{LONG, Writer, batch, message, run};
use crate::error::{AppendError, LeaseError};
use crate::lease::{FencingToken, Lease};

pub async fn a_lease_is_held_until_it_runs_out(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let held = store.acquire(&run(1), "one", LONG).await.unwrap().lease;
    assert_eq!((held.run.clone(), held.owner.as_str()), (run(1), "one"));
    assert!(held.token > FencingToken::NONE);
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(held.clone()));
    let err = store.acquire(&run(1), "two", LONG).await.unwrap_err();
    assert!(matches!(err, LeaseError::Held { owner, .. } if owner == "one"));
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(held.clone()), "asking takes nothing");

    // The owner itself comes back, after a crash perhaps: its former self is fenced out.
    let again = store.acquire(&run(1), "one", Duration::ZERO).await.unwrap().lease;
    assert!(again.token > held.token);
    // That one has run out by now.
    let taken = store.acquire(&run(1), "two", LONG).await.unwrap().lease;
    assert!(taken.token > again.token);
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(taken));
    // Other runs are other leases.
    store.acquire(&run(2), "one", LONG).await.unwrap();
}

pub async fn a_lease_can_be_taken_before_the_run_exists(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let lease = store.acquire(&run(1), "one", LONG).await.unwrap().lease;
    assert_eq!(store.run(&run(1)).await.unwrap(), None);
    store.release(&lease).await.unwrap();
    Writer::started(&store, &run(1)).await;
}

pub async fn an_expired_lease_writes_until_it_is_taken_over(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut slow = Writer::started(&store, &run(1)).await;
    slow.lease = store.renew(&slow.lease, Duration::ZERO).await.unwrap();
    slow.write([message("nobody minds")]).await;
    let taken = store.acquire(&run(1), "quick", Duration::ZERO).await.unwrap().lease;
    let err = slow.append(batch(&slow.chain, [message("now someone does")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Fenced { current, .. } if current == taken.token));
}

pub async fn renewing_extends_and_a_lost_lease_is_not_renewed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let short = store.acquire(&run(1), "one", Duration::ZERO).await.unwrap().lease;
    let long = store.renew(&short, LONG).await.unwrap();
    assert_eq!(long.token, short.token);
    assert!(long.until > short.until);
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(long.clone()));
    assert!(matches!(store.acquire(&run(1), "two", LONG).await, Err(LeaseError::Held { .. })));

    store.renew(&long, Duration::ZERO).await.unwrap();
    let taken = store.acquire(&run(1), "two", LONG).await.unwrap().lease;
    let err = store.renew(&long, LONG).await.unwrap_err();
    assert!(matches!(err, LeaseError::Lost { current, .. } if current == taken.token));
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(taken));
}

pub async fn releasing_lets_the_next_one_in(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let one = store.acquire(&run(1), "one", LONG).await.unwrap().lease;
    store.release(&one).await.unwrap();
    let two = store.acquire(&run(1), "two", LONG).await.unwrap().lease;
    assert!(two.token > one.token);
    // Giving back what was taken over is no error and takes nothing from its holder.
    store.release(&one).await.unwrap();
    assert!(matches!(store.acquire(&run(1), "three", LONG).await, Err(LeaseError::Held { .. })));
}

pub async fn tokens_grow_across_openings(fixture: &dyn Fixture) {
    let mut last = FencingToken::NONE;
    for _ in 0..3 {
        let store = fixture.open().await;
        let lease = store.acquire(&run(1), "one", LONG).await.unwrap().lease;
        assert!(lease.token > last);
        last = lease.token;
        store.release(&lease).await.unwrap();
        store.close().await.unwrap();
    }
}

pub async fn taking_a_lease_tells_who_never_gave_it_back(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let first = store.acquire(&run(1), "one", Duration::ZERO).await.unwrap();
    assert_eq!(first.previous, None, "nobody had it before");
    let second = store.acquire(&run(1), "two", LONG).await.unwrap();
    assert_eq!(second.previous, Some(first.lease), "its time ran out");
    // The owner itself comes back and learns until when it had the lease.
    let renewed = store.renew(&second.lease, LONG).await.unwrap();
    let third = store.acquire(&run(1), "two", LONG).await.unwrap();
    assert_eq!(third.previous, Some(renewed));
    store.release(&third.lease).await.unwrap();
    let fourth = fixture.open().await.acquire(&run(1), "one", LONG).await.unwrap();
    assert_eq!(fourth.previous, None, "it was given back");
    assert!(fourth.lease.token > third.lease.token);
}

pub async fn a_lease_that_was_given_back_is_gone(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let lease = store.acquire(&run(1), "one", LONG).await.unwrap().lease;
    store.release(&lease).await.unwrap();
    assert_eq!(store.lease(&run(1)).await.unwrap(), None);
    // A renewal that was on its way does not bring it back.
    let err = store.renew(&lease, LONG).await.unwrap_err();
    assert!(matches!(err, LeaseError::Lost { current, .. } if current == lease.token), "{err:?}");
    assert_eq!(store.lease(&run(1)).await.unwrap(), None);
    store.acquire(&run(1), "two", LONG).await.unwrap();
}

pub async fn many_leases_are_renewed_at_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut leases = Vec::new();
    for n in (0..12).rev() {
        leases.push(store.acquire(&run(n), "one", Duration::ZERO).await.unwrap().lease);
    }
    let taken = store.acquire(&run(5), "two", LONG).await.unwrap().lease;
    store.release(&leases[2]).await.unwrap();
    leases.push(Lease { run: run(77), ..taken.clone() });
    // The same one twice is renewed twice.
    leases.push(leases[0].clone());
    let renewals = store.renew_all(&leases, LONG).await.unwrap();
    assert_eq!(renewals.len(), leases.len());
    let lost = [(run(5), taken.token), (leases[2].run.clone(), leases[2].token), (run(77), FencingToken::NONE)];
    for (lease, renewal) in leases.iter().zip(renewals) {
        if let Some((_, newest)) = lost.iter().find(|(run, _)| *run == lease.run) {
            assert!(matches!(&renewal, Err(LeaseError::Lost { current, .. }) if current == newest), "{renewal:?}");
            continue;
        }
        let renewed = renewal.unwrap();
        assert!(renewed.until > lease.until && renewed.token == lease.token && renewed.owner == "one");
        assert_eq!(store.lease(&lease.run).await.unwrap().map(|held| held.token), Some(lease.token));
        assert!(matches!(store.acquire(&lease.run, "two", LONG).await, Err(LeaseError::Held { .. })));
    }
    assert_eq!(store.lease(&run(5)).await.unwrap(), Some(taken));
    assert!(store.renew_all(&[], LONG).await.unwrap().is_empty());
}

pub async fn many_leases_are_read_at_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let held = store.acquire(&run(1), "one", LONG).await.unwrap().lease;
    let stale = store.acquire(&run(2), "two", Duration::ZERO).await.unwrap().lease;
    let back = store.acquire(&run(3), "one", LONG).await.unwrap().lease;
    store.release(&back).await.unwrap();
    let asked = [run(3), run(2), run(1), run(4), run(2)];
    let expected = [None, Some(stale.clone()), Some(held), None, Some(stale)];
    assert_eq!(store.leases(&asked).await.unwrap(), expected);
    assert_eq!(fixture.open().await.leases(&asked).await.unwrap(), expected);
    assert_eq!(store.leases(&[]).await.unwrap(), []);
}
