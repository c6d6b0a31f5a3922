//! A PostgreSQL store, as its user meets it.

use r1_event::exchange::Format;

use crate::pg_server;
use crate::support::{RUN, Sandbox, finished, text};

#[test]
fn commands_that_look_make_no_store() {
    let sandbox = Sandbox::new();
    let store = schema("looked_at");
    for command in [&["log", "validate"][..], &["runs"], &["tail", "last"], &["prune", "--run", RUN, "--dry-run"]] {
        sandbox.r1(&[&["--store", &store], command].concat()).fails(2, "there is no store at postgres://");
    }
    sandbox.r1(&["--store", &store, "doctor"]).fails(1, "");
    sandbox.r1(&["--store", &store, "runs"]).fails(2, "there is no store at postgres://");

    let file = sandbox.file("run.cborseq", Format::Cborseq, &finished(RUN));
    sandbox.ok(&["--store", &store, "log", "import", text(&file)]);
    assert!(sandbox.ok(&["--store", &store, "runs"]).contains(&RUN[..12]));
}

/// A schema that nobody has used.
fn schema(name: &str) -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let server = pg_server::shared_url();
    let sign = if server.contains('?') { '&' } else { '?' };
    format!("{server}{sign}schema=r1_{name}_{now}_{}", std::process::id())
}
