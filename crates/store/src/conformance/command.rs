//! Messages to whoever holds a run.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use r1_event::{Batch, Chain};
use tokio::time::timeout;

use super::Fixture;
use super::sample::{LONG, Writer, batch, completed, message, read_all, run, started};
use crate::command::Command;
use crate::error::{AppendError, CommandError};
use crate::run::Head;
use crate::store::SharedStore;
use crate::watch::CommandWatch;

fn command(id: &str) -> Command {
    Command { id: id.into(), body: Bytes::from(format!("do {id}")) }
}

async fn pending(store: &SharedStore) -> Vec<String> {
    store.commands(&run(1)).await.unwrap().into_iter().map(|command| command.id).collect()
}

/// A batch of one message that settles commands.
fn answer(chain: &Chain, settled: &[&str]) -> Batch {
    let mut batch = batch(chain, [message(settled.join(" and "))]);
    settled.iter().for_each(|id| batch.settle(*id));
    batch
}

pub async fn commands_wait_in_the_order_in_which_they_were_left(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::started(&store, &run(1)).await;
    Writer::started(&store, &run(2)).await;
    assert_eq!(store.commands(&run(1)).await.unwrap(), []);
    let left = ["z", "a", "\u{1F600}\0'", "m"].map(command);
    for command in &left {
        store.leave_command(&run(1), command.clone()).await.unwrap();
    }
    store.leave_command(&run(2), command("a")).await.unwrap();
    assert_eq!(store.commands(&run(1)).await.unwrap(), left);
    let again = fixture.open().await;
    assert_eq!(again.commands(&run(1)).await.unwrap(), left, "they are durable");
    assert_eq!(again.commands(&run(2)).await.unwrap(), [command("a")]);
    assert_eq!(again.commands(&run(3)).await.unwrap(), []);
}

pub async fn the_same_id_twice_is_one_command(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let other_body = Command { id: "one".into(), body: Bytes::from_static(b"something else") };
    store.leave_command(&run(1), command("one")).await.unwrap();
    store.leave_command(&run(1), command("two")).await.unwrap();
    store.leave_command(&run(1), other_body.clone()).await.unwrap();
    assert_eq!(store.commands(&run(1)).await.unwrap(), [command("one"), command("two")]);
    join_all((0..8).map(|_| store.leave_command(&run(1), command("three")))).await.into_iter().for_each(Result::unwrap);
    assert_eq!(pending(&store).await, ["one", "two", "three"]);
    // Once it is settled, the name is free again.
    writer.append(answer(&writer.chain, &["one"])).await.unwrap();
    store.leave_command(&run(1), other_body.clone()).await.unwrap();
    assert_eq!(store.commands(&run(1)).await.unwrap()[2], other_body);
}

pub async fn a_command_for_a_run_that_cannot_carry_it_out_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let held = Writer::new(&store, &run(1)).await;
    for missing in [held.chain.run().clone(), run(2)] {
        let err = store.leave_command(&missing, command("early")).await.unwrap_err();
        assert!(matches!(&err, CommandError::NoRun { run } if *run == missing), "{err:?}");
    }
    Writer::finished(&store, &run(3), 3).await;
    let err = store.leave_command(&run(3), command("late")).await.unwrap_err();
    assert!(matches!(&err, CommandError::Ended { run: ended } if *ended == run(3)), "{err:?}");
    assert_eq!(store.commands(&run(3)).await.unwrap(), []);
    assert!(!store.withdraw_command(&run(2), "early").await.unwrap());
}

pub async fn commands_are_bounded_in_size_and_number(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let sized = |id, body| Command { id: "x".repeat(id), body: Bytes::from(vec![7; body]) };
    for unfit in [sized(0, 1), sized(Command::MAX_ID + 1, 1), sized(1, Command::MAX_BODY + 1)] {
        let err = store.leave_command(&run(1), unfit).await.unwrap_err();
        assert!(matches!(err, CommandError::Unfit { .. }), "{err:?}");
    }
    let largest = sized(Command::MAX_ID, Command::MAX_BODY);
    store.leave_command(&run(1), largest.clone()).await.unwrap();
    assert_eq!(store.commands(&run(1)).await.unwrap(), std::slice::from_ref(&largest));
    for part in 0..10 {
        let ids = (1..=100).map(|n| format!("{part} {n}"));
        let left = join_all(ids.map(|id| store.leave_command(&run(1), command(&id)))).await;
        let refused: Vec<_> = left.into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.len(), usize::from(part == 9), "{refused:?}");
        assert!(refused.iter().all(|err| matches!(err, CommandError::Full { .. })), "{refused:?}");
    }
    assert_eq!(pending(&store).await.len(), Command::MOST_PENDING);
    // One that is there already is no more than before, and one that is settled makes room.
    store.leave_command(&run(1), largest.clone()).await.unwrap();
    writer.append(answer(&writer.chain, &[&largest.id])).await.unwrap();
    store.leave_command(&run(1), command("room again")).await.unwrap();
    assert!(matches!(store.leave_command(&run(1), command("too many")).await, Err(CommandError::Full { .. })));
}

