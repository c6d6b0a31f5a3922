//! What a command is to look at: a run of the store, or a file.

use std::path::Path;

use r1_event::RunId;
use r1_runtime::control::check;
use r1_runtime::location::{LocationError, Purpose, StoreLocation};
use r1_runtime::resolve::{ResolveError, resolve};
use r1_runtime::source::{Log, LogFile, SourceError, StoredRun, open_file, open_file_to_check};
use r1_store::{DamagedRun, Listed, OpenError, PostgresUrl, RunFilter, SharedStore};

use crate::context::Context;
use crate::error::{CliError, READABLE};

/// Logs to look at, and the store they are in, if they are in one.
pub(crate) struct Target {
    logs: Vec<Log>,
    /// Entries of the store that name no log any more: reached only together with the logs.
    damaged: Vec<DamagedRun>,
    store: Option<SharedStore>,
}

impl Target {
    /// Finds what `given` names: a file if there is one, otherwise a run of the store.
    pub(crate) async fn open(context: &Context, given: &str) -> Result<Self, CliError> {
        Self::find(context, given, open_file).await
    }

    /// The same for whoever has something to say about a log without events too.
    pub(crate) async fn open_to_check(context: &Context, given: &str) -> Result<Self, CliError> {
        Self::find(context, given, open_file_to_check).await
    }

    async fn find(
        context: &Context,
        given: &str,
        open_file: impl FnOnce(&Path) -> Result<LogFile, SourceError>,
    ) -> Result<Self, CliError> {
        let path = Path::new(if given == "-" { "/dev/stdin" } else { given });
        if path.exists() || PostgresUrl::recognise(given).is_some() {
            return Self::of_file(open_file(path)?).await;
        }
        let no_file = |err: CliError| {
            let looks_like_a_path = given.contains(['/', '\\']) || path.extension().is_some();
            if looks_like_a_path { CliError::new(format!("there is no file `{given}`")) } else { err }
        };
        let store = match context.location.open(Purpose::Read).await {
            Ok(store) => store,
            Err(err @ LocationError::Missing { .. }) => return Err(no_file(err.into())),
            Err(err) => return Err(err.into()),
        };
        let run = match resolve(&store, given).await {
            Ok(run) => run,
            Err(ResolveError::Damaged(entry)) => {
                return Ok(Self { logs: Vec::new(), damaged: vec![entry], store: Some(store) });
            }
            Err(err) => return Err(no_file(err.into())),
        };
        let log = StoredRun::open(store.clone(), run).await?;
        Ok(Self { logs: vec![Log::Stored(log)], damaged: Vec::new(), store: Some(store) })
    }

    /// All logs of a file.
    pub(crate) async fn of_file(file: LogFile) -> Result<Self, CliError> {
        let path = match file {
            LogFile::Logs(logs) => return Ok(Self { logs, damaged: Vec::new(), store: None }),
            LogFile::Store(path) => path,
        };
        match StoreLocation::Sqlite(path).open(Purpose::Inspect).await {
            Ok(store) => Self::all(store).await,
            // Whoever named this file did not mean a store in particular.
            Err(err @ LocationError::Open(OpenError::Foreign { .. })) => Err(CliError::from(err).hint(READABLE)),
            Err(err) => Err(err.into()),
        }
    }

    /// Every run of a store, oldest first.
    pub(crate) async fn all(store: SharedStore) -> Result<Self, CliError> {
        let (mut logs, mut damaged) = (Vec::new(), Vec::new());
        let mut after = None;
        loop {
            let page = store.list(RunFilter { after, limit: 1000, ..RunFilter::default() }).await?;
            for entry in page.entries {
                match entry {
                    Listed::Run(run) => logs.push(Log::Stored(StoredRun::open(store.clone(), run.run_id).await?)),
                    Listed::Damaged(entry) => damaged.push(entry),
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        logs.reverse();
        damaged.reverse();
        Ok(Self { logs, damaged, store: Some(store) })
    }

    /// Keeps only the run that begins with `prefix`.
    pub(crate) fn only(mut self, prefix: Option<&str>) -> Result<Self, CliError> {
        if let Some(prefix) = prefix {
            let fits =
                |id: &str| id.starts_with(prefix) || id.strip_prefix("run_").is_some_and(|id| id.starts_with(prefix));
            self.logs.retain(|log| log.run_id().is_some_and(fits));
            self.damaged.retain(|entry| fits(&entry.id));
            if self.logs.is_empty() && self.damaged.is_empty() {
                return Err(CliError::new(format!("no run in it matches `{prefix}`")));
            }
        }
        Ok(self)
    }

    /// The one log of a target that must have just one.
    pub(crate) fn single(mut self) -> Result<(Log, Option<SharedStore>), CliError> {
        match (self.logs.pop(), self.logs.len() + self.damaged.len()) {
            (None, 0) => Err(CliError::new("there are no runs in it")),
            (None, _) => self.whole().and(Err(CliError::new("there are no runs in it"))),
            (Some(log), 0) => Ok((log, self.store)),
            (Some(_), others) => {
                Err(CliError::new(format!("there are {} runs in it", others + 1)).hint("choose one with `--run ID`"))
            }
        }
    }

    /// All logs of a target that must be whole.
    pub(crate) fn whole(self) -> Result<Vec<Log>, CliError> {
        match self.damaged.first() {
            None => Ok(self.logs),
            Some(entry) => {
                let others = if self.logs.is_empty() { "see `r1 runs`" } else { "choose a run with `--run ID`" };
                Err(CliError::new(check::damage(entry)).hint(others))
            }
        }
    }

    /// Everything, for whoever tells of what is damaged too.
    pub(crate) fn into_parts(self) -> (Vec<Log>, Vec<DamagedRun>, Option<SharedStore>) {
        (self.logs, self.damaged, self.store)
    }
}

/// A run of the store, by what was typed.
pub(crate) async fn stored_run(
    context: &Context,
    given: &str,
    purpose: Purpose,
) -> Result<(SharedStore, RunId), CliError> {
    let store = context.open_store(purpose).await?;
    let run = resolve(&store, given).await?;
    Ok((store, run))
}
