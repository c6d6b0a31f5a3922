//! Where a run works, and how its programs are confined.

use std::path::Path;

use super::{Engine, EngineError};
use crate::agent::RunState;
use crate::sandbox::Sandbox;
use crate::workspace::{Workspace, own};
use crate::writer::RunWriter;

/// What the tools of a run work in.
pub(super) struct Room {
    pub(super) workspace: Workspace,
    pub(super) sandbox: Sandbox,
}

/// Why there is none.
pub(super) struct NoRoom {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// Opens the room of a run. A workspace of its own is made first, which may take longer than a lease lasts.
pub(super) async fn enter(
    engine: &Engine,
    state: &RunState,
    writer: &mut RunWriter,
) -> Result<Result<Room, NoRoom>, EngineError> {
    let mut renewal = tokio::time::interval(engine.renew_every());
    let mut opening = std::pin::pin!(open(engine, state));
    loop {
        tokio::select! {
            room = &mut opening => return Ok(room),
            _ = renewal.tick() => writer.renew().await?,
        }
    }
}

async fn open(engine: &Engine, state: &RunState) -> Result<Room, NoRoom> {
    let path = Path::new(&state.workspace_path);
    if path.starts_with(&engine.workspaces) {
        let (mode, source) = (state.workspace_mode.as_str().into(), state.spec.workspace_source.as_ref());
        let failed = |err: own::OwnWorkspaceError| NoRoom { code: "workspace_failed", message: err.to_string() };
        own::make(&state.run, &mode, source, path).await.map_err(failed)?;
    }
    let workspace = Workspace::open(path).map_err(|err| NoRoom {
        code: "workspace_failed",
        message: format!("cannot work in {}: {err}", path.display()),
    })?;
    match engine.world.sandbox(&state.spec, &workspace).await {
        Ok(sandbox) => Ok(Room { workspace, sandbox }),
        Err(err) => Err(NoRoom { code: "sandbox_unavailable", message: err.to_string() }),
    }
}