pub async fn a_settled_command_is_removed_with_its_events(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for id in ["one", "two", "three", "four"] {
        store.leave_command(&run(1), command(id)).await.unwrap();
    }
    // A batch that is refused settles nothing.
    let stale = Chain::new(run(1));
    let mut conflict = batch(&stale, [started("again")]);
    conflict.settle("one");
    assert!(matches!(store.append(&writer.lease, conflict).await, Err(AppendError::Conflict { .. })));
    assert_eq!(pending(&store).await, ["one", "two", "three", "four"]);

    writer.append(answer(&writer.chain, &["three", "one", "three"])).await.unwrap();
    assert_eq!(pending(&store).await, ["two", "four"]);
    assert!(!store.withdraw_command(&run(1), "one").await.unwrap(), "it was settled");
    // An answer need not be an event.
    let mut silent = Batch::new(&writer.chain);
    silent.settle("four");
    assert_eq!(writer.append(silent).await.unwrap(), Head::from(&writer.chain));
    assert_eq!(pending(&fixture.open().await).await, ["two"]);
    assert_eq!(read_all(&store, &run(1)).await.len(), 2);
}

pub async fn settling_what_was_withdrawn_refuses_the_whole_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for id in ["one", "two"] {
        store.leave_command(&run(1), command(id)).await.unwrap();
    }
    assert!(store.withdraw_command(&run(1), "two").await.unwrap());
    assert!(!store.withdraw_command(&run(1), "two").await.unwrap(), "only once");
    let err = writer.append(answer(&writer.chain, &["one", "two"])).await.unwrap_err();
    assert!(!err.may_have_written());
    assert!(
        matches!(&err, AppendError::CommandWithdrawn { run: of, id } if (of, &**id) == (&run(1), "two")),
        "{err:?}"
    );
    let mut silent = Batch::new(&writer.chain);
    silent.settle("two");
    assert!(matches!(writer.append(silent).await, Err(AppendError::CommandWithdrawn { .. })));
    assert_eq!(read_all(&store, &run(1)).await.len(), 1, "nothing was written");
    assert_eq!(pending(&store).await, ["one"], "nothing was settled");
    writer.append(answer(&writer.chain, &["one"])).await.unwrap();
    // Nor is a command of another run settled, or one for a run that does not exist yet.
    Writer::started(&store, &run(2)).await;
    store.leave_command(&run(2), command("theirs")).await.unwrap();
    assert!(matches!(
        writer.append(answer(&writer.chain, &["theirs"])).await,
        Err(AppendError::CommandWithdrawn { .. })
    ));
    let mut new = Writer::new(&store, &run(3)).await;
    let mut first = batch(&new.chain, [started("test")]);
    first.settle("theirs");
    assert!(matches!(new.append(first).await, Err(AppendError::CommandWithdrawn { .. })));
    assert_eq!(store.head(&run(3)).await.unwrap(), None);
}

pub async fn a_command_is_either_settled_or_withdrawn(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for round in 0..20 {
        let id = format!("round {round}");
        store.leave_command(&run(1), command(&id)).await.unwrap();
        let size = writer.chain.size();
        let settling = writer.append(answer(&writer.chain, &[&id]));
        let (settled, withdrawn) = if round % 2 == 0 {
            tokio::join!(settling, store.withdraw_command(&run(1), &id))
        } else {
            let (withdrawn, settled) = tokio::join!(store.withdraw_command(&run(1), &id), settling);
            (settled, withdrawn)
        };
        assert_eq!(settled.is_err(), withdrawn.unwrap());
        if let Err(err) = &settled {
            assert!(matches!(err, AppendError::CommandWithdrawn { .. }), "{err:?}");
        }
        let head = store.head(&run(1)).await.unwrap().unwrap();
        assert_eq!(head.next.get() - 1, size + u64::from(settled.is_ok()));
    }
    assert_eq!(pending(&store).await, [] as [String; 0]);
}

