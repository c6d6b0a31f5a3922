//! A PostgreSQL store, as its user meets it.

use r1_event::exchange::Format;

use crate::pg_server::{self, Cluster};
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

#[test]
fn whatever_stands_before_a_database_has_a_hint_of_its_own() {
    let (sandbox, cluster) = (Sandbox::new(), Cluster::private());
    let admitted = "host all postgres 127.0.0.1/32 trust\nhost all ann 127.0.0.1/32 scram-sha-256\n\
                    hostssl all tina 127.0.0.1/32 trust\nlocal all all trust\n";
    std::fs::write(cluster.data().join("pg_hba.conf"), admitted).unwrap();
    cluster.restart_immediately();
    let at = |role: &str, database: &str| cluster.url_of(role, database);
    for (store, hint) in [
        ("postgres://ann@nowhere.invalid/logs".to_owned(), "check the host in the address"),
        ("postgres://ann@127.0.0.1:1/logs".to_owned(), "check host and port in the address"),
        (at("postgres", "nothing"), "make it with `createdb`"),
        (at("ann", "postgres"), "set PGPASSWORD"),
        (at("ann:wrong", "postgres"), "check the role in the address, and PGPASSWORD"),
        (at("tina", "postgres"), "speaks no TLS"),
    ] {
        sandbox.r1(&["--store", &store, "runs"]).fails(2, hint);
    }
}

/// A schema that nobody has used.
fn schema(name: &str) -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let server = pg_server::shared_url();
    let sign = if server.contains('?') { '&' } else { '?' };
    format!("{server}{sign}schema=r1_{name}_{now}_{}", std::process::id())
}
