//! Whose memory is meant.

use std::path::PathBuf;

use r1_runtime::control::memory::Owner;
use r1_runtime::memory::Tier;
use r1_runtime::resolve;
use r1_store::SharedStore;

use crate::error::CliError;

/// A workspace, or the task of a run.
#[derive(Debug, clap::Args)]
pub(super) struct Whose {
    /// The workspace, for L0 and L3 [default: the current directory]
    #[arg(long, short = 'C', value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// A run of the task, for L1 and L2: any unique prefix of its id, or `last`
    #[arg(long, value_name = "RUN", conflicts_with = "workspace")]
    run: Option<String>,
}

impl Whose {
    /// Whether a run was named.
    pub(super) const fn is_of_a_run(&self) -> bool {
        self.run.is_some()
    }

    /// The owner of what is in `tier`.
    pub(super) async fn owner(&self, store: &SharedStore, tier: Tier) -> Result<Owner, CliError> {
        match (&self.run, tier.outlives_tasks()) {
            (Some(run), false) => Ok(Owner::Run(resolve(store, run).await?)),
            (None, true) => {
                let path = self.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
                let failed = |err| CliError::new(format!("there is no workspace {}", path.display())).because(err);
                Ok(Owner::workspace(&path.canonicalize().map_err(failed)?))
            }
            (None, false) => {
                Err(CliError::new(format!("{tier} belongs to a task")).hint("name one of its runs with `--run RUN`"))
            }
            (Some(_), true) => Err(CliError::new(format!("{tier} belongs to a workspace, not to a run"))
                .hint("name the directory with `--workspace DIR`, or leave it out")),
        }
    }
}

/// Which tier.
#[derive(Debug, clap::Args)]
pub(super) struct InTier {
    /// L0 identity, L1 critical, L2 topical or L3 semantic
    #[arg(long, short = 't', value_name = "TIER")]
    pub(super) tier: Tier,
}