pub async fn of_two_batches_that_settle_one_command_one_is_stored(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let writer = Writer::started(&store, &run(1)).await;
    store.leave_command(&run(1), command("one")).await.unwrap();
    let first = answer(&writer.chain, &["one"]);
    let second = answer(first.after(), &["one"]);
    let (first, second) = tokio::join!(store.append(&writer.lease, first), store.append(&writer.lease, second));
    first.unwrap();
    assert!(second.is_err());
    assert_eq!(read_all(&store, &run(1)).await.len(), 2);
}

pub async fn commands_end_with_their_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    Writer::started(&store, &run(2)).await;
    for n in 1..=2 {
        for id in ["one", "two"] {
            store.leave_command(&run(n), command(id)).await.unwrap();
        }
    }
    let mut last = batch(&writer.chain, [message("enough"), completed()]);
    last.settle("two");
    writer.append(last).await.unwrap();
    assert_eq!(pending(&store).await, [] as [String; 0]);
    assert!(!store.withdraw_command(&run(1), "one").await.unwrap());
    assert_eq!(store.commands(&run(2)).await.unwrap().len(), 2, "those of other runs stay");
}

pub async fn no_command_is_left_behind_the_end_of_a_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 0..10 {
        let mut writer = Writer::started(&store, &run(n)).await;
        let ids: Vec<String> = (0..4).map(|n| format!("{n}")).collect();
        let leaving = join_all(ids.iter().map(|id| store.leave_command(writer.chain.run(), command(id))));
        let (_, left) = tokio::join!(
            async {
                store.append(&writer.lease, batch(&writer.chain, [completed()])).await.unwrap();
            },
            leaving
        );
        for refused in left.into_iter().filter_map(Result::err) {
            assert!(matches!(refused, CommandError::Ended { .. }), "{refused:?}");
        }
        assert_eq!(store.commands(&run(n)).await.unwrap(), []);
        writer.chain = store.chain(&run(n)).await.unwrap().unwrap();
        assert!(writer.chain.terminal().is_some());
    }
}

async fn woken(watch: &mut CommandWatch) {
    assert!(timeout(Duration::from_secs(60), watch.arrived()).await.expect("nobody wakes the holder"));
}

pub async fn the_holder_is_woken_here_and_in_another_opening(fixture: &dyn Fixture) {
    let (here, there) = (fixture.open().await, fixture.open().await);
    let mut writer = Writer::started(&here, &run(1)).await;
    Writer::started(&here, &run(2)).await;
    let (mut near, mut far) = (here.watch_commands(&run(1)), there.watch_commands(&run(1)));
    for round in 0..3 {
        for (store, id) in [(&here, format!("from here {round}")), (&there, format!("from there {round}"))] {
            store.leave_command(&run(1), command(&id)).await.unwrap();
            for (store, watch) in [(&here, &mut near), (&there, &mut far)] {
                while !pending(store).await.contains(&id) {
                    woken(watch).await;
                }
            }
            writer.append(answer(&writer.chain, &[&id])).await.unwrap();
        }
    }
    let waiting = tokio::spawn(async move { while near.arrived().await {} });
    here.close().await.unwrap();
    timeout(Duration::from_secs(60), waiting).await.expect("a closed store ends the wait").unwrap();
    assert!(!here.watch_commands(&run(1)).arrived().await);
}

pub async fn another_holder_finds_what_was_left_for_the_first(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let first = Writer::started(&store, &run(1)).await;
    store.leave_command(&run(1), command("one")).await.unwrap();
    store.release(&first.lease).await.unwrap();
    let lease = store.acquire(&run(1), "another", LONG).await.unwrap().lease;
    let mut second = Writer { store: store.clone(), lease, chain: first.chain.clone() };
    assert!(matches!(
        store.append(&first.lease, answer(&first.chain, &["one"])).await,
        Err(AppendError::Fenced { .. })
    ));
    assert_eq!(pending(&store).await, ["one"]);
    second.append(answer(&second.chain, &["one"])).await.unwrap();
    assert_eq!(pending(&store).await, [] as [String; 0]);
}
