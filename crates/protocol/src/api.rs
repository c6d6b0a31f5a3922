//! What the HTTP API takes and gives: one struct per object, request and answer.
//!
//! The OpenAPI document is made from these, the server writes them and every client in this project reads
//! them. A key without a value is `null`, never left out, so that an object has the same keys always.

mod approval;
mod artifact;
mod daemon;
mod error;
mod list;
mod request;
mod run;
mod task;
mod verdict;

pub use approval::{Approval, ApprovalStatus};
pub use artifact::{Artifact, DiffStats};
pub use daemon::{Daemon, Health, NodeHealth, StoreHealth, Ticket, WorkerHealth};
pub use error::{ApiErrorBody, ErrorCode, ErrorDetail, ErrorObject};
pub use list::{EventList, List, Object};
pub use request::{
    ApprovalPolicy, ApprovalWish, Attach, CancelRequest, CommandLine, Decision, ExternalEvent, FileOperation,
    ForkRequest, MessageRequest, NewTask, Operation, PatchRequest, PatchTask, Priority, ResolveRequest, ResumeRequest,
    RetryRequest, SandboxRequest, Scope, TaskKind, WorkspaceRequest,
};
pub use run::{ForkedFrom, Run, RunError, RunStatus};
pub use task::{Budget, Task};
pub use verdict::{CompatVerdict, LogFinding, Structure, Verdict, integrity_word, state_word};
